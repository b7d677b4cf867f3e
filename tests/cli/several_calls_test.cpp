// Files that hold several calls of one operation, and files of which little or nothing can be timed.
#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::kQuick;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A profiler trace as PyTorch writes it: an operator launches one kernel of 5 µs.
class Trace {
 public:
  void add_products(int count) {
    for (int i = 0; i < count; ++i) {
      add("aten::mm",
          json::parse(R"({"Concrete Inputs": ["", ""], "Input type": ["c10::BFloat16", "c10::BFloat16"],
                                      "Input Strides": [[512, 1], [1, 512]],
                                      "Input Dims": [[64, 512], [512, 1024]]})"));
    }
  }
  /// Which only PyTorch has.
  void add_sums(int count) {
    for (int i = 0; i < count; ++i) {
      add("aten::cumsum",
          json::parse(R"({"Concrete Inputs": ["", "1", ""], "Input type": ["float", "Scalar", ""],
                                          "Input Strides": [[1024, 1], [], []],
                                          "Input Dims": [[8, 1024], [], []]})"));
    }
  }
  void write(const std::string& file) const {
    std::ofstream(file) << json{{"schemaVersion", 1}, {"traceEvents", events_}};
  }

 private:
  void add(const std::string& name, json arguments) {
    const int number = ++count_;
    arguments["External id"] = number;
    const auto event = [&](const char* category, const std::string& called, int begin, int duration,
                           const json& with) {
      events_.push_back({{"ph", "X"},
                         {"cat", category},
                         {"name", called},
                         {"pid", 1},
                         {"tid", 1},
                         {"ts", 1000 + 100 * number + begin},
                         {"dur", duration},
                         {"args", with}});
    };
    const json launch = {{"External id", number}, {"correlation", number}, {"device", 0}, {"stream", 7}};
    event("cpu_op", name, 0, 30, arguments);
    event("cuda_runtime", "cudaLaunchKernel", 5, 3, launch);
    event("kernel", "k", 40, 5, launch);
  }

  json events_ = json::array();
  int count_ = 0;
};

class SeveralCalls : public test::WithFolder {
 protected:
  std::string trace(int products, int sums) {
    Trace trace;
    trace.add_products(products);
    trace.add_sums(sums);
    trace.write(path("trace.json"));
    return path("trace.json");
  }
  json run_of(const std::string& arguments) {
    const Outcome outcome = run_tool("run " + arguments + kQuick + " --json -");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    EXPECT_EQ(test::validate_json(outcome.output), 0);
    return json::parse(outcome.output);
  }
};

TEST_F(SeveralCalls, OfOneOperationAreSummedUpInEveryOutput) {
  const std::string file = trace(40, 0);
  const json record = run_of(file);
  const double one = record.at("results")[0].at("measurements")[0].at("time").at("median_seconds");
  EXPECT_EQ(record.at("results").size(), 1u);
  EXPECT_NEAR(record.at("totals")[0].at("seconds").get<double>(), 40 * one, 1e-9);
  EXPECT_EQ(record.at("totals")[0].at("calls"), 40);
  EXPECT_NEAR(record.at("summary")[0].at("all_calls_seconds").get<double>(), 40 * one, 1e-9);
  const Outcome table = run_tool("run " + file + " --json " + path() + kQuick);
  EXPECT_THAT(table.output, AllOf(HasSubstr(" for all 40 calls"), HasSubstr("\nOne of the 40 calls: "),
                                  HasSubstr(" all 40 calls |")));
  EXPECT_EQ(run_tool("show " + path()).output, table.output);
  const std::string csv = run_tool("run " + file + " --csv -" + kQuick).output;
  EXPECT_THAT(csv, AllOf(HasSubstr(",calls,"), HasSubstr("all_calls_seconds")));
}

TEST_F(SeveralCalls, OfALayerOfANetworkAreSummedUpToo) {
  const json record = run_of("gpt2:direction=fprop,dtype=bf16 --only mlp.c_fc");
  EXPECT_EQ(record.at("results").size(), 1u);
  EXPECT_EQ(record.at("totals")[0].at("calls"), 12);
}

TEST_F(SeveralCalls, AreComparedAsAWhole) {
  const std::string flags =
      " --only mlp.c_fc --device virtual:h200 --processes 2 --time-limit 0.1 --min-rounds 6";
  const Outcome outcome = run_tool("compare gpt2:direction=fprop --vary dtype=f32,bf16" + flags);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              AllOf(HasSubstr(" All 12 calls: "), HasSubstr("Times in rows are for one call")));
}

TEST_F(SeveralCalls, AreAdvisedOnAsAWhole) {
  const Outcome outcome = run_tool(
      "advise resnet18:batch=1,direction=fprop --only 'layer1.*conv' --allow graph --time-limit 0.1 "
      "--min-rounds 6 "
      "--processes 2 --budget 5 --device virtual:h200 --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json record = json::parse(outcome.output);
  const json& step = record.at("steps")[0].at("comparison");
  const double one = step.at("comparisons")[0].at("first").at("time").at("median_seconds");
  EXPECT_NEAR(step.at("totals")[0].at("first").at("median_seconds").get<double>() / one, 4.0, 0.05);
}

TEST_F(SeveralCalls, OfWhichOneIsExplainedAreCounted) {
  const Outcome outcome = run_tool(
      "explain gpt2:direction=fprop,dtype=bf16 --only mlp.c_fc --device virtual:h200 --max-time 2 "
      "--factors cache "
      "--json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  EXPECT_EQ(json::parse(outcome.output).at("calls"), 12);
  const Outcome plan =
      run_tool("explain gpt2:direction=fprop --only mlp.c_fc --device virtual:h200 --dry-run");
  EXPECT_THAT(on_one_line(plan.output), HasSubstr(" with one of the 12 calls of matmul:"));
}

TEST_F(SeveralCalls, OfAFileOfWhichMostIsNotTimedGiveNoLineToQuote) {
  const Outcome outcome = run_tool("run " + trace(2, 8) + kQuick);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              HasSubstr("Only 2 of the 10 calls of the record and 20 % of its GPU "
                        "time are timed, so there is no time of the whole."));
  EXPECT_THAT(outcome.output, AllOf(Not(HasSubstr("for all 2 calls (")), HasSubstr("One of the 2 calls: ")));
}

// Each ended in a segmentation fault, or planned nothing.
TEST_F(SeveralCalls, OfWhichNoneCanBeTimedAreNamedWithTheReason) {
  const std::string file = trace(0, 3);
  for (const char* command :
       {"run", "run --dry-run", "run --processes 2", "run --in-sequence", "run --only cumsum", "run --verify",
        "run --save kept", "advise", "advise --dry-run", "study graph", "compare --vary queue=eager,graph"}) {
    const Outcome outcome = run_tool(std::string(command) + " " + file + " --device virtual:h200");
    EXPECT_EQ(outcome.exit_code, 2) << command << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr("has no torch provider")) << command;
    EXPECT_EQ(outcome.output, "") << command;
  }
  EXPECT_THAT(run_tool("run " + file + " --device virtual:h200").errors,
              HasSubstr("can be timed here: aten::cumsum ×3 (only PyTorch has this operator: "));
  ::setenv("JITTERSCOPE_TORCH_PLUGIN", "/nowhere.so", 1);
  const Outcome missing = run_tool("run " + file + " --device cpu");
  ::unsetenv("JITTERSCOPE_TORCH_PLUGIN");
  EXPECT_EQ(missing.exit_code, 3) << missing.errors;
  EXPECT_THAT(missing.errors, HasSubstr("the plug-in for PyTorch is not there"));
  const Outcome builtin = run_tool("run " + file + " --provider builtin --device cpu");
  EXPECT_EQ(builtin.exit_code, 2);
  EXPECT_THAT(builtin.errors, HasSubstr("--provider builtin was asked for"));
  for (const char* command : {"explain", "study precision"}) {
    EXPECT_EQ(run_tool(std::string(command) + " " + file + " --device virtual:h200").exit_code, 2) << command;
  }
}

// Nothing that a program records gives a simulated GPU the operators of PyTorch.
TEST(ATrace, OnASimulatedGpuNoOtherRecordIsAdvised) {
  const std::string trace = JITTERSCOPE_TEST_DATA "/import/resnet18_trace.json.gz";
  EXPECT_THAT(run_tool("list " + trace).output, HasSubstr("ExecutionTraceObserver"));
  const Outcome outcome =
      run_tool("run " + trace +
               " --only 'foreach|relu' --details --time-limit 0.1 --min-rounds 2 --no-ceilings "
               "--device virtual:h200");
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("does not record the tensors of a list"),
                                    testing::Not(HasSubstr("ExecutionTraceObserver"))));
}

TEST(ATrace, ADryRunNamesItsRanges) {
  const std::string trace = JITTERSCOPE_TEST_DATA "/bert_trace.json.gz";
  const std::string text =
      test::on_one_line(run_tool("run " + trace + " --device virtual:h200 --dry-run").output);
  EXPECT_THAT(text, HasSubstr("Ranges that the program named: "));
  EXPECT_THAT(text, HasSubstr("`jitterscope capture show " + trace + " --ranges NAME`"));
}

TEST_F(SeveralCalls, ADryRunSaysWhatIsLeftOut) {
  EXPECT_THAT(run_tool("run " + trace(2, 3) + " --device virtual:h200 --dry-run").output,
              AllOf(testing::StartsWith("1 operation on "), HasSubstr("aten::cumsum ×3")));
}

}  // namespace
}  // namespace jitterscope
