// Short studies try what is likely and cheap, and keep to their time.
#include "explain/tried_factors.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "device/virtual/virtual_device.hpp"
#include "explain/experiments.hpp"
#include "explain/explain.hpp"
#include "physics/preset.hpp"

namespace jitterscope::explain {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST(Likelihood, ShortLaunchesFollowTheHost) {
  const Hints brief{.launch_time = microseconds(8), .launch_cost = microseconds(3)},
      lasting{.launch_time = milliseconds(2), .launch_cost = microseconds(3)};
  for (const char* id : {"queue", "instrument", "synchronization", "host_delay", "host_scheduling"}) {
    EXPECT_GT(likelihood(id, brief), likelihood(id, lasting)) << id;
  }
}

TEST(Likelihood, OperandsThatFitTheCacheFollowIt) {
  const Hints near{.operands = Bytes(20 << 20), .cache = Bytes(60 << 20)},
      far{.operands = Bytes(200 << 20), .cache = Bytes(60 << 20)};
  for (const char* id : {"cache", "traffic"}) EXPECT_GT(likelihood(id, near), likelihood(id, far)) << id;
}

TEST(Likelihood, WhatPlainLoopsVaryWithIsLikely) {
  EXPECT_GT(likelihood("idle", {.by_idle = 0.5}), likelihood("idle", {}));
  EXPECT_GT(likelihood("launches", {.by_position = 0.5}), likelihood("launches", {}));
  EXPECT_GT(likelihood("data", {.draws_power = true}), likelihood("data", {}));
}

TEST(Likelihood, EveryFactorHasOne) {
  for (const std::string& id : factor_ids()) {
    EXPECT_GT(likelihood(id, {}), 0.0) << id;
    EXPECT_LE(likelihood(id, {.by_position = 1.0, .by_idle = 1.0}), 1.0) << id;
  }
}

Operation convolution(const std::string& more = "") {
  return Operation::parse("conv2d:n=32,c=64,h=56,w=56,k=64,r=3,s=3,pad=1" + more);
}

class FactorsOnAnH200 : public testing::Test {
 protected:
  std::vector<Factor> factors() { return all_factors(factor_context(*device_, bench_.subject())); }
  Hints hints() const { return hints_of(bench_, {}); }

  std::unique_ptr<virtual_gpu::VirtualDevice> device_ =
      virtual_gpu::make_virtual_device(physics::find_preset("h200"), 1);
  Session session_{*device_};
  TreatedLoop bench_{session_, convolution(",dtype=f16,layout=nhwc"), 1};
};

TEST_F(FactorsOnAnH200, WithTimeEveryDoseOfEveryFactorIsTried) {
  TriedFactors tried(factors());
  tried.fit(bench_, hints(), seconds(200), seconds(50), false);
  EXPECT_TRUE(tried.plan().has_all_doses);
  EXPECT_EQ(tried.plan().long_doses_every, 1);
  EXPECT_THAT(tried.left_out(), IsEmpty());
  EXPECT_EQ(doses_of(*tried.first().front(), tried.plan()).size(), 3u);
}

TEST_F(FactorsOnAnH200, WithLittleTimeTheDosesThatDecideAreTried) {
  TriedFactors tried(factors());
  tried.fit(bench_, hints(), seconds(15), seconds(7.5), false);
  EXPECT_FALSE(tried.plan().has_all_doses);
  for (const Factor* factor : tried.first()) {
    const std::vector<std::size_t> doses = doses_of(*factor, tried.plan());
    EXPECT_LE(doses.size(), factor->doses_grow ? 1u : 2u) << factor->id;
    EXPECT_EQ(doses.back() + 1, factor->doses.size()) << factor->id;
  }
  EXPECT_THAT(tried.left_out(), Not(IsEmpty()));
  EXPECT_TRUE(std::ranges::is_sorted(tried.first())) << "an idle must be applied behind a load";
  const auto fewest = static_cast<double>(tried.plan().fewest_blocks());
  EXPECT_LT(block_time(bench_, tried.first(), tried.plan()) * fewest +
                block_time(bench_, tried.last(), tried.plan()) * fewest,
            seconds(15));
}

TEST_F(FactorsOnAnH200, WhatIsAskedForIsTriedInTwiceTheTime) {
  std::vector<Factor> asked = factors();
  std::erase_if(asked, [](const Factor& factor) { return factor.id != "load" && factor.id != "idle"; });
  TriedFactors tried(asked);
  tried.fit(bench_, hints(), seconds(5), seconds(2), true);
  EXPECT_THAT(tried.first(), SizeIs(2));
  EXPECT_EQ(tried.plan().fewest_blocks(), kFewestBlocks);
  TriedFactors in_no_time(asked);
  in_no_time.fit(bench_, hints(), seconds(1), seconds(0.2), true);
  EXPECT_THAT(in_no_time.left_out(), SizeIs(2));
}

TEST_F(FactorsOnAnH200, IfNoneFitsTwelveTimesTheLikeliestIsTriedAsOftenAsAVerdictNeeds) {
  const PairsPlan fewest{.has_all_doses = false};
  TriedFactors tried(factors());
  // Six times the plain loops and dummies, and as much again for a factor.
  tried.fit(bench_, hints(), time_of_plain_loops(bench_, fewest) * (2.0 * kFewestBlocks), Nanoseconds(0),
            false);
  EXPECT_THAT(tried.first(), Not(IsEmpty()));
  EXPECT_EQ(tried.plan().fewest_blocks(), kFewestBlocks);
}

TEST_F(FactorsOnAnH200, DosesThatTakeLongAreInEverySecondBlock) {
  const Factor load{.id = "load",
                    .doses = {{"on", [](Treatment&treatment) { treatment.load = milliseconds(300); }}}},
      cold{.id = "cold", .doses = {{"on", [](Treatment&treatment) { treatment.cache = CacheState::cold; }}}};
  const PairsPlan plan{.has_all_doses = false, .long_doses_every = 2};
  Random random(1);
  const PairedEffects found = confirm(bench_, {&load, &cold}, plan, milliseconds(1), random,
                                      {[] { return false; }, [](const std::string&, double) {}});
  EXPECT_EQ(found.blocks, 2 * kFewestBlocks);
  ASSERT_THAT(found.doses, SizeIs(2));
  EXPECT_THAT(found.doses[0].log_times, SizeIs(kFewestBlocks));
  EXPECT_THAT(found.doses[1].log_times, SizeIs(2 * kFewestBlocks));
}

struct SlowNeighbour final : Neighbour {
  explicit SlowNeighbour(Device& of) : device(of) {}
  void begin(const Companion&) override { device.idle(seconds(1)); }
  void rest() override {}
  Device& device;
};

// Nobody can know beforehand how long a process takes until it works.
TEST_F(FactorsOnAnH200, WhatTurnsOutToTakeTooLongIsLeftOutForTheOthers) {
  TreatedLoop loop(session_, bench_.subject(), 1, [&] { return std::make_unique<SlowNeighbour>(*device_); });
  const Factor neighbour{.id = "neighbour",
                         .doses = {{"on",
                                    [](Treatment&treatment) {
                                      treatment.neighbour = Companion{CompanionWork::kernels, 1.0};
                                    }}}},
      cold{.id = "cold", .doses = {{"on", [](Treatment&treatment) { treatment.cache = CacheState::cold; }}}};
  Random random(1);
  const Nanoseconds start = device_->host_time(), limit = seconds(5);
  const PairedEffects found = confirm(loop, {&neighbour, &cold}, {.may_leave_out = true}, limit, random,
                                      {[] { return false; }, [](const std::string&, double) {}});
  EXPECT_THAT(found.left_out, testing::ElementsAre(0u));
  ASSERT_THAT(found.doses, SizeIs(1));
  EXPECT_EQ(found.doses.front().factor, 1u);
  EXPECT_GT(found.doses.front().log_times.size(), 6u);
  EXPECT_LT(device_->host_time() - start, limit);
}

// A quick study, as the command asks for it, from opening the device on, in the device's own time.
TEST(QuickStudy, HasTenVerdictsInThirtyFiveSeconds) {
  for (const char* more : {"", ",dtype=f16,layout=nhwc"}) {
    std::ptrdiff_t all = 0;
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const auto device = virtual_gpu::make_virtual_device(physics::find_preset("h200"), seed);
      const Nanoseconds start = device->host_time();
      Session session(*device);
      ExplainOptions options{.time_limit = seconds(32), .seed = seed};
      options.measure_in_processes = [](std::int64_t) -> std::vector<ProcessTime> {
        ADD_FAILURE() << "fresh processes take too large a part of a quick study";
        return {};
      };
      const Explanation found = explain(session, convolution(more), options);
      EXPECT_LE(device->host_time() - start, seconds(35)) << more;
      const auto verdicts = std::ranges::count_if(found.factors, [](const FactorResult& factor) {
        return factor.verdict == FactorVerdict::cause || factor.verdict == FactorVerdict::cleared;
      });
      all += verdicts;
      EXPECT_GE(verdicts, seed == 1 ? 10 : 9) << more << " with seed " << seed;  // 1: the command's own
      EXPECT_LE(to_seconds(found.duration), 33.0) << "what would not fit is not begun";
    }
    EXPECT_GE(all, 3 * 10) << more;
  }
}

}  // namespace
}  // namespace jitterscope::explain
