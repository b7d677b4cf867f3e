// The sum of a model's times, and how well it is known.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "commands/run/table.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/run_record.hpp"
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

// What the instrument's constant is off by is in every launch: in a sum it grows with their number, and it is
// no part of ±, as with one launch.
TEST(ModelTotal, NamesTheErrorOfTheConstantBesideItsInterval) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  record.entries[0].count = 391;
  for (Result& result : results_of(record)) {
    result.measurements.resize(1);
    Measurement& measurement = result.measurements[0];
    measurement.time.median = microseconds(2);
    measurement.time.low = microseconds(1.998);
    measurement.time.high = microseconds(2.002);
    measurement.constant.uncertainty = microseconds(0.1);
  }
  // 392 launches of 2 µs, each ± 0.1 %, and ± 0.1 µs in the same direction.
  const NetworkTotal total = network_totals(record).front();
  EXPECT_NEAR((*total.high - *total.low).value(), 392 * 4.0, 1e-6);
  EXPECT_NEAR(total.instrument_error.value(), 392 * 100.0, 1e-6);
  const auto shown = [&] { return run_table(record, {.width = 200}).lines(); };
  EXPECT_THAT(shown(), HasSubstr("784.0 µs ± 0.1 %"));
  EXPECT_THAT(shown(), HasSubstr("Beside its ±: instrument ± 39 µs."));
  // Of ten launches between two marks it was taken off once.
  for (Result& result : results_of(record)) result.measurements[0].rounds[0].launches_per_value = 10;
  EXPECT_THAT(shown(), HasSubstr("Beside its ±: instrument ± 3.9 µs."));
  // A slope's constant is that of one launch, however many it was read from.
  for (Result& result : results_of(record)) result.measurements[0].instrument = Instrument::graph;
  EXPECT_THAT(shown(), HasSubstr("Beside its ±: instrument ± 39 µs."));
  // What is smaller than the interval is not said.
  for (Result& result : results_of(record)) result.measurements[0].constant.uncertainty = Nanoseconds(1);
  EXPECT_THAT(shown(), testing::Not(HasSubstr("instrument ±")));
}

// For those who read the file: what the table shows, and what it takes shares of.
TEST(ModelTotal, IsInTheRecordWithTheShares) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  for (Result& result : results_of(record)) result.measurements.resize(1);
  const Nanoseconds first = 2.0 * record.entries[0].result.measurements[0].time.median;
  const Nanoseconds second = record.entries[1].result.measurements[0].time.median;
  Json document = Json::parse(write_record(record));
  ASSERT_EQ(document.at("totals").size(), 1u);
  const Json total = document.at("totals").front();
  EXPECT_EQ(total.at("cache"), "warm");
  EXPECT_EQ(total.at("calls"), 3);
  EXPECT_EQ(total.at("timed_calls"), 3);
  EXPECT_NEAR(total.at("seconds").get<double>(), (first + second).value() * 1e-9, 1e-11);
  EXPECT_LT(total.at("low_seconds"), total.at("seconds"));
  EXPECT_NEAR(document.at("summary")[0].at("share").get<double>(), first / (first + second), 1e-5);
  // Of what failed there is no time, and so no whole.
  record.entries[1].result.measurements.clear();
  document = Json::parse(write_record(record));
  EXPECT_EQ(document.at("totals")[0].at("timed_calls"), 2);
  // Operations that somebody typed beside each other are no network.
  for (RunEntry& entry : record.entries) entry = {.result = entry.result};
  EXPECT_FALSE(Json::parse(write_record(record)).contains("totals"));
}

// One operation that a network runs twelve times: what is quoted is their sum.
RunRecord called_twelve_times() {
  RunRecord record = test::sample_model();
  record.entries = {record.entries[1]};
  RunEntry& entry = record.entries[0];
  entry.count = 12;
  entry.layers.clear();
  for (int i = 0; i < 12; ++i) entry.layers.push_back("h." + std::to_string(i) + ".mlp");
  entry.result.measurements.resize(1);
  entry.result.measurements[0].constant.uncertainty = microseconds(0.3);
  entry.result.verification.reset();
  return record;
}

TEST(ModelTotal, OfOneOperationIsWhatIsQuoted) {
  const std::string table = run_table(called_twelve_times(), {.width = 160});
  // 12 · 30 µs; ± 0.1 %, and 1 % of the instrument beside it.
  EXPECT_THAT(table,
              HasSubstr("\n360.0 µs ± 0.1 % for all 12 calls (95 % interval 359.6–360.4 µs, instrument ± 3.6 "
                        "µs), warm burst, 1716 MHz"));
  EXPECT_THAT(table, HasSubstr("\nOne of the 12 calls: 30.00 µs ± 0.1 % (95 % interval"));
  EXPECT_THAT(table, HasSubstr("| conditions |     all 12 calls |         one call |"));
  EXPECT_THAT(table, HasSubstr("\nWork of one call: run by cudnn"));
  EXPECT_THAT(run_table(called_twelve_times(), {.details = true}),
              HasSubstr("The time of all calls is the sum of theirs"));
  RunRecord three_rounds = called_twelve_times();
  three_rounds.entries[0].result.measurements[0].time.rounds = 3;
  EXPECT_THAT(run_table(three_rounds), HasSubstr("\n360 µs, no interval for all 12 calls, warm burst"));
}

TEST(ModelTotal, EachRowOfTheSummaryHasItsPartOfIt) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  for (Result& result : results_of(record)) result.measurements.resize(1);
  const Json document = Json::parse(write_record(record));
  double sum = 0.0;
  for (const Json& row : document.at("summary")) sum += row.at("all_calls_seconds").get<double>();
  EXPECT_NEAR(sum, document.at("totals")[0].at("seconds").get<double>(), 1e-12);
  EXPECT_NEAR(document.at("summary")[0].at("all_calls_seconds").get<double>(), 40e-6, 1e-12);
}

// Two layers of 1e10 FLOP: 2 calls of 20 us and one of 30 us, where 795 TFLOP/s is the ceiling.
TEST(WhereToWorkSection, BeginsWithWhatToWorkOn) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  const std::string table = run_table(record);
  // 30 of 70 us; 1e10 / 30 us is 333 TFLOP/s, 41.9 % of the ceiling: 0.4286 * 0.5807 is 25 %.
  EXPECT_THAT(table, HasSubstr("**Work on: convolutions 1x1 of layer2 (43 % of the time, at 42 % of their\n"
                               "ceiling: at most 25 % to gain)**\n"));
  // 1e10 / 20 us is 500 TFLOP/s, 62.9 %: 0.5714 * 0.3711 is 21 %.
  EXPECT_THAT(table, HasSubstr("| convolutions 3x3 of layer1 |     2 |  57 % |       63 % |       21 % |\n"));
  for (Result& result : results_of(record)) result.flops *= 1.55;
  // 97.5 % and 65 %: only fusion helps the first.
  EXPECT_THAT(run_table(record), HasSubstr("only by fusion"));
}

TEST(WhereToWorkSection, IsInTheRecordAndInItsRows) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  for (Result& result : results_of(record)) result.measurements.resize(1);
  const Json document = Json::parse(write_record(record));
  const Json& where = document.at("where_to_work");
  EXPECT_EQ(where.at("cache"), "warm");
  ASSERT_EQ(where.at("kinds").size(), 1u);
  EXPECT_EQ(where.at("kinds")[0].at("name"), "convolutions");
  EXPECT_EQ(where.at("kinds")[0].at("calls"), 3);
  EXPECT_EQ(where.at("kinds")[0].at("results"), (Json{0, 1}));
  // 40 us at 1e10 / 20 us / 795e12, and 30 us at 1e10 / 30 us / 795e12.
  const double first = 40.0 / 70.0 * (1.0 - 500.0 / 795.0), second = 30.0 / 70.0 * (1.0 - 333.333333 / 795.0);
  EXPECT_NEAR(where.at("kinds")[0].at("could_save").get<double>(), first + second, 1e-5);
  EXPECT_NEAR(document.at("summary")[0].at("could_save").get<double>(), first, 1e-5);
  EXPECT_NEAR(document.at("summary")[1].at("could_save").get<double>(), second, 1e-5);
  record.ceilings = {};
  const Json unknown = Json::parse(write_record(record));
  EXPECT_FALSE(unknown.at("where_to_work").at("kinds")[0].contains("could_save"));
  EXPECT_FALSE(unknown.at("summary")[0].contains("could_save"));
}

// A time of the smaller part of a file would be taken for one of the file.
TEST(ModelTotal, NothingIsQuotedOfAFileOfWhichMostIsNotTimed) {
  RunRecord record = called_twelve_times();
  record.untimed = {{"aten::cumsum", 18, "only PyTorch has it", microseconds(900)}};
  record.recorded_gpu_time = microseconds(1000);
  std::string table = run_table(record);
  EXPECT_THAT(table,
              testing::StartsWith(
                  "**tiny**\nOnly 12 of the 30 calls of the record and 10 % of its GPU time are timed, so\n"
                  "there is no time of the whole.\n\nOne of the 12 calls: 30.00 µs"));
  EXPECT_THAT(table, testing::Not(HasSubstr("for all 12 calls (")));
  record.entries[0].count = 1;
  EXPECT_THAT(run_table(record), testing::Not(HasSubstr("(95 % interval")));
  // Most of the calls and little of the time: of that the greater part is timed.
  record = called_twelve_times();
  record.untimed = {{"aten::cumsum", 18, "only PyTorch has it", microseconds(100)}};
  record.recorded_gpu_time = microseconds(1000);
  EXPECT_THAT(run_table(record), HasSubstr("for all 12 calls (95 % interval"));
  // Where no time was recorded, calls are counted.
  record.recorded_gpu_time.reset();
  EXPECT_THAT(run_table(record),
              HasSubstr("Only 12 of the 30 calls of the record are timed, so there is no time"));
}

TEST(ModelTotal, OfAFileOfWhichMostIsNotTimedSaysOfHowManyCallsItIs) {
  RunRecord record = test::sample_model();
  record.entries.resize(2);
  record.untimed = {{"aten::cumsum", 7, "only PyTorch has it"}};
  const std::string table = run_table(record);
  EXPECT_THAT(
      table, HasSubstr("Only 3 of the 10 calls of the record are timed, so there is no time of the\nwhole."));
  EXPECT_THAT(table, HasSubstr("| 3 of 10 calls "));
  EXPECT_THAT(table, testing::Not(HasSubstr("all 3 calls")));
}

}  // namespace
}  // namespace jitterscope
