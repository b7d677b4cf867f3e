// Hardware counters beside the times of their conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/run/table.hpp"
#include "measure/run_record.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

CounterValue stall(const std::string& reason, double percent) {
  return {"stalled_" + reason, "percent", CounterQuantity::stalled, reason, percent};
}

LaunchCounters sample_counters(CacheState cache, double read, double hits) {
  return {cache,
          {7,
           {{"dram__bytes_read.sum", "byte", CounterQuantity::dram_bytes_read, "", read},
            {"dram__bytes_write.sum", "byte", CounterQuantity::dram_bytes_written, "", 1048576.0},
            {"hits.pct", "percent", CounterQuantity::l2_hit_rate, "", hits},
            {"active.pct", "percent", CounterQuantity::processors_active, "", 98.0},
            {"tensor.pct", "percent", CounterQuantity::tensor_active, "", 87.0},
            {"warps.pct", "percent", CounterQuantity::occupancy, "", std::nullopt},
            stall("barrier", 12.0),
            stall("long_scoreboard", 41.0),
            stall("wait", 0.0),
            stall("gmma", 9.0),
            stall("drain", 3.0)}}};
}

RunRecord counted_operation() {
  RunRecord record = test::sample_operation();
  record.entries[0].result.bytes = Bytes(20 << 20);
  record.entries[0].result.counters = {sample_counters(CacheState::warm, 0.0, 100.0),
                                       sample_counters(CacheState::cold, 20971520.0, 34.5)};
  return record;
}

// clang-format off
TEST(RunCounters, StandBesideTheTimeTheClockAndWhatMustMove) {
  EXPECT_THAT(run_table(counted_operation()), HasSubstr(R"(
Counters of one launch, read in 7 passes after the times. DRAM and L2 counts
include other programs; "of it" is all DRAM traffic over the least that the
operation must move.

| cache |     time |    clock | DRAM read | written | to move | of it |
| ----- | -------: | -------: | --------: | ------: | ------: | ----: |
| warm  | 180.0 µs | 1716 MHz |       0 B |   1 MiB |  20 MiB |   5 % |
| cold  | 198.0 µs | 1716 MHz |    20 MiB |   1 MiB |  20 MiB | 105 % |

| cache | L2 hits | SMs active | tensor units |
| ----- | ------: | ---------: | -----------: |
| warm  |   100 % |       98 % |         87 % |
| cold  |    34 % |       98 % |         87 % |

| cache | warps wait for                               |
| ----- | -------------------------------------------- |
| warm  | long_scoreboard 41 %, barrier 12 %, gmma 9 % |
| cold  | long_scoreboard 41 %, barrier 12 %, gmma 9 % |
)"));
}
// clang-format on

TEST(RunCounters, SayNothingWhereNoneWereRead) {
  EXPECT_THAT(run_table(test::sample_operation()), Not(HasSubstr("Counters")));
}

TEST(RunCounters, NamedOnesHaveARowEach) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.counters = {
      {CacheState::cold,
       {1,
        {{"sm__inst_executed.sum", "inst", CounterQuantity::other, "", 1234567.0},
         {"lts__t_bytes.sum", "byte", CounterQuantity::other, "", std::nullopt}}}}};
  const std::string text = run_table(record);
  EXPECT_THAT(text, HasSubstr("Counters of one launch, read in a pass after the times."));
  EXPECT_THAT(text, HasSubstr("| cache | counter               |            value |\n"));
  EXPECT_THAT(text, HasSubstr("| cold  | sm__inst_executed.sum | 1.23457e+06 inst |\n"));
  EXPECT_THAT(text, HasSubstr("| cold  | lts__t_bytes.sum      |                – |\n"));
  EXPECT_THAT(text, Not(HasSubstr("DRAM read")));
}

TEST(RunCounters, OfSeveralOperationsAreNumbered) {
  RunRecord record = test::sample_model();
  record.entries[1].result.counters = {sample_counters(CacheState::cold, 1.0, 2.0)};
  EXPECT_THAT(run_table(record), HasSubstr("|   # | cache |"));
  EXPECT_THAT(run_table(record), HasSubstr("|   2 | cold  | 33.00 µs |"));
}

TEST(RunCounters, ARefusalIsSaidOnce) {
  RunRecord record = test::model_of(3);
  for (Result& result : results_of(record)) {
    result.without_counters = Shortfall{ExitCode::missing, "the driver lets only administrators"};
  }
  const std::string text = run_table(record);
  EXPECT_THAT(text, HasSubstr("\nNo counters of #1 and 2 more: the driver lets only administrators\n"));
  EXPECT_THAT(text, Not(HasSubstr("Counters of one launch")));
}

}  // namespace
}  // namespace jitterscope
