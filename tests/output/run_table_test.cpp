#include "commands/run/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "output/sample_record.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

using test::details;
using testing::HasSubstr;
using testing::Not;

constexpr double kNanSeconds = std::numeric_limits<double>::quiet_NaN();

// clang-format off
TEST(RunTable, Model) {
  EXPECT_EQ(run_table(test::sample_model()).lines(), R"(**tiny** on NVIDIA H200 (cuda:0); clock 1716 MHz, maximum 1980 MHz, power limit
700 W.
The same in all operations: n=32,dtype=f16.

**Work on: convolutions 1x1 of layer2 (43 % of the time, at 42 % of their
ceiling: at most 25 % to gain)**

|   # | layer               | share |       warm burst |       cold burst |
| --: | ------------------- | ----: | ---------------: | ---------------: |
|     | all 4 calls         | 100 % |     over 70.0 µs |     over 77.0 µs |
|   1 | 2× layer1.0.conv1   |  57 % | 20.00 µs ± 0.1 % | 22.00 µs ± 0.1 % |
|   2 | layer2.0.downsample |  43 % | 30.00 µs ± 0.1 % | 33.00 µs ± 0.1 % |
|   3 | fc                  |     – |           failed |           failed |

Left out at 80 columns: operation, rate, of ceiling, could save, clock
(--details shows all).

The first row adds the calls, each measured alone, cached (warm) or not (cold);
--in-sequence times a whole pass. Beside its ±: instrument ± 150 ns.

| by kind      | calls | share | of ceiling | could save |
| ------------ | ----: | ----: | ---------: | ---------: |
| convolutions |     3 | 100 % |       54 % |       46 % |

| by what it could save      | calls | share | of ceiling | could save |
| -------------------------- | ----: | ----: | ---------: | ---------: |
| convolutions 1x1 of layer2 |     1 |  43 % |       42 % |       25 % |
| convolutions 3x3 of layer1 |     2 |  57 % |       63 % |       21 % |

could save: at most, of the whole time, if these calls ran at their ceilings.

All run by cudnn eng28.

Findings (causes and remedies: --findings all):

1. **other_process**: 1 other process
2. **power_cap**: the power cap lowers the SM clock (#2 and 1 more)

Failed:

- #3 fc: out of memory: 12 GiB needed, 3 GiB free

Verified against a float64 reference at 131072 of 131072 elements: 1 of 2
passed; largest relative error 0.00015.
For 1 of them the reference is the same code: rounding and missing elements
would show, a wrong formula would not.

- #2 layer2.0.downsample: relative error 0.25, more than the tolerance 0.001; 3
  elements never written (65536 of 65536 elements checked)

More: --details here, --csv FILE a row for each time, --json FILE everything.
)");
}

TEST(RunTable, OneOperation) {
  EXPECT_EQ(run_table(test::sample_operation()), R"(**matmul:m=4096,n=4096,k=4096,dtype=f16**
180.0 µs ± 0.1 % (95 % interval 179.8–180.2 µs), warm burst, 1716 MHz, NVIDIA
H200, jitterscope 0.1.0

Work: run by cudnn eng28, 137 GFLOP, at least 19.1 MiB to move, workspace 64
KiB.

| conditions     |           median |    clock |        rate | of ceiling |
| -------------- | ---------------: | -------: | ----------: | ---------: |
| warm burst     | 180.0 µs ± 0.1 % | 1716 MHz | 761 TFLOP/s |       96 % |
| cold burst     | 198.0 µs ± 0.1 % | 1716 MHz | 692 TFLOP/s |       87 % |
| warm sustained | 204.0 µs ± 0.3 % | 1716 MHz | 672 TFLOP/s |       84 % |

More: --details here, --csv FILE a row for each time, --json FILE everything.
)");
}
// clang-format on

// Bars that end a cell: those that are not escaped.
std::ptrdiff_t bars(const std::string& line) {
  std::ptrdiff_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '|') {
      ++count;
    }
  }
  return count;
}

// The line to quote is one line, however wide the page is.
constexpr std::size_t kQuoted = 140;

void expect_well_formed(const std::string& text, std::size_t width) {
  std::istringstream lines(text);
  std::string previous;
  for (std::string line; std::getline(lines, line); previous = line) {
    EXPECT_FALSE(line.ends_with(' ')) << line;
    EXPECT_LE(display_width(line), width) << line;
    if (line.starts_with('|') && previous.starts_with('|')) {
      EXPECT_EQ(bars(line), bars(previous)) << line;
      EXPECT_EQ(display_width(line), display_width(previous)) << line;
    }
  }
  EXPECT_TRUE(text.ends_with('\n') && !text.ends_with("\n\n"));
}

TEST(RunTable, LayersInFourConditionsFitAPage) {
  RunRecord record = test::sample_model();
  record.entries.clear();
  for (int layer = 0; layer < 20; ++layer) {
    RunEntry entry = test::sample_model().entries[layer % 2];
    Result& result = entry.result;
    result.subject =
        Operation::parse("conv2d:n=16,c=1024,hw=14,k=2048,rs=1,stride=2,pad=" + std::to_string(layer) +
                         ",groups=" + std::to_string(1 << (layer % 10)) +
                         ",dtype=tf32,layout=nchw,direction=" + (layer % 2 == 0 ? "dgrad" : "wgrad"));
    entry.layers = {"layer3.0.downsample.0.dgrad"};
    result.measurements.clear();
    for (const Load load : {Load::burst, Load::sustained}) {
      for (const CacheState cache : {CacheState::warm, CacheState::cold}) {
        result.measurements.push_back(test::sample_measurement(cache, load, microseconds(137.3), 0.0012));
      }
    }
    record.entries.push_back(entry);
  }
  for (const std::size_t width : {80u, 100u, 120u}) {
    for (const std::string& text : {run_table(record, {.width = width}).lines(), details(record, width)}) {
      expect_well_formed(text, width);
      EXPECT_THAT(text, HasSubstr("cold sustained"));
      EXPECT_THAT(text, HasSubstr("#20"));
    }
  }
  EXPECT_THAT(details(record), HasSubstr("**power_cap** (20 operations: #1–20)"));
}

// 15 layers of 1 to 15 µs: the three slowest are 42 of 120.
TEST(RunTable, TheSlowestLayersFollowTheTotalAndTheRestIsCounted) {
  const std::string text = run_table(test::model_of(15), {.top = 3});
  const auto at = [&](const std::string& what) { return text.find(what); };
  EXPECT_LT(at("all 15 calls"), at("| layer15"));
  EXPECT_LT(at("| layer15"), at("| layer14"));
  EXPECT_LT(at("| layer14"), at("| layer13"));
  EXPECT_EQ(at("layer12"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("|  15 | layer15      | conv2d    |  12 % |"));
  EXPECT_THAT(text,
              HasSubstr("The 3 slowest of 15 operations; the other 12 take 65 % of the total: --top all"));
  EXPECT_THAT(text, HasSubstr("|     | all 15 calls |           | 100 % | 120.0 µs ± "));
  EXPECT_THAT(run_table(test::model_of(15)), Not(HasSubstr("--top all")));
  EXPECT_LT(run_table(test::model_of(15)).lines().find("layer1 "),
            run_table(test::model_of(15)).lines().find("layer2 "));
}

TEST(RunTable, WhatAllRowsSayIsSaidOnce) {
  RunRecord record = test::model_of(12);
  EXPECT_THAT(run_table(record), HasSubstr("\nAll run by cudnn eng28.\n"));
  EXPECT_THAT(details(record), HasSubstr("\nAll run by cudnn eng28.\n"));
  record.entries[3].result.algorithm = "eng5";
  EXPECT_THAT(run_table(record), Not(HasSubstr("run by")));
  EXPECT_THAT(details(record), HasSubstr("|   4 | layer4    | cudnn eng5  |"));
}

TEST(RunTable, TheFirstLineOfOneOperationCanBeQuoted) {
  RunRecord record = test::sample_operation();
  EXPECT_THAT(run_table(record, {.width = 120}),
              HasSubstr("**\n180.0 µs ± 0.1 % (95 % interval 179.8–180.2 µs), warm burst, 1716 MHz, "
                        "NVIDIA H200, jitterscope 0.1.0\n"));
  EXPECT_THAT(run_table(record, {.width = 80}), HasSubstr("1716 MHz, NVIDIA\nH200, jitterscope 0.1.0\n"))
      << "no line is wider than the page";
  Measurement& measurement = record.entries[0].result.measurements[0];
  measurement.constant.uncertainty = microseconds(2);
  for (Round& round : measurement.rounds) round.launches_per_value = 1;
  measurement.conditions.data = DataKind::zeros;
  measurement.conditions.queue = QueueMode::eager;
  record.entries[0].result.measurements.resize(1);
  EXPECT_THAT(run_table(record, {.width = 120}),
              HasSubstr("179.8–180.2 µs, instrument ± 2.0 µs), warm burst zeros eager, 1716"));
}

TEST(RunTable, ASustainedLoadThatDidNotSettleIsNotQuotedAsIfItHad) {
  RunRecord record = test::sample_operation();
  std::swap(record.entries[0].result.measurements[0], record.entries[0].result.measurements[2]);
  EXPECT_THAT(run_table(record), Not(HasSubstr("not steady")));
  record.entries[0].result.measurements[0].steadiness->verdict = Steadiness::Verdict::never_steady;
  EXPECT_THAT(run_table(record, {.width = 120}), HasSubstr("warm sustained, not steady, 1716 MHz"));
}

TEST(RunTable, WhyTheCpuWasTakenStandsFirst) {
  RunRecord record = test::sample_operation();
  record.device_note = "No NVIDIA GPU can be used (no driver); timing on the CPU.";
  EXPECT_TRUE(run_table(record).lines().starts_with(record.device_note + "\n"));
}

TEST(RunTable, OddNamesBreakNothing) {
  RunRecord record = test::sample_model();
  record.title = "a|b\n# not a heading";
  record.entries[0].layers = {"x|y\\|z\n\x1b[31m日本 \xff"};
  record.entries[1].result.subject = Callable{"my \"kernel\"<a|b>:\r\n"};
  record.entries[1].result.findings[0].sentence = "first\n\n| second";
  record.entries[2].result.failure = "line 1\nline 2";
  expect_well_formed(run_table(record), 80);
  expect_well_formed(details(record), 120);
  EXPECT_THAT(details(record), Not(HasSubstr("\x1b")));
  record.entries.resize(1);
  expect_well_formed(run_table(record), kQuoted);
  expect_well_formed(details(record), kQuoted);
}

TEST(RunTable, EmptyRecord) { EXPECT_EQ(run_table(RunRecord()), "Nothing was measured.\n"); }

TEST(RunTable, OneOperationThatFailed) {
  RunRecord record;
  record.title = "fill:count=1";
  record.device.id = "cpu";
  record.entries.resize(1);
  record.entries[0].result.subject = Operation::parse("fill:count=1");
  record.entries[0].result.failure = "the device vanished";
  EXPECT_EQ(run_table(record),
            "**fill:count=1** on this device (cpu).\n\nFailed:\n\n- the device vanished\n");
}

TEST(RunTable, InterruptedBeforeAnInterval) {
  RunRecord record = test::sample_operation();
  record.interrupted = true;
  Result& result = record.entries[0].result;
  result.measurements.resize(1);
  Measurement& measurement = result.measurements[0];
  measurement.rounds.resize(3);
  measurement.time =
      measurement.repeatability = {microseconds(180), Nanoseconds(kNanSeconds), Nanoseconds(kNanSeconds), 3};
  measurement.clock.reset();
  measurement.at_reference_clock.reset();
  measurement.cycles.reset();
  measurement.modes.clear();
  const std::string text = run_table(record);
  expect_well_formed(text, 140);
  EXPECT_THAT(text, HasSubstr("| 180.0 µs, no interval (3 rounds) |"));
  EXPECT_THAT(text, HasSubstr("\n180.0 µs, no interval (3 rounds), warm burst, NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("Interrupted: these are the results so far.\n"));
  EXPECT_THAT(text, HasSubstr("1 of 1 times did not reach ± 0.5 %."));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(RunTable, FreshDataStandsBesideTheTime) {
  RunRecord record = test::sample_operation();
  EXPECT_THAT(run_table(record), Not(HasSubstr("fresh")));
  for (Measurement& measurement : record.entries[0].result.measurements)
    measurement.conditions.fresh_data = true;
  const std::string text = run_table(record);
  EXPECT_THAT(text, HasSubstr("| warm burst fresh "));
  EXPECT_THAT(text, HasSubstr(", warm burst fresh, "));
  EXPECT_THAT(details(record), HasSubstr("fresh: each launch takes the next of several sets of operands"));
  EXPECT_THAT(details(record), Not(HasSubstr("as the last launch left them")));
}

TEST(RunTable, ARateAboveMemoryIsInCache) {
  RunRecord record = test::sample_operation();
  EXPECT_THAT(run_table(record), Not(HasSubstr("in cache")));
  Result& result = record.entries[0].result;
  result.flops = 1e9;
  result.bytes = Bytes(850000000);
  std::string text = details(record);
  EXPECT_THAT(text, HasSubstr("| 4.72 TB/s |   in cache |\n"));
  EXPECT_THAT(text, HasSubstr("| 4.29 TB/s |      100 % |\n"));
  EXPECT_THAT(text, HasSubstr("|\n\nin cache: faster than DRAM, because the operands stay in a cache.\n\n|"));
  record.entries.push_back({result});
  text = details(record);
  expect_well_formed(text, 120);
  EXPECT_THAT(text, HasSubstr("| 4.72 TB/s |   in cache |"));
  EXPECT_THAT(text, HasSubstr("in\ncache: faster than DRAM"));
}

TEST(RunTable, ARateAboveTheArithmeticCeilingHasNoShareOfIt) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.flops = 1.6e11;
  std::string text = details(record);
  EXPECT_THAT(text, HasSubstr("| 889 TFLOP/s |      above |"));
  EXPECT_THAT(text, HasSubstr("above: faster than the large product"));
  EXPECT_THAT(text, Not(HasSubstr("112 %")));
  // As near to it as the ceiling itself is known.
  record.entries[0].result.flops = 1.46e11;
  text = details(record);
  EXPECT_THAT(text, HasSubstr("TFLOP/s |      100 % |"));
  EXPECT_THAT(text, Not(HasSubstr("above")));
}

std::string details_with_share(double share, double error) {
  RunRecord record = test::sample_operation();
  for (Measurement& measurement : record.entries[0].result.measurements) {
    measurement.at_reference_clock->clock_share = share;
    measurement.at_reference_clock->clock_share_error = error;
  }
  return details(record);
}

TEST(RunTable, TheShareThatFollowsTheClockIsAsSureAsItIsKnown) {
  EXPECT_THAT(details_with_share(0.8, 0.02), HasSubstr("warm burst: 80 % of the time follows the clock; "));
  EXPECT_THAT(details_with_share(0.8, 0.1),
              HasSubstr("warm burst: 60–100 % of the time follows the clock.\n"));
  EXPECT_THAT(details_with_share(1.0, 0.02), HasSubstr("warm burst: 100 % of the time follows the clock.\n"));
  EXPECT_THAT(details_with_share(1.0, 0.38), Not(HasSubstr("follows the clock")));
}

TEST(RunTable, AConstantOfNothingIsNotTakenOff) {
  RunRecord record = test::sample_operation();
  for (Measurement& measurement : record.entries[0].result.measurements) {
    measurement.constant.value = Nanoseconds(0);
    measurement.constant.uncertainty = microseconds(12.3);
  }
  const std::string text = details(record);
  EXPECT_THAT(text, HasSubstr("events, ± 12.3 µs"));
  EXPECT_THAT(text, Not(HasSubstr("less")));
}

TEST(RunTable, TimesAtTheClockThatWasAskedFor) {
  RunRecord record = test::sample_operation();
  EXPECT_THAT(run_table(record), Not(HasSubstr("Times at")));
  for (Measurement& measurement : record.entries[0].result.measurements) {
    measurement.reference_clock_asked = megahertz(1500);
    measurement.at_reference_clock->reference = megahertz(1500);
  }
  record.entries[0].result.measurements[0].at_reference_clock->extrapolated = true;
  record.entries[0].result.measurements[1].at_reference_clock.reset();
  const std::string text = run_table(record);
  expect_well_formed(text, 140);
  EXPECT_THAT(
      text, HasSubstr("\nTimes at 1500 MHz:\n\n- warm burst 180.0 µs ± 0.2 %, extrapolated: no round ran "));
  EXPECT_THAT(text, HasSubstr("not known: the rounds ran at 1700 to 1730 MHz"));
}

TEST(RunTable, AColdTimeBelowTheWarmOneIsExplained) {
  RunRecord record = test::sample_operation();
  Measurement &warm = record.entries[0].result.measurements[0],
              &cold = record.entries[0].result.measurements[1];
  warm.cycles.reset();
  cold.cycles.reset();
  const auto said = [&](double low, double median, double high) {
    cold.time = {microseconds(median), microseconds(low), microseconds(high), cold.time.rounds};
    return run_table(record, {.width = 400});
  };
  EXPECT_THAT(said(197.8, 198, 198.2), Not(HasSubstr("than warm")));
  EXPECT_THAT(
      said(169.8, 170, 170.2),
      HasSubstr("\ncold burst is faster than warm burst: -5.6 %, beyond both ±. So cached operands "));
  EXPECT_THAT(
      said(179.5, 179.7, 179.9),
      HasSubstr("\ncold burst is not slower than warm burst: the difference (-0.17 %) is within ±, so "));
  // At a clock that is higher by 8 % the same work takes less time, whatever the cache holds.
  warm.cycles = Cycles(300e3);
  cold.cycles = Cycles(306e3);
  cold.clock->median = megahertz(1853);
  EXPECT_THAT(said(169.8, 170, 170.2), HasSubstr("It ran at a higher clock (1853 MHz against 1716 MHz); in "
                                                 "cycles it is not faster (+2.0 %)."));
}

TEST(RunTable, OfSeveralOperationsThoseFasterColdAreNamed) {
  RunRecord record = test::sample_model();
  EXPECT_THAT(run_table(record), Not(HasSubstr("Cold is faster")));
  Measurement& cold = record.entries[1].result.measurements[1];
  cold.cycles.reset();
  cold.time = {microseconds(27), microseconds(26.9), microseconds(27.1), cold.time.rounds};
  EXPECT_THAT(
      run_table(record, {.width = 400}),
      HasSubstr(
          "\nCold is faster than warm, beyond both ±: #2 layer2.0.downsample -10.0 % (burst): eviction "));
  cold.time = {microseconds(29.9), microseconds(29), microseconds(31), cold.time.rounds};
  EXPECT_THAT(run_table(record), Not(HasSubstr("Cold is faster"))) << "within the intervals";
}

TEST(RunTable, AnInterruptedNetworkGivesNoAdvice) {
  RunRecord record = test::sample_model();
  record.interrupted = true;
  record.untimed = {{.name = "conv2d", .count = 2, .reason = "not reached", .is_unreached = true}};
  const std::string text = run_table(record, {.width = 400});
  EXPECT_THAT(text,
              HasSubstr("**Interrupted** when 3 of 6 calls were timed, so there is no time of the whole."));
  EXPECT_THAT(text, HasSubstr("**Work on: not known yet**"));
  EXPECT_THAT(text, HasSubstr("| 3 of 6 calls"));
  EXPECT_THAT(text, Not(HasSubstr("by what it could save")));
  // Further processes only make intervals narrower.
  record.untimed.clear();
  EXPECT_THAT(run_table(record), HasSubstr("**Work on: convolutions 1x1 of layer2"));
}

// Ctrl-C in the third process of eight: all that can be timed has a time, and what cannot be timed never had
// a turn.
TEST(RunTable, AnInterruptionAfterAllCallsLeavesTheWhole) {
  RunRecord record = test::sample_model();
  record.interrupted = true;
  record.untimed = {{.name = "aten::nll_loss", .count = 1, .reason = "PyTorch's", .is_unreached = false}};
  const std::string text = run_table(record, {.width = 400});
  EXPECT_THAT(text, Not(HasSubstr("**Interrupted** when")));
  EXPECT_THAT(text, HasSubstr("all 4 calls"));
  EXPECT_THAT(text, HasSubstr("**Work on: convolutions 1x1 of layer2"));
  EXPECT_THAT(text, HasSubstr("Interrupted: these are the results so far."));
  // Of a run that was killed, or a record of an earlier version, it is not known.
  record.untimed.front().is_unreached.reset();
  EXPECT_THAT(run_table(record, {.width = 400}), HasSubstr("**Interrupted** when 3 of 5 calls"));
  // An error of all later operations ends a run, too.
  record.interrupted = false;
  record.untimed.front().is_unreached = true;
  EXPECT_THAT(run_table(record, {.width = 400}), HasSubstr("Only 3 of the 5 calls"));
}

TEST(RunTable, TheRateIsThatOfWhatLimitsTheOperation) {
  RunRecord record = test::sample_operation();
  Result& result = record.entries[0].result;
  result.flops = 1e9;
  result.bytes = Bytes(400000000);
  EXPECT_THAT(details(record), HasSubstr("| 2.22 TB/s |       52 % |"));
  record.ceilings = {};
  EXPECT_THAT(details(record), HasSubstr("| 2.22 TB/s |\n"));
  result.flops = 1e11;
  EXPECT_THAT(details(record), HasSubstr("| 556 TFLOP/s |\n"));
  result.flops = 0;
  result.bytes = Bytes(0);
  EXPECT_THAT(details(record), Not(HasSubstr("rate |"))) << "nothing is known of it";
}

TEST(RunTable, DataAndQueueAreNamedWhereTheyDiffer) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.measurements[1].conditions.data = DataKind::zeros;
  EXPECT_THAT(run_table(record), HasSubstr("| cold burst zeros "));
  EXPECT_THAT(details(record), HasSubstr("data: normal, zeros"));
  EXPECT_THAT(run_table(record), Not(HasSubstr("burst normal saturated")));
}

TEST(RunTable, KernelsOverSeveralStreamsSayHowManyRanAtOnce) {
  RunRecord record = test::sample_operation();
  Result& result = record.entries[0].result;
  result.kernels = {{"gemm", microseconds(3), microseconds(2), microseconds(4)}};
  result.concurrency = KernelConcurrency{1, 1, 1.0};
  EXPECT_THAT(run_table(record), testing::Not(testing::HasSubstr("at once")));
  result.concurrency = KernelConcurrency{4, 4, 3.62};
  EXPECT_THAT(run_table(record),
              testing::HasSubstr("\n#1: kernels on 4 streams, 3.6 at once (at most 4).\n"));
}

}  // namespace
}  // namespace jitterscope
