#include "commands/records.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "output/sample_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;

std::string reason(const std::string& text) {
  try {
    read_run_record(text, "r.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

// Every field has another value than its default.
RunRecord filled_record() {
  RunRecord record = test::sample_operation();
  record.interrupted = true;
  record.device_note = "No NVIDIA GPU can be used; timing on the CPU.";
  record.device.slowdown_temperature = Celsius(87);
  record.device.further_types = {DataType::f64};
  DeviceCapabilities& can = record.device.capabilities;
  can = {.is_host = true,
         .is_simulated = true,
         .launches_return_early = false,
         .launches_have_blocks = false,
         .chains_have_streams = false,
         .marks_on_device = false,
         .traces_kernels = false,
         .owns_last_level_cache = false,
         .copies_depend_on_data = false,
         .waits_can_sleep = false,
         .allocates_memory = false,
         .runs_queues_beside = false,
         .operator_outputs_stay = false,
         .fast_layout = Layout::nchw,
         .pytorch_device = "cpu"};
  record.device.large_work = {Bytes(1 << 20), 512, DataType::f64, 256};
  record.calibration.events.scatter = Nanoseconds(12.5);
  record.notes = {"read from trace.json"};
  record.recorded_gpu_time = milliseconds(8.25);
  record.untimed = {{"aten::sort", 3, "it has no kernel here", microseconds(70)}};
  RunEntry& entry = record.entries[0];
  entry.count = 7;
  entry.layers = {"a", ""};
  entry.recorded_time = microseconds(11);
  Result& result = entry.result;
  result.stand_in = true;
  result.kernels = {{"void gemm<int>", microseconds(3), microseconds(2), microseconds(4)}};
  result.concurrency = KernelConcurrency{.streams = 4, .most_at_once = 3, .mean_at_once = 2.5};
  result.without_kernels = Shortfall{ExitCode::failed, "CUPTI is taken"};
  result.counters = {
      {CacheState::dirty,
       {7,
        {{"dram__bytes_read.sum", "byte", CounterQuantity::dram_bytes_read, "", 4096.0},
         {"lts__t_sector_hit_rate.pct", "percent", CounterQuantity::l2_hit_rate, "", std::nullopt},
         {"stalled_barrier.pct", "percent", CounterQuantity::stalled, "barrier", 41.5}}}}};
  result.without_counters = Shortfall{ExitCode::usage, "no such counter"};
  result.iterations = {{.count = 10,
                        .first = microseconds(9),
                        .minimum = microseconds(1),
                        .mean = microseconds(2),
                        .median = microseconds(1.5),
                        .maximum = microseconds(9),
                        .first_launch_call = microseconds(30),
                        .host_time = microseconds(4),
                        .clocks = {{5, megahertz(1980)}},
                        .throttled_power = milliseconds(1),
                        .throttled_thermal = milliseconds(2)}};
  result.load_probe =
      LoadProbe{CacheState::cold, milliseconds(500), microseconds(200), megahertz(1500), Watts(690), 0.9};
  result.findings = {{.id = "thermal",
                      .sentence = "it was hot",
                      .remedy = "cool it",
                      .evidence = {},
                      .headline = "hot",
                      .effect = 0.02,
                      .places = {{0, {{2, 5}, {7, 7}}}, {2, {{0, 1}}}}}};
  Measurement& measurement = result.measurements[0];
  measurement.conditions = {
      CacheState::produced, Load::burst, DataKind::sparse, QueueMode::eager, true, megahertz(1410), 3, 77};
  measurement.instrument = Instrument::cupti;
  measurement.uncertainty = {Nanoseconds(1), Nanoseconds(2), Nanoseconds(3)};
  measurement.process_variation = {0.01, 0.02, 5};
  measurement.is_placed_anew = true;
  measurement.at_reference_clock->clock_share_error = 0.05;
  measurement.at_reference_clock->extrapolated = true;
  measurement.reference_clock_asked = megahertz(1410);
  measurement.stop_reason = StopReason::time_limit;
  Round& round = measurement.rounds[0];
  round.grain = Nanoseconds(32);
  round.block = 4;
  round.placement = 2;
  round.launches_per_value = 8;
  record.sequence = SequenceMeasurement{.calls = {{.name = "a",
                                                   .layer = 0,
                                                   .time = measurement.time,
                                                   .kernels = result.kernels,
                                                   .failure = "",
                                                   .unwritten = 2}},
                                        .iteration = measurement.time,
                                        .clock = megahertz(1900),
                                        .instrument = Instrument::host,
                                        .queue = QueueMode::eager,
                                        .precision_asked = 0.01,
                                        .is_connected = true};
  return record;
}

TEST(Record, ReadsBackAsItWas) {
  for (const RunRecord& record :
       {test::sample_model(), test::sample_operation(), test::model_of(20), filled_record(), RunRecord()}) {
    const std::string text = write_record(record);
    const RunRecord read = read_run_record(text, "r.json");
    EXPECT_TRUE(write_record(read) == text);
    EXPECT_EQ(test::details(read), test::details(record));
  }
}

// A field that is not described would read back as its default: none of this record's is.
TEST(Record, HoldsEveryFieldOfAMeasurement) {
  const RunRecord written = filled_record();
  const RunRecord read = read_run_record(write_record(written), "r.json");
  const Measurement& is = read.entries[0].result.measurements[0];
  const Measurement& was = written.entries[0].result.measurements[0];
  EXPECT_EQ(is.conditions, was.conditions);
  EXPECT_EQ(is.uncertainty.rounds, was.uncertainty.rounds);
  EXPECT_EQ(is.uncertainty.processes, was.uncertainty.processes);
  EXPECT_EQ(is.uncertainty.instrument, was.uncertainty.instrument);
  EXPECT_EQ(is.repeatability.low, was.repeatability.low);
  EXPECT_EQ(is.process_variation.placed, was.process_variation.placed);
  EXPECT_EQ(is.process_variation.fixed, was.process_variation.fixed);
  EXPECT_EQ(is.process_variation.degrees_of_freedom, was.process_variation.degrees_of_freedom);
  EXPECT_EQ(is.is_placed_anew, was.is_placed_anew);
  EXPECT_EQ(is.reference_clock_asked, was.reference_clock_asked);
  EXPECT_EQ(is.at_reference_clock->clock_share_error, was.at_reference_clock->clock_share_error);
  EXPECT_EQ(is.at_reference_clock->extrapolated, was.at_reference_clock->extrapolated);
  EXPECT_EQ(is.rounds[0].grain, was.rounds[0].grain);
  EXPECT_EQ(is.rounds[0].block, was.rounds[0].block);
  EXPECT_EQ(is.rounds[0].placement, was.rounds[0].placement);
  EXPECT_EQ(is.rounds[1].block, -1);
  EXPECT_EQ(read.calibration.events.scatter, written.calibration.events.scatter);
  ASSERT_TRUE(read.entries[0].result.concurrency);
  EXPECT_EQ(read.entries[0].result.concurrency->streams, 4);
  EXPECT_EQ(read.entries[0].result.concurrency->most_at_once, 3);
  EXPECT_EQ(read.entries[0].result.concurrency->mean_at_once, 2.5);
  EXPECT_EQ(read.entries[0].result.without_kernels->exit_code, ExitCode::failed);
  EXPECT_EQ(read.entries[0].result.without_counters->exit_code, ExitCode::usage);
  EXPECT_EQ(read.entries[0].result.without_counters->reason, "no such counter");
  const LaunchCounters& counters = read.entries[0].result.counters.at(0);
  EXPECT_EQ(counters.cache, CacheState::dirty);
  EXPECT_EQ(counters.reading.passes, 7);
  EXPECT_EQ(counters.reading.values.at(0).value, 4096.0);
  EXPECT_EQ(counters.reading.values.at(1).value, std::nullopt);
  EXPECT_EQ(counters.reading.values.at(2).quantity, CounterQuantity::stalled);
  EXPECT_EQ(counters.reading.values.at(2).stall_reason, "barrier");
  EXPECT_EQ(counters.reading.values.at(2).unit, "percent");
  EXPECT_EQ(read.device.capabilities.pytorch_device, "cpu");
  EXPECT_TRUE(read.device.capabilities.is_host);
  EXPECT_FALSE(read.device.capabilities.traces_kernels);
  EXPECT_TRUE(read.sequence->is_connected);
}

TEST(Record, HoldsWhereAFindingHappened) {
  const RunRecord written = filled_record();
  Json document = Json::parse(write_record(written));
  const RunRecord read = read_run_record(document.dump(), "r.json");
  EXPECT_EQ(read.entries[0].result.findings.at(0).places, written.entries[0].result.findings[0].places);
  Json& finding = document["results"][0]["findings"][0];
  Json turned = document;
  turned["results"][0]["findings"][0]["places"][0]["rounds"][0]["last"] = 1;
  EXPECT_THAT(reason(turned.dump()), HasSubstr("last: a round that is not before the first was expected"));
  finding.erase("places");  // as before there were any
  EXPECT_TRUE(read_run_record(document.dump(), "r.json").entries[0].result.findings.at(0).places.empty());
}

TEST(Record, HoldsTheFastestLoopOfAStudy) {
  ExplainRecord written;
  written.study.emplace();
  written.study->plain = TimeEstimate{microseconds(10), microseconds(9), microseconds(11), 8};
  written.study->fastest =
      explain::FastestLoop{.parts = {{"data", "zeros"}}, .time = {0.9, 0.8, 0.95}, .blocks = 6};
  const std::string text = write_record(written);
  const ExplainRecord read = std::get<ExplainRecord>(read_record(text, "r.json"));
  ASSERT_TRUE(read.study && read.study->plain && read.study->fastest);
  EXPECT_EQ(read.study->plain->high, microseconds(11));
  EXPECT_EQ(read.study->fastest->parts.at(0).dose, "zeros");
  EXPECT_EQ(read.study->fastest->time.low, 0.8);
  EXPECT_EQ(write_record(read), text);
}

TEST(Record, SaysOfOtherFilesWhatTheyAre) {
  const std::string whole = write_record(test::sample_model());
  EXPECT_THAT(reason(""), HasSubstr("r.json: this file is empty"));
  EXPECT_THAT(reason(whole.substr(0, whole.size() / 2)), HasSubstr("ends in the middle of a record"));
  EXPECT_THAT(reason("version: 3"), HasSubstr("not JSON from byte 1"));
  EXPECT_THAT(reason("{\"version\": 1e999}"), HasSubstr("a number in it is larger"));
  EXPECT_THAT(reason(R"({"name": "vllm"})"), HasSubstr("not a record of jitterscope;"));
  EXPECT_THAT(reason("[]"), HasSubstr("not a record of jitterscope;"));
  EXPECT_THAT(reason(R"({"format": "jitterscope-model", "version": 1})"),
              HasSubstr("r.json: this is a model, not a record of a measurement: `jitterscope run r.json`"));
  EXPECT_THAT(reason(R"({"traceEvents": []})"), HasSubstr("r.json: this is a profiler trace of PyTorch"));
  EXPECT_THAT(reason("<!DOCTYPE html>"), HasSubstr("r.json: this is a page for a browser"));
  EXPECT_THAT(reason(R"({"format": "jitterscope-plan", "version": 1})"),
              HasSubstr("but a 'jitterscope-plan'"));
  EXPECT_THAT(reason(R"({"format": "jitterscope-record", "version": 3, "command": "run"})"),
              HasSubstr("this record has version 3, but jitterscope"));
  EXPECT_THAT(reason(R"({"format": "jitterscope-record", "version": 2, "command": "methods"})"),
              HasSubstr("`jitterscope methods` wrote this"));
  EXPECT_THAT(reason(R"({"format": "jitterscope-record", "version": 1, "command": "run"})"),
              HasSubstr("this record has version 1, but jitterscope"));
}

TEST(Record, RefusesWhatNoRunCanHold) {
  Json document = Json::parse(write_record(filled_record()));
  document["sequence"]["calls"][0]["result"] = 1;
  EXPECT_THAT(reason(json_text(document)),
              HasSubstr("sequence.calls[0].result: the number of one of the results"));
}

}  // namespace
}  // namespace jitterscope
