#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

TEST(Quiet, OneInAHundredRecordsAtMostHasAFalseAlarm) {
  constexpr int kRecords = 1000;
  int alarmed = 0;
  std::map<std::string, int> by_id;
  for (int seed = 1; seed <= kRecords; ++seed) {
    const auto findings =
        find_all(simulated::quiet_result(static_cast<std::uint64_t>(seed)), simulated::context());
    alarmed += findings.empty() ? 0 : 1;
    for (const Finding& finding : findings) ++by_id[finding.id];
  }
  EXPECT_LE(alarmed, kRecords / 100) << ::testing::PrintToString(by_id);
}

TEST(Quiet, ResultsWithoutSensorsClocksOrRoundsAreNoFindings) {
  simulated::Record record;
  record.has_clock = record.has_sensors = false;
  EXPECT_THAT(find_all(simulated::result_of({simulated::measure(record, 1)}), simulated::context()),
              ::testing::IsEmpty());
  EXPECT_THAT(find_all(simulated::result_of({Measurement{}}), simulated::context()), ::testing::IsEmpty());
  EXPECT_THAT(find_all(Result{}, simulated::context()), ::testing::IsEmpty());
}

TEST(Quiet, ValuesThatAreNotNumbersAreNoFindings) {
  Measurement measurement = simulated::measure({}, 1);
  const double none = std::numeric_limits<double>::quiet_NaN();
  measurement.time.median = Nanoseconds(none);
  measurement.clock->median = Hertz(none);
  for (Round& round : measurement.rounds) round.clock = Hertz(none);
  Measurement sustained = measurement;
  sustained.conditions.load = Load::sustained;
  EXPECT_THAT(find_all(simulated::result_of({measurement, sustained}), simulated::context()),
              ::testing::IsEmpty());
}

TEST(Quiet, AFindingHasASentenceARemedyAndEvidence) {
  simulated::Record record;
  record.conditions.data = DataKind::zeros;
  record.effect = [](const simulated::RoundPosition& at) {
    return simulated::RoundEffect{.time = 1 + 0.05 * at.progress, .first_launch = 1.1};
  };
  const auto findings = find_all(simulated::result_of({simulated::measure(record, 1)}), simulated::context());
  ASSERT_GE(findings.size(), 3u);
  const auto drift = simulated::with_id(findings, "drift");
  ASSERT_EQ(drift.size(), 1u);
  EXPECT_NEAR(drift[0].effect.value(), 0.033, 0.01);
  for (const Finding& finding : findings) {
    EXPECT_TRUE(finding.sentence.ends_with(".")) << finding.sentence;
    EXPECT_TRUE(finding.remedy.ends_with(".")) << finding.remedy;
    EXPECT_FALSE(finding.headline.empty()) << finding.id;
    EXPECT_LE(finding.headline.size(), 80u) << "a list has a line for each";
    EXPECT_FALSE(finding.headline.ends_with(".")) << finding.headline;
    EXPECT_THAT(finding.evidence, ::testing::Not(::testing::IsEmpty())) << finding.id;
  }
}

}  // namespace
}  // namespace jitterscope
