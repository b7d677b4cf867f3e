// Every record is valid by the schema that is published, and damaged ones are not.

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "output/sample_record.hpp"
#include "record/json_text.hpp"
#include "record/validate_record.hpp"

namespace jitterscope {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

// The sample with one value replaced, or removed where the value is null.
std::string damaged(const std::string& pointer, const Json& value) {
  Json document = Json::parse(write_record(test::sample_model()));
  const Json::json_pointer place(pointer);
  if (value.is_null()) {
    document.at(place.parent_pointer()).erase(place.back());
  } else {
    document[place] = value;
  }
  return json_text(document);
}

TEST(RecordSchema, RecordsAreValid) {
  EXPECT_EQ(validate_record(write_record(test::sample_model())), 0);
  EXPECT_EQ(validate_record(write_record(test::sample_operation())), 0);
  EXPECT_EQ(validate_record(write_record(RunRecord())), 0);
}

TEST(RecordSchema, OperationsHaveTheirParametersAndEachTimeAFlatRow) {
  RunRecord record = test::sample_operation();
  record.device_note = "No NVIDIA GPU can be used (no driver); timing on the CPU.";
  record.entries[0].result.load_probe =
      LoadProbe{CacheState::warm, milliseconds(500), microseconds(200), megahertz(1500), Watts(690), 0.9};
  const std::string text = write_record(record);
  EXPECT_EQ(validate_record(text), 0);
  const Json document = Json::parse(text);
  EXPECT_EQ(document.at("results").at(0).at("parameters").at("m"), 4096);
  EXPECT_EQ(document.at("summary").size(), 3u);
  EXPECT_EQ(document.at("summary").at(0).at("median_seconds"), 0.00018);
  EXPECT_EQ(document.at("device_note"), record.device_note);
  EXPECT_EQ(document.at("results").at(0).at("load_probe").at("power_watts"), 690);
  const Json finding =
      Json::parse(write_record(test::sample_model())).at("results").at(0).at("findings").at(0);
  EXPECT_EQ(finding.at("effect"), 0.11);
  EXPECT_EQ(finding.at("headline"), "the power cap lowers the SM clock");
}

TEST(RecordSchema, AbsentAndOddValuesAreValid) {
  RunRecord record = test::sample_model();
  record.title = "\xff\"\n\\µ|";
  Measurement& measurement = record.entries[0].result.measurements[0];
  measurement.time = {Nanoseconds(kNoNumber), Nanoseconds(kNoNumber), Nanoseconds(kNoNumber), 0};
  measurement.launches = {};
  measurement.clock.reset();
  measurement.rounds[0].launches.push_back(Nanoseconds(kNoNumber));
  measurement.rounds[0].sensors = SensorReading();
  measurement.stop_reason = StopReason::time_limit;
  record.entries[1].result.measurements[0].steadiness =
      Steadiness{Steadiness::Verdict::never_steady, {}, {}, 0};
  record.entries[0].result.verification->relative_error = kNoNumber;
  record.interrupted = true;
  EXPECT_EQ(validate_record(write_record(record)), 0);
}

// A program of one operation that fits its parts, one that ran other kernels, and one that failed.
ReplayRecord replayed_calls() {
  ReplayRecord record;
  record.environment = test::sample_operation().environment;
  record.device = test::sample_operation().device;
  record.source = "trace.json";
  record.format = "PyTorch profiler trace";
  record.recorded_device = "NVIDIA H200";
  record.recorded_gpu_time = microseconds(1000);
  record.replayable_time = record.replayed_time = microseconds(940);
  record.replayable_calls = 9;
  record.recorded_calls = 12;
  record.unreplayed = {
      {"fused Triton kernels", 3, microseconds(60), "triton_poi_0", "The record does not say."}};
  const TimeEstimate time{microseconds(26), microseconds(25.9), microseconds(26.1), 30};
  explain::Account account{.layers = {"a#1"},
                           .first_subject = "add:count=8",
                           .second_subject = "add:count=8",
                           .first = time,
                           .second = time,
                           .time = {1.0, 0.99, 1.01},
                           .rest = {1.0, 0.99, 1.01},
                           .is_of_program = true};
  account.parts = {{.name = "cache",
                    .first = "warm",
                    .second = "cold",
                    .ratio = RatioEstimate{1.1, 1.05, 1.15},
                    .source = "timed"}};
  account.in_sequence = time;
  ReplayedCall call{.layers = {"a#1"}, .operation = "add:count=8", .provider = "builtin", .algorithm = ""};
  call.in_program = call.warm = call.cold = call.in_sequence = time;
  call.account = account;
  record.calls = {call,
                  call,
                  {.layers = {"c"},
                   .operation = "add:count=32",
                   .provider = "",
                   .algorithm = "",
                   .failure = "out of memory"}};
  record.calls[1].operation = "add:count=16";
  record.calls[1].account->stopped_at = "kernels";
  record.calls[1].account->parts = {
      {.name = "kernels", .first = "ours", .second = "theirs", .source = "not told"}};
  record.sequence = ReplayedSequence{.calls = 9, .timed = 9, .connected = 5, .time = microseconds(900)};
  record.processes = 5;
  record.unknown = {"The trace does not tell the clock."};
  return record;
}

TEST(RecordSchema, AReplayIsValidAndIsReadAsItWas) {
  const std::string text = write_record(replayed_calls());
  EXPECT_EQ(validate_record(text), 0);
  const auto read = std::get<ReplayRecord>(read_record(text, "r.json"));
  EXPECT_EQ(write_record(read), text);
  const std::string shown = record_text(read, {.width = 120});
  EXPECT_NE(
      shown.find("94 % of 1.000 ms of recorded GPU time can be replayed; 6 % fused Triton kernels cannot"),
      std::string::npos)
      << shown;
  EXPECT_NE(shown.find("cache +10.0 ± 5.0 %"), std::string::npos) << shown;
  EXPECT_NE(shown.find("other kernels"), std::string::npos) << shown;
}

ComparisonRecord compared_sides() {
  ComparisonRecord record;
  record.environment = test::sample_operation().environment;
  record.device = test::sample_operation().device;
  record.alternatives = {"a", "b"};
  Comparison comparison;
  comparison.first.subject = comparison.second.subject = Operation::parse("add:count=8");
  comparison.first.time = comparison.second.time = {microseconds(20), microseconds(19), microseconds(21), 8};
  comparison.first.rounds = {microseconds(20.1234), microseconds(19.5)};
  record.comparisons = {comparison};
  return record;
}

TEST(RecordSchema, AComparisonKeepsHowManyLayersAreLeftOut) {
  ComparisonRecord record = compared_sides();
  EXPECT_FALSE(Json::parse(write_record(record)).contains("left_out")) << "as files had none";
  record.left_out = {{.alternative = 1, .layers = 245, .of = 403}};
  record.differences = {{"clock", "1 MHz", "2 MHz", true, {"conv1", "fc"}}};
  const std::string text = write_record(record);
  EXPECT_EQ(validate_record(text), 0);
  const auto read = std::get<ComparisonRecord>(read_record(text, "r.json"));
  ASSERT_EQ(read.left_out.size(), 1u);
  EXPECT_EQ(read.left_out[0].alternative, 1u);
  EXPECT_EQ(read.left_out[0].layers, 245);
  EXPECT_EQ(read.left_out[0].of, 403);
  EXPECT_EQ(read.differences[0].of, record.differences[0].of);
  record.left_out[0].alternative = 2;
  EXPECT_ANY_THROW(read_record(write_record(record), "r.json"));
}

TEST(RecordSchema, SidesOfAComparisonKeepTimesOfRoundsOrNone) {
  const std::string text = write_record(compared_sides());
  EXPECT_EQ(validate_record(text), 0);
  const auto sides = std::get<ComparisonRecord>(read_record(text, "r.json")).comparisons.at(0);
  EXPECT_EQ(sides.first.rounds, compared_sides().comparisons[0].first.rounds);
  EXPECT_TRUE(sides.second.rounds.empty());
  const Json written = Json::parse(text).at("comparisons").at(0);
  EXPECT_EQ(written.at("first").at("round_seconds").dump(), "[2.01234e-05,1.95e-05]");
  EXPECT_FALSE(written.at("second").contains("round_seconds")) << "as files had none";
}

TEST(RecordSchema, SidesOfAComparisonKeepHowManyKernelsRanAtOnceOrWhyThatIsNotKnown) {
  EXPECT_FALSE(
      Json::parse(write_record(compared_sides())).at("comparisons").at(0).at("first").contains("concurrency"))
      << "as files had none";
  ComparisonRecord record = compared_sides();
  record.comparisons[0].first.concurrency = KernelConcurrency{4, 3, 2.5};
  record.comparisons[0].second.without_kernels = Shortfall{ExitCode::missing, "no CUPTI"};
  const std::string text = write_record(record);
  EXPECT_EQ(validate_record(text), 0);
  const auto read = std::get<ComparisonRecord>(read_record(text, "r.json")).comparisons.at(0);
  ASSERT_TRUE(read.first.concurrency);
  EXPECT_EQ(read.first.concurrency->streams, 4);
  EXPECT_EQ(read.first.concurrency->most_at_once, 3);
  EXPECT_EQ(read.first.concurrency->mean_at_once, 2.5);
  EXPECT_FALSE(read.first.without_kernels);
  EXPECT_FALSE(read.second.concurrency);
  ASSERT_TRUE(read.second.without_kernels);
  EXPECT_EQ(read.second.without_kernels->reason, "no CUPTI");
  EXPECT_EQ(read.second.without_kernels->exit_code, ExitCode::missing);
}

TEST(RecordSchema, DamagedRecordsAreRefused) {
  EXPECT_EQ(validate_record(damaged("/title", "other")), 0) << "the control: a change that does no harm";
  EXPECT_EQ(validate_record(damaged("/version", 1)), 1);
  EXPECT_EQ(validate_record(damaged("/summary/0/operation", nullptr)), 1);
  EXPECT_EQ(validate_record(damaged("/summary/0/median_seconds", "20 us")), 1);
  EXPECT_EQ(validate_record(damaged("/results/0/parameters/n", Json::array())), 1);
  EXPECT_EQ(validate_record(damaged("/device", nullptr)), 1);
  EXPECT_EQ(validate_record(damaged("/results/0/measurements/0/rounds/3/launch_seconds/1", "20 us")), 1);
  EXPECT_EQ(validate_record(damaged("/results/0/measurements/0/conditions/cache", "lukewarm")), 1);
  EXPECT_EQ(validate_record(damaged("/results/0/measurements/0/time/median_ns", 20)), 1);
  EXPECT_EQ(validate_record(damaged("/results/0/measurements/0/time/high_seconds", nullptr)), 1);
  EXPECT_EQ(validate_record(write_record(test::sample_model()).substr(0, 4000)), 1);
  EXPECT_EQ(validate_record("{\"format\": NaN}"), 1);
}

TEST(RecordSchema, NumbersReadBackAsTheyWere) {
  RunRecord record = test::sample_model();
  std::vector<Nanoseconds>& launches = record.entries[0].result.measurements[0].rounds[0].launches;
  launches = {Nanoseconds(127900), Nanoseconds(0.1), Nanoseconds(1e18 / 3), Nanoseconds(-4.5),
              Nanoseconds(0)};
  const Json document = Json::parse(write_record(record));
  const Json& written = document["results"][0]["measurements"][0]["rounds"][0]["launch_seconds"];
  ASSERT_EQ(written.size(), launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    EXPECT_DOUBLE_EQ(written[i].get<double>(), launches[i].value() / 1e9);
  }
  EXPECT_EQ(written[0].dump(), "0.0001279");
  EXPECT_EQ(document["device"]["memory_total_bytes"].get<std::int64_t>(), 150000000000);
  EXPECT_EQ(document["device"]["maximum_clock_hertz"].get<double>(), 1.98e9);
}

TEST(JsonText, PlainArraysStayOnOneLine) {
  Json document = {{"numbers", {1, 2.5}}, {"empty", Json::object()}};
  document["list"] = Json::array({Json::object({{"a", 1}})});
  put(document, "absent", kNoNumber);
  put(document, "time", Nanoseconds(127900));
  EXPECT_EQ(json_text(document),
            "{\n \"numbers\": [1,2.5],\n \"empty\": {},\n \"list\": [\n  {\n   \"a\": 1\n  }\n ],\n"
            " \"time\": 0.0001279\n}\n");
}

}  // namespace
}  // namespace jitterscope
