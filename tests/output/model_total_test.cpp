// The sum of a model's times, and how well it is known.
#include <gmock/gmock.h>

#include "measure/run_results.hpp"
#include "output/run_table.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;

TEST(ModelTotal, AddsHalfWidths) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  for (Measurement& measurement : record.entries[1].result.measurements) {
    measurement.time = test::sample_measurement(CacheState::warm, Load::burst, microseconds(30), 0.01).time;
  }
  for (Result& result : results_of(record)) {
    for (Measurement& measurement : result.measurements) measurement.constant.uncertainty = Nanoseconds(0);
  }
  // 2 · 20 µs ± 0.04 and 30 µs ± 0.3: 70 µs ± 0.34, which in quadrature would be ± 0.30 (0.43 %).
  EXPECT_THAT(run_table(record), HasSubstr("70.0 µs ± 0.49 %"));
  record.entries[0].result.measurements[0].time.rounds = 3;
  EXPECT_THAT(run_table(record), HasSubstr("70.0 µs, no interval"));
}

// What the instrument's constant is off by is in every launch: in a sum it grows with their number.
TEST(ModelTotal, HoldsTheErrorOfTheConstantForEachLaunch) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  record.entries[0].count = 391;
  for (Result& result : results_of(record)) {
    Measurement& measurement = result.measurements[0];
    measurement.time.median = measurement.time.low = measurement.time.high = microseconds(2);
    measurement.constant.uncertainty = microseconds(0.1);
  }
  // 392 launches of 2 µs, each ± 0.1 µs in the same direction.
  EXPECT_THAT(run_table(record), HasSubstr("784 µs ± 5 %"));
  EXPECT_THAT(run_table(record, {.width = 200, .details = true}),
              HasSubstr("for each launch what is not known"));
  // Of ten launches between two marks it was taken off once.
  for (Result& result : results_of(record)) result.measurements[0].rounds[0].launches_per_value = 10;
  EXPECT_THAT(run_table(record), HasSubstr("784 µs ± 0.5 %"));
  // A slope's constant is that of one launch, however many it was read from.
  for (Result& result : results_of(record)) result.measurements[0].instrument = Instrument::graph;
  EXPECT_THAT(run_table(record), HasSubstr("784 µs ± 5 %"));
}

}  // namespace
}  // namespace jitterscope
