#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> with_uncertainty(Nanoseconds uncertainty, Nanoseconds time) {
  Measurement measurement = simulated::measure({.time = time}, 1);
  measurement.constant.uncertainty = uncertainty;
  measurement.instrument = Instrument::graph;
  return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()),
                            "instrument");
}

TEST(InstrumentFinding, ThePrecisionAskedIsTheBorder) {
  // 0.1 µs is 0.5 % of 20 µs.
  EXPECT_THAT(with_uncertainty(microseconds(0.1), microseconds(19)), SizeIs(1));
  EXPECT_THAT(with_uncertainty(microseconds(0.1), microseconds(21)), IsEmpty());
}

TEST(InstrumentFinding, SaysWhichInstrumentAndHowMuch) {
  const Finding finding = with_uncertainty(microseconds(0.1), microseconds(4)).at(0);
  EXPECT_THAT(finding.sentence, HasSubstr("(graph) is known to ±100 ns"));
  EXPECT_NEAR(simulated::evidence_number(finding, "uncertainty_share_ratio"), 0.025, 0.0002);
}

TEST(InstrumentFinding, LaunchesOfAGroupShareTheMarks) {
  Measurement measurement = simulated::measure({.time = microseconds(4)}, 1);
  measurement.constant.uncertainty = microseconds(0.5);
  measurement.instrument = Instrument::events;
  const auto found = [&] {
    return simulated::with_id(find_all(simulated::result_of({measurement}), simulated::context()),
                              "instrument");
  };
  EXPECT_THAT(found(), SizeIs(1));
  for (Round& round : measurement.rounds) round.launches_per_value = 100;
  EXPECT_THAT(found(), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
