#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::vector<Finding> with_verdict(Steadiness::Verdict verdict, double change = 0.06) {
  simulated::Record record;
  record.conditions.load = Load::sustained;
  record.effect = [=](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = 1.0 + change * at.progress};
  };
  Measurement measurement = simulated::measure(record, 1);
  measurement.steadiness->verdict = verdict;
  measurement.steadiness->watched = seconds(9.5);
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()),
                            "no_steady_state");
}

TEST(NoSteadyState, GivesTheClassificationTheTimeWatchedAndTheChange) {
  const auto findings = with_verdict(Steadiness::Verdict::slowing_down);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].sentence, HasSubstr("No steady state within 9.50 s"));
  EXPECT_THAT(findings[0].sentence, HasSubstr("still getting slower (+"));
  EXPECT_THAT(findings[0].remedy, HasSubstr("--sustained-time-limit"));
  EXPECT_EQ(simulated::evidence_text(findings[0], "verdict"), "slowing down");
  EXPECT_NEAR(simulated::evidence_number(findings[0], "time_change_ratio"), 0.04, 0.005);
}

TEST(NoSteadyState, SaysThatTheChipWarmed) {
  simulated::Record record;
  record.conditions.load = Load::sustained;
  Measurement measurement = simulated::measure(record, 1);
  measurement.steadiness->verdict = Steadiness::Verdict::slowing_down;
  const auto sentence = [&](double first, double last) {
    SensorReading before, after;
    before.temperature = Celsius(first);
    after.temperature = Celsius(last);
    measurement.rounds.front().sensors = before;
    measurement.rounds.back().sensors = after;
    return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()),
                              "no_steady_state")
        .at(0)
        .sentence;
  };
  EXPECT_THAT(sentence(36, 50), HasSubstr("while the chip warmed from 36 to 50 °C"));
  EXPECT_THAT(sentence(49, 50), Not(HasSubstr("warmed")));
}

TEST(NoSteadyState, EachVerdictHasItsWords) {
  EXPECT_THAT(with_verdict(Steadiness::Verdict::warming_up, -0.06).at(0).sentence,
              HasSubstr("getting faster (-"));
  const Finding never = with_verdict(Steadiness::Verdict::never_steady).at(0);
  EXPECT_THAT(never.sentence, HasSubstr("kept changing level (nine rounds in ten between 1.3"));
  EXPECT_THAT(never.remedy, HasSubstr("Quote the range"));
}

TEST(NoSteadyState, NeverSaysThatItGetsSlowerAndByLess) {
  const Finding heat = with_verdict(Steadiness::Verdict::slowing_down, -0.04).at(0);
  EXPECT_THAT(heat.sentence, HasSubstr("it was about to get slower, as the chip had not stopped warming (-"));
  EXPECT_THAT(heat.sentence, Not(HasSubstr("getting slower")));
}

TEST(NoSteadyState, ARangeWithoutWidthIsNone) {
  simulated::Record record;
  record.conditions.load = Load::sustained;
  record.round_noise = record.launch_noise = record.clock_noise = 0.0;
  Measurement measurement = simulated::measure(record, 1);
  for (const Steadiness::Verdict verdict :
       {Steadiness::Verdict::never_steady, Steadiness::Verdict::not_shown}) {
    measurement.steadiness->verdict = verdict;
    const auto findings = simulated::with_id(
        find_all(simulated::result_of({measurement}), simulated::context()), "no_steady_state");
    EXPECT_THAT(findings.at(0).sentence, HasSubstr("(nine rounds in ten near 1.3"));
    EXPECT_THAT(findings.at(0).sentence, Not(HasSubstr("between")));
  }
}

TEST(NoSteadyState, ASettledLoadIsNone) { EXPECT_THAT(with_verdict(Steadiness::Verdict::steady), IsEmpty()); }

}  // namespace
}  // namespace jitterscope
