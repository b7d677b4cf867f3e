// The record of `plan`: valid, read as it was written, and what its first screen says.
#include <gmock/gmock.h>

#include "commands/records.hpp"
#include "output/sample_record.hpp"
#include "record/validate_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

ForecastTime around(double milli, double half) {
  return {milliseconds(milli), milliseconds(milli - half), milliseconds(milli + half)};
}

ForecastStep step_of_replicas(std::int64_t ranks) {
  ForecastStep step;
  step.arrangement = "DP 8, buckets of 25 MiB";
  step.data = ranks;
  step.step = around(10, 0.1);
  step.samples_per_second = 6400;
  step.speedup = 7.2;
  step.computing = milliseconds(9);
  step.exposed = milliseconds(1);
  step.hidden = milliseconds(3);
  step.weights = step.gradients = Bytes(20'000'000'000);
  step.optimizer = Bytes(60'000'000'000);
  step.activations = Bytes(1'000'000'000);
  step.straggler_adds = milliseconds(0.18);
  step.limit = "communication that nothing hides";
  return step;
}

ForecastRecord forecasts() {
  ForecastRecord record;
  record.environment = test::sample_operation().environment;
  record.device = test::sample_operation().device;
  record.network = "gpt2:batch=4";
  record.from = "gpt2.json";
  record.collectives = {"links.json"};
  record.times = "cold bursts";
  record.samples = 4;
  record.gpus_per_host = 8;
  record.blocks = 12;
  record.weights = Bytes(20'000'000'000);
  record.memory = Bytes(150'000'000'000);
  record.forward = around(3, 0.01);
  record.backward = around(6, 0.02);
  record.exchanges = {{"all-reduce", 2, microseconds(20), 331e9, 0.001, false},
                      {"between hosts", 0, microseconds(10), 50e9, 0, true}};
  ForecastStep other = step_of_replicas(8);
  other.arrangement = "DP 4 × PP 2, 1F1B";
  other.data = 4;
  other.pipeline = 2;
  other.step = around(14, 0.1);
  other.bubble = milliseconds(4);
  record.ranks = {{8, 12, 12, {step_of_replicas(8), other}}};
  record.drawn_arrangement = "DP 8, buckets of 25 MiB";
  record.drawn_ranks = 8;
  record.spans = {{0, "forward", "forward 0", milliseconds(0), milliseconds(3)},
                  {0, "exchange", "exchange gradients", milliseconds(4), milliseconds(10)}};
  record.notes = {"links between 8 GPUs of a host are taken to be as those of the 2 measured"};
  return record;
}

std::string shown(const ForecastRecord& record, std::size_t width = 400) {
  return record_text(AnyRecord(record), {.width = width});
}

TEST(ForecastRecord, IsValidAndIsReadAsItWas) {
  const std::string text = write_record(forecasts());
  EXPECT_EQ(validate_record(text), 0);
  EXPECT_EQ(write_record(std::get<ForecastRecord>(read_record(text, "r.json"))), text);
}

TEST(ForecastRecord, AnswersInASentence) {
  const std::string text = shown(forecasts());
  EXPECT_THAT(
      text, HasSubstr("**8 GPUs**: DP 8, buckets of 25 MiB is the fastest, 10.0 ms ± 1 % a step, 6.40 k "
                      "samples/s, 7.2 times one GPU; communication that nothing hides takes 10 % of it, and "
                      "one GPU that is 2 % slower would add 1.8 %."));
  EXPECT_THAT(text, HasSubstr("| DP 4 × PP 2, 1F1B"));
  EXPECT_THAT(text, HasSubstr("50 GB/s, assumed"));
  EXPECT_THAT(text, HasSubstr("331 GB/s, measured on 2 ranks"));
}

TEST(ForecastRecord, MarksWhatIsAssumed) {
  ForecastRecord record = forecasts();
  EXPECT_THAT(shown(record), Not(HasSubstr("(network between hosts: assumed)")));
  record.ranks[0].steps[0].is_assumed = true;
  EXPECT_THAT(shown(record), HasSubstr("(network between hosts: assumed)"));
  record.ranks.insert(record.ranks.begin(), record.ranks.front());
  record.ranks[0].ranks = 2;
  record.ranks[0].steps[0].is_assumed = false;
  EXPECT_THAT(shown(record), HasSubstr("| measured |"));
  record.ranks[0].ranks = 4;  // the links of two were measured
  EXPECT_THAT(shown(record), HasSubstr("| extended |"));
  EXPECT_THAT(headline_of(record).marks, testing::Contains("network assumed"));
}

TEST(ForecastRecord, SaysWhatDoesNotFitAndWhatWould) {
  ForecastRecord record = forecasts();
  record.memory = Bytes(80'000'000'000);
  std::swap(record.ranks[0].steps[0], record.ranks[0].steps[1]);
  record.ranks[0].steps[1].fits = false;
  const std::string text = shown(record);
  EXPECT_THAT(text, HasSubstr("**8 GPUs**: DP 4 × PP 2, 1F1B is the fastest"));
  EXPECT_THAT(text, HasSubstr("DP 8, buckets of 25 MiB does not fit: it needs 101 GB of 80 GB."));
  record.ranks[0].steps[0].fits = false;
  EXPECT_THAT(shown(record),
              HasSubstr("**8 GPUs**: nothing fits. DP 4 × PP 2, 1F1B needs least, 101 GB of the 80 GB"));
}

TEST(ForecastRecord, DrawsStepsOverGpusAndATimeline) {
  const std::vector<Plot> plots = plots_of(AnyRecord(forecasts()));
  ASSERT_EQ(plots.size(), 2u);
  EXPECT_EQ(plots[0].id, "step_over_gpus");
  EXPECT_EQ(plots[0].table.front().cells.size(), 2u);
  EXPECT_EQ(plots[1].id, "timeline");
  EXPECT_EQ(plots[1].table.front().cells.size(), 2u);
  EXPECT_TRUE(plots_of(AnyRecord(ForecastRecord())).empty());
}

TEST(ForecastRecord, WithoutStepsOrWithImpossibleMemoryIsDamaged) {
  ForecastRecord record = forecasts();
  record.ranks[0].steps.clear();
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
  record = forecasts();
  record.ranks[0].steps[0].weights = Bytes(std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
}

}  // namespace
}  // namespace jitterscope
