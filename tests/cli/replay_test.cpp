// `replay` as a user types it: traces and logs of programs, run again on a simulated GPU.
#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <string>

#include "command.hpp"

namespace jitterscope::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// On one line, without the indentation of list items.
std::string in_one_line(const std::string& text) {
  return std::regex_replace(on_one_line(text), std::regex(" +"), " ");
}

const std::string kOnce = " --device virtual:quiet --processes 1 --top 3";
const std::string kTraces = JITTERSCOPE_TEST_DATA "/import/";

std::string operator_event(int number, const std::string& name, const std::string& size) {
  const std::string begin = std::to_string(100 * number);
  return R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":1,"tid":1,"ts":)" + begin +
         R"(,"dur":50,"args":{"Input Dims":[[)" + size + "],[" + size +
         R"(],[]],"Input type":["float","float","Scalar"],"Input Strides":[[1],[1],[]],"Concrete Inputs":["","","1"]}},)"
         R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":)" +
         begin + R"(,"dur":1,"args":{"correlation":)" + std::to_string(number) + "}},";
}

std::string kernel_event(int number, const std::string& kernel, const std::string& duration) {
  return R"({"ph":"X","cat":"kernel","name":")" + kernel + R"(","pid":0,"tid":7,"ts":)" +
         std::to_string(100 * number + 20) + R"(,"dur":)" + duration + R"(,"args":{"correlation":)" +
         std::to_string(number) + "}}";
}

class Replay : public WithFolder {
 protected:
  // One sum that ran the kernel of the simulated GPU, one that ran another, and a kernel of nobody.
  std::string written_trace() {
    std::ofstream(path("t.json")) << R"({"traceEvents":[)" << operator_event(1, "aten::add", "1048576")
                                  << kernel_event(1, "virtual_add", "5") << ','
                                  << operator_event(2, "aten::add", "2097152")
                                  << kernel_event(2, "theirs", "4") << ','
                                  << kernel_event(3, "triton_poi_fused_0", "1") << "]}";
    return path("t.json");
  }
};

TEST_F(Replay, TheShareComesFirstAndOtherKernelsEndTheAccount) {
  const Outcome outcome = run_tool("replay " + written_trace() + kOnce + " --in-sequence --json " + path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const std::string said = in_one_line(outcome.output);
  EXPECT_THAT(said,
              StartsWith("90 % of 10.00 µs of recorded GPU time can be replayed; 10 % fused Triton kernels"));
  EXPECT_THAT(said, AllOf(HasSubstr("other kernels"), HasSubstr("In sequence here 2 of 2 calls"),
                          HasSubstr("does not tell the program's clock, data")));
  EXPECT_EQ(validate_json(text()), 0);
  EXPECT_EQ(run_tool("show " + path()).output, outcome.output);
  EXPECT_THAT(run_tool("show --details " + path()).output,
              AllOf(HasSubstr("instrument"), HasSubstr("process")));
}

TEST_F(Replay, OnlyMatchingKernelsAreReplayed) {
  const Outcome one = run_tool("replay " + written_trace() + kOnce + " --kernel ^virtual_");
  EXPECT_THAT(in_one_line(one.output),
              AllOf(HasSubstr("50 % in the 1 operation below"), Not(HasSubstr("other kernels"))));
  const Outcome none = run_tool("replay " + written_trace() + kOnce + " --kernel wgrad");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.errors, AllOf(HasSubstr("--kernel wgrad: no kernel"), HasSubstr("virtual_add")));
  EXPECT_THAT(run_tool("replay " + written_trace() + kOnce + " --kernel '('").errors,
              HasSubstr("--kernel: '('"));
}

TEST_F(Replay, ATraceOfAnotherGpuIsComparedButNotTakenApart) {
  const Outcome outcome = run_tool("replay " + kTraces + "resnet18_trace.json.gz" + kOnce);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(in_one_line(outcome.output),
              AllOf(HasSubstr("another GPU"), HasSubstr("times are compared, but not taken apart")));
}

TEST_F(Replay, ALogWithoutTimesIsRunAgainAndSaysSo) {
  const Outcome outcome = run_tool("replay " JITTERSCOPE_TEST_DATA "/resnet18_cublaslt_heur.log" + kOnce);
  EXPECT_THAT(in_one_line(outcome.output),
              AllOf(HasSubstr("recorded calls can be replayed"), HasSubstr("holds no GPU times")))
      << outcome.errors;
}

TEST_F(Replay, AnExecutionTraceConnectsTheCallsOfTheSameStepOnly) {
  const std::string trace = kTraces + "bert_step_trace.json.gz", flow = kTraces + "bert_et.json.gz",
                    other = kTraces + "mobilenet_v2_et.json.gz";
  const Outcome joined = run_tool("replay " + trace + kOnce + " --in-sequence --execution-trace " + flow);
  EXPECT_THAT(in_one_line(joined.output),
              AllOf(HasSubstr("share memory with earlier ones"), HasSubstr("which says what they read")))
      << joined.errors;
  EXPECT_THAT(run_tool("replay " + trace + kOnce + " --in-sequence --execution-trace " + other).errors,
              HasSubstr("give the execution trace of the same step"));
  EXPECT_THAT(run_tool("replay " + trace + kOnce + " --execution-trace " + flow).errors,
              HasSubstr("add --in-sequence"));
  EXPECT_THAT(run_tool("run " + trace + " --device virtual:quiet --execution-trace " + flow).errors,
              HasSubstr("add --in-sequence"));
}

TEST_F(Replay, WhatNoProgramRecordedIsRefused) {
  EXPECT_THAT(run_tool("replay resnet18" + kOnce).errors, HasSubstr("resnet18 is no file"));
  EXPECT_THAT(run_tool("replay " + path("none.json") + kOnce).errors, HasSubstr("none.json"));
  EXPECT_EQ(run_tool("replay " + path("none.json") + kOnce).exit_code, 2);
}

}  // namespace
}  // namespace jitterscope::test
