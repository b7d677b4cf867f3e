// Every choice while measuring comes from one object: another one is followed, whatever the times are.
#include "measure/decisions.hpp"

#include <gmock/gmock.h>

#include <map>

#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"
#include "measure/schedule.hpp"
#include "measuring.hpp"

namespace jitterscope {
namespace {

using namespace scripted;
using testing::Each;
using testing::Field;
using testing::SizeIs;

// Agrees to everything, but for what the test decides. Counts what it was asked.
class ScriptedAgreement final : public Agreement {
 public:
  RoundShape agree(const RoundShape& own) override {
    ++shapes;
    RoundShape all = own;
    if (values) all.values = *values, all.parts = 1;
    return all;
  }
  std::vector<std::int64_t> agree(Question question, const std::vector<std::int64_t>& own) override {
    ++asked[question];
    return decide ? decide(question, own) : own;
  }

  std::optional<std::int64_t> values;
  std::function<std::vector<std::int64_t>(Question, std::vector<std::int64_t>)> decide;
  std::map<Question, int> asked;
  int shapes = 0;
};

class CountedLaunches final : public Workload {
 public:
  explicit CountedLaunches(Workload& workload) : workload_(workload) {}
  void run(NativeQueue queue) override {
    ++launches;
    workload_.run(queue);
  }
  int launches = 0;

 private:
  Workload& workload_;
};

Measurement measured(ScriptedAgreement& agreement, const MeasureOptions& options, Script script = {}) {
  ScriptedDevice device(with_true_slopes(std::move(script)));
  AgreedDecisions decisions(agreement);
  Session session(device, decisions);
  const auto operation = device.prepare(some_operation(), InputData());
  return session.measure(*operation, "operation", options).measurements.front();
}

MeasureOptions by_events() {
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.instrument = Instrument::events;
  return options;
}

TEST(Decisions, WithoutAnotherOpinionAreThoseOfOneProcess) {
  Laboratory laboratory;
  const Measurement alone = laboratory.measure(by_events()).measurements.front();
  ScriptedAgreement agreement;
  const Measurement agreed = measured(agreement, by_events());
  EXPECT_EQ(agreed.rounds.size(), alone.rounds.size());
  EXPECT_EQ(agreed.time.median, alone.time.median);
  EXPECT_EQ(agreed.stop_reason, alone.stop_reason);
  EXPECT_EQ(agreement.shapes, 1);
}

TEST(Decisions, RoundsHaveTheShapeThatWasAgreed) {
  ScriptedAgreement agreement;
  agreement.values = 3;
  EXPECT_THAT(measured(agreement, by_events()).rounds, Each(Field(&Round::launches, SizeIs(3))));
}

// The launches before the first round follow what was agreed, too: a launch more would leave other ranks
// waiting.
TEST(Decisions, FirstLaunchesAreAsManyAsWasAgreed) {
  const auto launches = [](bool is_long) {
    ScriptedDevice device(with_true_slopes({}));
    const auto queue = device.make_queue();
    const auto operation = device.prepare(some_operation(), InputData());
    CountedLaunches counted(*operation);
    ScriptedAgreement agreement;
    agreement.decide = [&](Question question, std::vector<std::int64_t> own) {
      if (question == Question::is_long) own = {is_long ? 1 : 0};
      return own;
    };
    AgreedDecisions decisions(agreement);
    make_first_call(device, *queue, counted, Nanoseconds(0), decisions);
    return counted.launches;
  };
  EXPECT_EQ(launches(true), 1 + 2);
  EXPECT_EQ(launches(false), 1 + 8);
}

TEST(Decisions, WhatAnotherProcessCannotRecordIsTimedByEvents) {
  ScriptedAgreement agreement;
  agreement.decide = [](Question question, std::vector<std::int64_t> own) {
    if (question == Question::was_recorded) own = {0};
    return own;
  };
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  Script script;
  script.launch_time = [](auto&) { return microseconds(5); };
  EXPECT_EQ(measured(agreement, options, script).instrument, Instrument::events);
  EXPECT_EQ(agreement.asked[Question::was_recorded], 1) << "or it was never to be recorded";
}

TEST(Decisions, MeasuringGoesOnUntilAllArePrecise) {
  ScriptedAgreement agreement;
  int looks = 0;
  agreement.decide = [&](Question question, std::vector<std::int64_t> own) {
    if (question == Question::are_precise) own = {++looks == 25 ? 1 : 0};
    return own;
  };
  const Measurement measurement = measured(agreement, by_events());
  EXPECT_EQ(agreement.asked[Question::are_precise], 25);
  EXPECT_GE(measurement.rounds.size(), 25u);
  EXPECT_EQ(measurement.stop_reason, StopReason::precision);
}

TEST(Decisions, AVisitHasTheAgreedPlacementsAndEndsWhenAllAreOutOfTime) {
  ScriptedAgreement agreement;
  int visits = 0;
  agreement.decide = [&](Question question, std::vector<std::int64_t> own) {
    if (question == Question::out_of_time) own = {++visits > 4 ? 1 : 0};
    if (question == Question::sets) own = {2};
    return own;
  };
  const Measurement measurement = measured(agreement, by_events());
  EXPECT_EQ(measurement.rounds.size(), 8u);
  EXPECT_EQ(measurement.stop_reason, StopReason::time_limit);
}

TEST(Decisions, ARoundThatAnotherProcessLostIsLostHereToo) {
  ScriptedAgreement agreement;
  int rounds = 0;
  agreement.decide = [&](Question question, std::vector<std::int64_t> own) {
    if (question == Question::lost_round && ++rounds == 2) own = {1};
    return own;
  };
  const Measurement measurement = measured(agreement, by_events());
  EXPECT_EQ(measurement.lost_rounds, 1);
  EXPECT_EQ(std::ssize(measurement.rounds), agreement.asked[Question::lost_round] - 1);
}

TEST(Decisions, ALoadEndsWhenAllEndIt) {
  ScriptedAgreement agreement;
  int looks = 0;
  agreement.decide = [&](Question question, std::vector<std::int64_t> own) {
    if (question == Question::end_load)
      own = {++looks > 7 ? 1 + static_cast<std::int64_t>(StopReason::time_limit) : 0};
    return own;
  };
  const Measurement measurement = measured(agreement, one_condition(CacheState::warm, Load::sustained));
  EXPECT_EQ(measurement.rounds.size(), 7u);
  EXPECT_EQ(measurement.stop_reason, StopReason::time_limit);
}

TEST(Decisions, AreSettledByWhatTheyMean) {
  const auto settled = [](Question question, std::int64_t first, std::int64_t second) {
    return settle(question, {{first}, {second}}).front();
  };
  EXPECT_EQ(settled(Question::are_precise, 1, 0), 0) << "all must be precise";
  EXPECT_EQ(settled(Question::was_held, 1, 0), 0) << "a queue that one cannot hold is held by none";
  EXPECT_EQ(settled(Question::was_recorded, 1, 0), 0) << "what one cannot record is recorded by none";
  EXPECT_EQ(settled(Question::can_trace, 0, 1), 0);
  EXPECT_EQ(settled(Question::has_woken, 1, 0), 0) << "all launch until each clock is awake";
  EXPECT_EQ(settled(Question::is_long, 0, 1), 1) << "a launch that is long for one is long for all";
  EXPECT_EQ(settled(Question::ends_early, 0, 1), 1) << "one interruption ends all";
  EXPECT_EQ(settled(Question::lost_round, 0, 2), 2);
  EXPECT_EQ(settled(Question::was_asleep, 0, 1), 1);
  EXPECT_EQ(settled(Question::needs_passes, 0, 1), 1);
  EXPECT_EQ(settled(Question::shares_idle, 1, 0), 1) << "the first process decides";
  EXPECT_EQ(settled(Question::sets, 2, 3), 3);
  EXPECT_EQ(settled(Question::out_of_time, 0, 1), 1);
  const std::int64_t precise = 1 + static_cast<std::int64_t>(StopReason::precision),
                     late = 1 + static_cast<std::int64_t>(StopReason::time_limit);
  EXPECT_EQ(settled(Question::end_load, precise, 0), 0);
  EXPECT_EQ(settled(Question::end_load, precise, precise), precise);
  EXPECT_EQ(settled(Question::end_load, 0, late), late);
  EXPECT_THROW(settle(Question::are_precise, {{1}, {1, 1}}), FailedError);
}

// Two open measurements of a host, each set of rounds 3 ms long, behind idles of 40 ms.
std::size_t sets_on_host(std::size_t visits, std::size_t paired, Nanoseconds set = milliseconds(3)) {
  const MeasureOptions options;
  const Measurement none;
  const Nanoseconds idle = mean_idle(options) * static_cast<double>(visits);
  const GroupFacts facts{.options = options,
                         .open = {&none, &none},
                         .paired_operations = paired,
                         .visits = visits,
                         .sets = visits,
                         .is_host = true,
                         .time = idle + set * static_cast<double>(visits),
                         .idle = idle,
                         .time_limit = seconds(3)};
  LocalDecisions decisions;
  return decisions.sets_of_visit(facts);
}

TEST(Decisions, SidesTakeTurnsOnAHostForAsLongAsAnIdle) {
  EXPECT_EQ(sets_on_host(0, 2), 1);  // how long a set takes is not known yet
  EXPECT_EQ(sets_on_host(1, 2), 13);
  EXPECT_EQ(sets_on_host(1, 2, milliseconds(0.1)), 20);
  EXPECT_EQ(sets_on_host(1, 2, milliseconds(100)), 1);
  EXPECT_EQ(sets_on_host(1, 1), 1);
}

}  // namespace
}  // namespace jitterscope
