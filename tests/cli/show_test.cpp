// `jitterscope show` prints from a file what the command that wrote it printed.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "cli/command.hpp"
#include "commands/engines/record.hpp"
#include "commands/records.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using test::kQuick;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;

class Show : public test::WithFolder {
 protected:
  void write(const std::string& content) const { std::ofstream(path("r.json")) << content; }

  // The command's own output, and that of `show` with the same page flags, which both may have.
  void expect_the_same(const std::string& command, const std::string& page = "") const {
    const Outcome printed = run_tool(command + page + " --json " + path());
    ASSERT_FALSE(printed.output.empty()) << printed.errors;
    const Outcome shown = run_tool("show " + path() + page);
    EXPECT_EQ(shown.exit_code, 0) << shown.errors;
    EXPECT_EQ(shown.output, printed.output) << command;
    const AnyRecord record = read_record(text(), "r.json");
    EXPECT_TRUE(std::visit([](const auto& each) { return write_record(each); }, record) == text());
    EXPECT_EQ(test::validate_json(text()), 0) << command;
  }
};

TEST_F(Show, ARunOfAnOperation) {
  const std::string run = "run matmul:m=2048,n=2048,k=2048,dtype=f16 --device virtual:h200 --time-limit 0.3";
  expect_the_same(run);
  expect_the_same(run, " --details");
  expect_the_same(run + " --load burst,sustained --reference-clock 1500", " --details --findings all");
}

TEST_F(Show, ARunWithLoopsKernelsAndVerification) {
  expect_the_same("run add:count=1Mi --iterations 1,10,100 --kernels --verify" + kQuick, " --details");
}

TEST_F(Show, ARunOfASweepWithAFailure) {
  expect_the_same("run relu:count=1Mi,64Gi" + kQuick);
  EXPECT_THAT(run_tool("show " + path()).output, HasSubstr("Failed:"));
}

TEST_F(Show, ARunOfAModelShowsItsSlowestLayers) {
  const std::string run = "run resnet18:batch=4" + kQuick;
  expect_the_same(run);
  EXPECT_NE(run_tool("show " + path() + " --top all").output, run_tool("show " + path()).output);
  expect_the_same(run, " --top 3 --findings none");
  expect_the_same("run resnet18:batch=4,direction=fprop --in-sequence" + kQuick, " --details");
}

TEST_F(Show, ARunOfARecordedNetwork) {
  expect_the_same("run " JITTERSCOPE_TEST_DATA "/bert_et.json.gz --provider builtin" + kQuick, " --details");
}

TEST_F(Show, Methods) {
  expect_the_same("methods matmul:m=512,n=512,k=512,dtype=bf16 --device virtual:h200");
}

TEST_F(Show, Explain) {
  const std::string explain = "explain matmul:m=512,n=512,k=512,dtype=f16 --device virtual:h200 --quick";
  expect_the_same(explain);
  expect_the_same(explain, " --details");
  expect_the_same("explain add:count=1Mi --device virtual:laptop --max-time 4 --factors idle,engine");
}

TEST_F(Show, ExplainOfTwoRecords) {
  const std::string run =
      "run add:count=1Mi --cache warm --load burst --device virtual:h200 --time-limit 0.3 ";
  ASSERT_EQ(run_tool(run + "--json " + path("a.json")).exit_code, 0);
  ASSERT_EQ(run_tool(run + "--seed 2 --data zeros --json " + path("b.json")).exit_code, 0);
  expect_the_same("explain " + path("a.json") + ' ' + path("b.json"));
}

TEST_F(Show, Doctor) {
  expect_the_same("doctor --device virtual");
  expect_the_same("doctor --device cpu --no-measure");
}

TEST_F(Show, Selftest) {
  const std::string selftest = "selftest --quick --only detectors";
  expect_the_same(selftest);
  EXPECT_THAT(run_tool("show --details " + path()).output, HasSubstr("**selftest** on"));
}

TEST_F(Show, VerifyPytorch) {
  expect_the_same("verify-pytorch mine --trace " JITTERSCOPE_TEST_DATA
                  "/resnet18_et.json.gz --device virtual:h200");
}

// Its kernels are in its second half.
TEST_F(Show, ACaptureOfATraceThatIsCutSaysSo) {
  std::ifstream stream(JITTERSCOPE_TEST_DATA "/import/resnet50_step_trace.json.gz", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  const auto cut_by = [&](std::size_t bytes) {
    std::ofstream(path("t.json.gz"), std::ios::binary) << whole.substr(0, whole.size() - bytes);
    return run_tool("capture show " + path("t.json.gz"));
  };
  EXPECT_EQ(cut_by(0).exit_code, 0);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{8}, whole.size() / 16}) {
    const Outcome cut = cut_by(bytes);
    EXPECT_EQ(cut.exit_code, 5) << bytes;
    EXPECT_THAT(cut.errors, HasSubstr("the gzip file ends early, after")) << bytes;
    EXPECT_THAT(cut.output, HasSubstr("**not")) << bytes;  // complete
    EXPECT_EQ(run_tool("list " + path("t.json.gz")).exit_code, 5) << bytes;
  }
  const Outcome half = cut_by(whole.size() / 2);
  EXPECT_EQ(half.exit_code, 2);
  EXPECT_EQ(half.output, "");
  EXPECT_THAT(half.errors, HasSubstr("the gzip file ends early, after"));
}

TEST_F(Show, ExplainOfATraceGoesOnWithoutWhatCannotBeReplayed) {
  const auto called = [](const std::string& name, int number, const std::string& inputs, int duration) {
    return fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "{0}", "pid": 1, "tid": 1, "ts": {1}00, "dur": 10, "args": {{{2}}}}},
           {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": {1}02, "dur": 3,
             "args": {{"correlation": {1}}}}},
           {{"ph": "X", "cat": "kernel", "name": "k{1}", "pid": 0, "tid": 7, "ts": {1}20, "dur": {3},
             "args": {{"correlation": {1}, "device": 0, "stream": 7}}}})",
        name, number, inputs, duration);
  };
  const std::string relu =
      R"("Input Dims": [[1048576]], "Input type": ["float"], "Input Strides": [[1]], "Concrete Inputs": [""])";
  const std::string gather =
      R"("Input Dims": [[64, 64], [], [64, 8], []], "Input type": ["float", "Scalar", "long int", "Scalar"],
         "Input Strides": [[64, 1], [], [8, 1], []], "Concrete Inputs": ["", "1", "", "False"])";
  std::ofstream(path("t.json")) << R"({"traceEvents": [)" << called("aten::relu", 1, relu, 10) << ','
                                << called("aten::gather", 2, gather, 30) << ','
                                << called("aten::relu", 3, relu, 20) << "]}";
  const Outcome plan = run_tool("explain --quick --dry-run --device virtual:h200 " + path("t.json"));
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_THAT(test::on_one_line(plan.output),
              HasSubstr("Not replayed: aten::gather ×1; together 50 % of the recorded time of the GPU"));
}

// No simulated GPU has engines.
TEST_F(Show, Engines) {
  EnginesRecord record;
  record.device.id = "cuda:0";
  record.device.name = "NVIDIA H200";
  record.ranking.operation = "conv2d:n=1,c=8,hw=8,k=8,rs=3";
  record.ranking.heuristic = "near";
  record.ranking.imitations = 50;
  std::int64_t wins = 17;
  for (const auto& [tag, median] : {std::pair("fast", 100.0), {"near", 101.0}, {"slow", 110.25}}) {
    RankedEngine engine;
    engine.engine = {tag, Bytes(4096), EngineListing::Source::fallback, "tensor core"};
    engine.autotune_wins = wins--;
    engine.autotune_tries = true;
    Measurement& measurement = engine.result.measurements.emplace_back();
    measurement.time = {microseconds(median), microseconds(median - 1), microseconds(median + 1), 10};
    measurement.repeatability = {microseconds(median), microseconds(median - 0.3), microseconds(median + 0.3),
                                 10};
    record.ranking.engines.push_back(engine);
  }
  record.ranking.engines.push_back(record.ranking.engines.back());
  record.ranking.engines.back().result.measurements.clear();
  record.ranking.engines.back().result.failure = "CUDNN_STATUS_NOT_SUPPORTED";
  write(write_record(record));
  EXPECT_EQ(run_tool("show " + path()).output, engines_table(record));
  EXPECT_EQ(test::validate_json(text()), 0);
}

TEST_F(Show, SeveralFilesAndStandardInput) {
  const Outcome printed = run_tool("run add:count=64Ki --json " + path() + kQuick);
  const Outcome shown = run_tool("show " + path() + " - < " + path());
  EXPECT_EQ(shown.output, printed.output + '\n' + printed.output);
}

TEST_F(Show, WhatIsNoRecordIsSaid) {
  const Outcome missing = run_tool("show " + path("none.json"));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.errors, HasSubstr("none.json: this file does not exist"));
  write("{\"format\": \"jitterscope-record\", ");
  const Outcome cut = run_tool("show " + path());
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.errors, HasSubstr("ends in the middle of a record"));
  EXPECT_THAT(run_tool("show - < /dev/null").errors, HasSubstr("standard input: this file is empty"));
}

}  // namespace
}  // namespace jitterscope
