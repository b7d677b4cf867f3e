#include "commands/compare/record.hpp"
#include "commands/run/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

const std::string kHeader =
    "operation,layer,cache,load,data,fresh_data,queue,instrument,round,launch,seconds,clock_hertz,"
    "round_start_seconds,settled\r\n";

RunRecord one_round(const Subject& subject) {
  RunRecord record;
  record.entries.resize(1);
  record.entries[0].result.subject = subject;
  record.entries[0].result.measurements.resize(1);
  Round round;
  round.started = milliseconds(20);
  round.launches = {Nanoseconds(127900), Nanoseconds(128001)};
  record.entries[0].result.measurements[0].rounds = {round};
  return record;
}

TEST(Csv, EmptyRecordHasAHeader) { EXPECT_EQ(launches_csv(RunRecord()), kHeader); }

TEST(Csv, OneLinePerValue) {
  RunRecord record = one_round(Operation::parse("spin:ns=1000"));
  record.entries[0].layers = {"a", "b"};
  record.entries[0].result.measurements[0].rounds[0].clock = megahertz(1716);
  record.entries[0].result.measurements[0].rounds[0].launches_per_value = 8;
  EXPECT_EQ(
      launches_csv(record),
      kHeader +
          "spin:ns=1000,a;b,warm,burst,normal,0,saturated,events,0,0,0.0001279,1716000000,0.02,1\r\n"
          "spin:ns=1000,a;b,warm,burst,normal,0,saturated,events,0,8,0.000128001,1716000000,0.02,1\r\n");
}

TEST(Csv, QuotesAndAbsentValues) {
  RunRecord record = one_round(Callable{"say \"a,b\"\nµ"});
  record.entries[0].result.measurements[0].rounds[0].launches = {
      Nanoseconds(std::numeric_limits<double>::quiet_NaN())};
  EXPECT_EQ(launches_csv(record),
            kHeader + "\"say \"\"a,b\"\"\nµ\",,warm,burst,normal,0,saturated,events,0,0,,,0.02,1\r\n");
}

TEST(Csv, RoundsBeforeTheSettledPartAreMarked) {
  const std::string text = launches_csv(test::sample_operation());
  EXPECT_NE(text.find("warm,sustained,normal,0,saturated,events,1,2,0.00020604,1716000000,0.1,0\r\n"),
            std::string::npos);
  EXPECT_NE(text.find("warm,sustained,normal,0,saturated,events,2,0,0.000204,1716000000,0.2,1\r\n"),
            std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * 30);
}

TEST(Csv, AComparisonHasARowForEachRatio) {
  ComparisonRecord record;
  record.alternatives = {"a.json", "b,c.json"};
  const auto time = [](double microseconds_) {
    const Nanoseconds median = microseconds(microseconds_);
    return TimeEstimate{median, median, median, 10};
  };
  Comparison comparison{.layers = {"conv1", "conv2"}, .count = 2};
  comparison.first.time = time(10);
  comparison.first.subject = comparison.second.subject = Operation::parse("add:count=8");
  comparison.second.time = time(15);
  comparison.time = {1.5, 1.25, 1.75};
  comparison.verdict = statistics::EffectVerdict::slower;
  Comparison failed = comparison;
  failed.failure = "out of memory";
  record.comparisons = {comparison, failed};
  record.totals = {{.first = time(20), .second = time(30), .time = {1.5, 1.25, 1.75}}};
  const std::string kKeys =
      "operation,layer,calls,cache,load,first,alternative,failure,first_seconds,seconds,ratio,ratio_low,"
      "ratio_high,verdict,processes\r\n";
  EXPECT_EQ(summary_csv(record),
            kKeys +
                "all,,,warm,burst,a.json,\"b,c.json\",,2e-05,3e-05,1.5,1.25,1.75,undecided,0\r\n"
                "\"add:count=8,dtype=f32\",conv1;conv2,2,warm,burst,a.json,\"b,c.json\",,1e-05,1.5e-05,"
                "1.5,1.25,1.75,slower,0\r\n"
                "\"add:count=8,dtype=f32\",conv1;conv2,2,,,a.json,\"b,c.json\",out of memory,,,,,,,\r\n");
}

}  // namespace
}  // namespace jitterscope
