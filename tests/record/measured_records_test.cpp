// Records of simulated runs read back, and print as they did.
#include <gtest/gtest.h>

#include "commands/records.hpp"
#include "commands/run/files.hpp"
#include "commands/run/table.hpp"
#include "finding/finding.hpp"
#include "measure/machine.hpp"
#include "measure/sequence.hpp"
#include "measure/trials.hpp"

namespace jitterscope {
namespace {

class MeasuredRecord : public testing::Test {
 protected:
  MeasuredRecord() {
    options_.loads = {Load::burst};
    options_.time_limit = seconds(0.4);
    record_.environment = read_environment("jitterscope run");
    record_.device = device_->describe();
    record_.calibration = session_.calibration();
    const std::vector<DataType> types = {DataType::f32};
    record_.ceilings = measure_ceilings(session_, types);
  }

  void measure(const std::vector<std::string>& texts) {
    const FindingContext context{record_.device, record_.calibration, record_.ceilings, {}, {}, true};
    record_.findings = machine_findings(context);
    for (const std::string& text : texts) {
      const Operation operation = Operation::parse(text);
      Result result = measure_operation(session_, operation, options_, false);
      result.findings = find_all(result, context);
      record_.entries.push_back({.result = std::move(result), .layers = {"layer " + text.substr(0, 3)}});
    }
  }

  void expect_to_read_back() {
    const std::string text = write_record(record_);
    const RunRecord read = read_run_record(text, "r.json");
    EXPECT_TRUE(write_record(read) == text);
    EXPECT_TRUE(launches_csv(read) == launches_csv(record_));
    EXPECT_EQ(run_summary_csv(read), run_summary_csv(record_));
    for (const Page& page : {Page{}, Page{.width = 120, .details = true, .findings = FindingsShown::all},
                             Page{.top = 1, .findings = FindingsShown::none}}) {
      EXPECT_EQ(run_table(read, page), run_table(record_, page));
    }
  }

  std::unique_ptr<Device> device_ = open_device("virtual:h200");
  Session session_{*device_};
  MeasureOptions options_;
  RunRecord record_;
};

TEST_F(MeasuredRecord, OfAnOperation) {
  options_.load_probe = true;
  options_.reference_clock = megahertz(1500);
  measure({"matmul:m=2048,n=2048,k=2048,dtype=f16"});
  ASSERT_TRUE(record_.entries[0].result.load_probe);
  expect_to_read_back();
}

TEST_F(MeasuredRecord, UnderASustainedLoad) {
  options_.caches = {CacheState::warm};
  options_.loads = {Load::burst, Load::sustained};
  options_.sustained_time_limit = seconds(2);
  measure({"matmul:m=4096,n=4096,k=4096,dtype=f16"});
  ASSERT_TRUE(record_.entries[0].result.measurements.back().steadiness);
  expect_to_read_back();
}

TEST_F(MeasuredRecord, WithIterationsAndKernels) {
  options_.kernels = true;
  options_.iterations = {1, 10, 100};
  measure({"add:count=65536"});
  ASSERT_EQ(record_.entries[0].result.iterations.size(), 3u);
  ASSERT_FALSE(record_.entries[0].result.kernels.empty());
  expect_to_read_back();
}

TEST_F(MeasuredRecord, OfSeveralOperationsInSequenceAndAFailure) {
  options_.caches = {CacheState::warm, CacheState::produced};
  measure({"add:count=65536", "relu:count=65536", "mul:count=65536"});
  Model model;
  model.layers = {{{"first", "third"}, *operation_of(record_.entries[0].result.subject)},
                  {{"second"}, *operation_of(record_.entries[1].result.subject)}};
  model.calls = {{0, "first", {}}, {1, "second", {{0, 0, 2}}}, {0, "third", {{0, 1, 1}}}};
  record_.sequence = measure_sequence(session_, model, options_, [](const auto&, auto, auto) {});
  record_.entries[2].result.measurements.clear();
  record_.entries[2].result.failure = "out of memory: 12 GiB needed, 3 GiB free";
  record_.interrupted = true;
  ASSERT_EQ(record_.sequence->calls.size(), 3u);
  expect_to_read_back();
}

}  // namespace
}  // namespace jitterscope
