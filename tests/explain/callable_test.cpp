// Studies of a program's own functions, on a scripted GPU: what is switched around a function, and what is
// its own.
#include <gmock/gmock.h>

#include <algorithm>

#include "explain/explain.hpp"
#include "jitterscope/error.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::explain {
namespace {

using scripted::launch_kernel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ExplainOptions short_study(std::vector<std::string> factors) {
  return {.factors = std::move(factors), .time_limit = seconds(5)};
}

const FactorResult& of(const Explanation& explanation, const std::string& id) {
  return *std::ranges::find(explanation.factors, id, &FactorResult::id);
}

scripted::Script slower_when_cold() {
  scripted::Script script;
  script.launch_time = [](const scripted::LaunchContext& launch) {
    return microseconds(launch.cache == CacheState::cold ? 120 : 100);
  };
  return script;
}

TEST(CallableSubject, ItsCausesAreFoundAroundIt) {
  scripted::ScriptedDevice device(slower_when_cold());
  Session session(device);
  const TrialSubject subject(CallableWork{.name = "step", .launch = launch_kernel});
  const Explanation found = explain(session, subject, short_study({"cache", "queue"}));
  EXPECT_EQ(found.operation, "step");
  const FactorResult& cache = of(found, "cache");
  EXPECT_EQ(cache.verdict, FactorVerdict::cause);
  EXPECT_EQ(cache.doses.size(), 2u);  // nothing can write what it reads
  EXPECT_NEAR(cache.doses.front().time.ratio, 1.2, 0.02);
  EXPECT_THAT(found.notes, IsEmpty());
  EXPECT_EQ(found.observation.first_work.preparation, Nanoseconds(0));
}

TEST(CallableSubject, WhatItReadsAndAllocatesIsItsOwn) {
  scripted::ScriptedDevice device;
  Session session(device);
  const TrialSubject subject(CallableWork{.name = "step", .launch = launch_kernel});
  const Explanation found =
      explain(session, subject, short_study({"data", "alignment", "allocator", "engine"}));
  for (const char* id : {"data", "alignment", "allocator", "engine"}) {
    EXPECT_EQ(of(found, id).verdict, FactorVerdict::not_identifiable) << id;
    EXPECT_FALSE(of(found, id).reason.empty()) << id;
  }
  EXPECT_THAT(of(found, "data").reason, HasSubstr("its own"));
  EXPECT_THAT(of(found, "allocator").reason, HasSubstr("allocates what it needs itself"));
}

TEST(CallableSubject, ItsOwnGraphStandsForItsLaunches) {
  scripted::Script script;
  script.launch_time = [](const auto&) { return microseconds(5); };
  scripted::ScriptedDevice device(script);
  Session session(device);
  int recordings = 0, graph = 0;
  const TrialSubject subject(
      CallableWork{.name = "step", .launch = launch_kernel, .record = [&](NativeQueue) -> NativeGraph {
                     ++recordings;
                     return &graph;
                   }});
  const Explanation found = explain(session, subject, short_study({"queue"}));
  EXPECT_EQ(recordings, 1);
  EXPECT_EQ(of(found, "queue").doses.size(), 2u);
}

TEST(CallableSubject, WorkThatGrowsFromCallToCallDrifts) {
  scripted::Script script;
  script.launch_time = [calls = 0](const auto&) mutable {
    return microseconds(100.0 * (1.0 + 1e-4 * ++calls));
  };
  scripted::ScriptedDevice device(script);
  Session session(device);
  const TrialSubject subject(CallableWork{.name = "step", .launch = launch_kernel});
  const Observation seen =
      explain(session, subject, {.factors = {"launches"}, .time_limit = seconds(60)}).observation;
  EXPECT_GT(seen.drift.value_or(0.0), 0.05);
  const auto order = std::ranges::find(seen.shares, Variation::order, &VariationShare::variation);
  ASSERT_NE(order, seen.shares.end());
  EXPECT_GT(order->share, 0.3);
}

TEST(CallableSubject, WhatCannotBeRecordedLosesThatDoseOnly) {
  scripted::ScriptedDevice device;
  Session session(device);
  const TrialSubject subject(
      CallableWork{.name = "step", .launch = launch_kernel, .record = [](NativeQueue) -> NativeGraph {
                     throw FailedError("it draws random numbers");
                   }});
  const FactorResult queue = of(explain(session, subject, short_study({"queue"})), "queue");
  EXPECT_EQ(queue.doses.size(), 1u);
  EXPECT_THAT(queue.reason, HasSubstr("it draws random numbers"));
}

TEST(CallableSubject, WorkOnAnotherStreamIsWaitedForAndNamed) {
  scripted::ScriptedDevice device;
  device.script().left_elsewhere = microseconds(200);
  Session session(device);
  const TrialSubject subject(CallableWork{.name = "step", .launch = launch_kernel});
  const Explanation found = explain(session, subject, short_study({"queue", "launches"}));
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("another stream")));
  EXPECT_THAT(of(found, "queue").reason, HasSubstr("waits"));
}

struct QuietNeighbour final : Neighbour {
  void begin(const Companion&) override {}
  void rest() override {}
};

// The device sees the process that works beside the loop; it is ours, and no stranger.
TEST(CallableSubject, AProcessOfOursBesideItIsNoStranger) {
  scripted::ScriptedDevice device;
  bool is_started = false;
  device.script().other_processes = [&] {
    return is_started ? std::vector<std::string>{"7 ours"} : std::vector<std::string>{};
  };
  Session session(device);
  ExplainOptions options = short_study({"neighbour_kernels"});
  options.start_neighbour = [&] {
    is_started = true;
    return std::make_unique<QuietNeighbour>();
  };
  const TrialSubject subject(CallableWork{.name = "step", .launch = launch_kernel});
  const Explanation found = explain(session, subject, options);
  EXPECT_TRUE(is_started);
  EXPECT_GT(found.others.looks, 0);
  EXPECT_THAT(found.others.seen, IsEmpty());
}

TEST(CallableSubject, ItsFailureEndsTheStudyAndOpensTheGate) {
  scripted::ScriptedDevice device;
  Session session(device);
  int launches = 0;
  const auto fail_at_the_tenth = [&](NativeQueue queue) {
    if (++launches == 10) throw FailedError("the tenth");
    launch_kernel(queue);
  };
  EXPECT_THROW(explain(session, TrialSubject(CallableWork{.name = "step", .launch = fail_at_the_tenth}),
                       short_study({"idle"})),
               FailedError);
  EXPECT_FALSE(device.state().is_held);
}

}  // namespace
}  // namespace jitterscope::explain
