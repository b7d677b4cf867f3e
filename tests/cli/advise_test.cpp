// `advise` on a simulated GPU, whose costs are known, and on this CPU.
#include <gmock/gmock.h>
#include <fstream>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const std::string kShortAdvice = " --time-limit 0.2 --min-rounds 6 --budget 60";
const std::string kAdviceOnVirtualGpu = " --device virtual:h200" + kShortAdvice;

json advice_on(const std::string& arguments) {
  const Outcome outcome = run_tool("advise " + arguments + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  return json::parse(outcome.output);
}

std::string taken_of(const json& record) {
  std::string text;
  for (const json& taken : record.at("recommendations")) {
    text += taken.at("study").get<std::string>() + '=' + taken.at("arm").get<std::string>() + ' ';
  }
  return text;
}

TEST(AdviseCommand, EachExampleOfItsHelpCanBeRun) {
  const std::vector<std::string> examples = test::examples_of_help("advise");
  for (const std::string& example : examples) {
    const bool has_device = example.find("--device") != std::string::npos;
    const Outcome outcome =
        run_tool("advise " + example + " --dry-run" + (has_device ? "" : " --device virtual:h200"));
    EXPECT_EQ(outcome.exit_code, 0) << example << outcome.errors;
    EXPECT_THAT(outcome.output, HasSubstr("tried: ")) << example;
  }
  EXPECT_GE(examples.size(), 4u);
}

TEST(AdviseCommand, TakesTheTypeThatIsFasterAndMeasuresTheSum) {
  const json found = advice_on("linear:n=256,in=1024,out=1024" + kAdviceOnVirtualGpu);
  EXPECT_EQ(taken_of(found), "precision=f16 graph=graph ");  // 3.5 µs are less than a launch takes
  const json& step = found.at("steps")[0].at("remedies");
  EXPECT_EQ(step[0].at("outcome"), step[0].at("arm") == "f16" ? "taken" : "beaten");  // bf16 is as fast
  const double together =
      found.at("together").at("comparisons")[0].at("time_ratio").at("ratio").get<double>();
  EXPECT_LT(together, 0.2);
  const double sustained =
      found.at("sustained").at("comparisons")[0].at("time_ratio").at("ratio").get<double>();
  EXPECT_NEAR(sustained, together, 0.1);
}

TEST(AdviseCommand, TakesOneAfterTheOtherAndWritesLaunchingLast) {
  // 5 µs of kernel behind 3 µs of the host: f16 halves the first, then the host is the limit.
  const json found = advice_on("relu:count=4Mi" + kAdviceOnVirtualGpu);
  EXPECT_EQ(taken_of(found), "precision=f16 graph=graph ");
  EXPECT_EQ(found.at("steps").size(), 2);  // then no study is left
}

// In f64, which no unit for matrices takes, so that nothing is converted to the other layout.
TEST(AdviseCommand, WhereNothingHelpsItSaysSo) {
  const Outcome outcome =
      run_tool("advise conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f64 --allow layout" + kAdviceOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              AllOf(HasSubstr("leave it as it is"), HasSubstr("layout nhwc"), HasSubstr("no gain is shown"),
                    HasSubstr("precision (not among --allow)"), Not(HasSubstr("In PyTorch"))));
}

// As on a real H200, where conversions were a quarter of the time of such convolutions.
TEST(AdviseCommand, AConvolutionThatIsConvertedIsTakenInTheOtherLayout) {
  const Outcome outcome =
      run_tool("advise conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1 --allow layout" + kAdviceOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output), AllOf(HasSubstr("With layout nhwc it is"), HasSubstr("In PyTorch"),
                                                 HasSubstr("channels_last")));
}

TEST(AdviseCommand, WhatIsTooInexactIsNotTaken) {
  const json found =
      advice_on("linear:n=256,in=1024,out=1024 --allow precision --tolerance 0.01%" + kAdviceOnVirtualGpu);
  EXPECT_EQ(taken_of(found), "");
  std::vector<std::string> outcomes;
  for (const json& remedy : found.at("steps")[0].at("remedies")) outcomes.push_back(remedy.at("outcome"));
  EXPECT_THAT(outcomes, Contains("too_inexact"));
}

TEST(AdviseCommand, ForThroughputBatchesGrow) {
  const json found =
      advice_on("matmul:m=8,n=256,k=256,dtype=f16 --allow batch --goal throughput" + kAdviceOnVirtualGpu);
  EXPECT_THAT(taken_of(found), HasSubstr("batch=×"));
  EXPECT_LT(found.at("together").at("comparisons")[0].at("time_ratio").at("ratio").get<double>(), 0.05);
}

TEST(AdviseCommand, ATraceWithOtherTimesSaysWhoseGainsTheseAre) {
  const std::string trace = JITTERSCOPE_TEST_DATA "/import/conv1d_trace.json.gz";
  const json found = advice_on(trace + " --allow precision" + kAdviceOnVirtualGpu);
  EXPECT_THAT(found.at("conclusions").back().get<std::string>(),
              AllOf(HasSubstr("gains are of this device, not of the program"), HasSubstr(", and here ")));
}

TEST(AdviseCommand, OfANetworkTheLayersThatHoldTheTimeAreTried) {
  const std::string file = testing::TempDir() + "advice.json";
  const Outcome outcome = run_tool("advise resnet18:batch=2,direction=fprop --only layer4 --allow precision" +
                                   kAdviceOnVirtualGpu + " --json " + file);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              AllOf(HasSubstr("measured together over"), HasSubstr("tried on "), HasSubstr("all together")));
  EXPECT_EQ(run_tool("show " + file).output, outcome.output);
  const json found = json::parse(std::ifstream(file));
  double tried = 0.0, all = 0.0;
  for (const json& layer : found.at("layers")) {
    all += layer.at("share").get<double>();
    if (layer.at("is_tried")) tried += layer.at("share").get<double>();
  }
  EXPECT_NEAR(all, 1.0, 1e-9);
  EXPECT_GE(tried, 0.9);
}

TEST(AdviseCommand, TypesThatMakeTheOperandsLargerAreNotTried) {
  const std::string plan = run_tool("advise relu:count=1Mi --device virtual:h200 --dry-run").output;
  EXPECT_THAT(plan, AllOf(HasSubstr("tried: precision f16\n"), Not(HasSubstr("f64"))));
}

// What conversions cost at a border is for who asks the study.
TEST(AdviseCommand, ArmsThatConvertAreNotTried) {
  // Weights that are larger than what is converted, so that the types of autocast take less memory, too.
  const std::string plan =
      run_tool("advise linear:n=256,in=1024,out=1024 --device virtual:h200 --dry-run").output;
  EXPECT_THAT(plan, AllOf(HasSubstr("tried: precision f16\n"), Not(HasSubstr("autocast"))));
}

TEST(AdviseCommand, AChainThatCanBeFusedIsTriedSo) {
  const json found =
      advice_on("'chain:[add:count=16Mi][relu:count=16Mi]' --allow fusion,graph" + kAdviceOnVirtualGpu);
  EXPECT_THAT(taken_of(found), HasSubstr("fusion=fused"));
  EXPECT_THAT(found.at("together").at("comparisons")[0].at("second").at("operation"), HasSubstr("fused=1"));
  std::vector<std::string> arms;
  for (const json& remedy : found.at("steps")[0].at("remedies")) arms.push_back(remedy.at("arm"));
  EXPECT_THAT(arms, testing::UnorderedElementsAre("fused", "graph")) << "graphs are a study of their own";
}

TEST(AdviseCommand, TheLongestAreCounted) {
  const Outcome outcome = run_tool("advise relu:count=8Mi --allow layout" + kAdviceOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(
      on_one_line(outcome.output),
      AllOf(HasSubstr("What takes longest, by hardware counters:"),
            HasSubstr("- relu:count=8388608,dtype=f32, 100 % of the time: DRAM moves 64 MiB (100 %")));
}

// A block size, of a kernel that names no reference, on a GPU that runs none.
TEST(AdviseCommand, AKernelsRemediesAreNotTakenUnseen) {
  const Outcome outcome = run_tool(
      "advise 'cuda:@saxpy:saxpy,n=64Ki,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]' "
      "--allow occupancy" +
      kAdviceOnVirtualGpu + " --details");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              AllOf(HasSubstr("This GPU is simulated"), Not(HasSubstr("leave it as it is")),
                    HasSubstr("Studies without a remedy")));
}

TEST(AdviseCommand, ItsHelpHasItsOwnDefaults) {
  const std::string advise = on_one_line(run_tool("advise --help").output);
  EXPECT_THAT(advise, AllOf(Not(HasSubstr("--load ")), Not(HasSubstr("--lock-clocks")),
                            HasSubstr("(default: warm)"), HasSubstr("as --margin")));
  const std::string study = on_one_line(run_tool("study --help").output);
  EXPECT_THAT(study, AllOf(HasSubstr("--load "), HasSubstr("(default: warm)"),
                           HasSubstr("a quarter of --margin"), HasSubstr("so that all take 15 s")));
  EXPECT_THAT(on_one_line(run_tool("run --help").output), HasSubstr("(default: warm,cold)"));
  for (const char* command : {"compare", "engines", "study"}) {
    const std::string help = on_one_line(run_tool(std::string(command) + " --help").output);
    EXPECT_THAT(help, HasSubstr("(default: warm)")) << command;
    EXPECT_THAT(help, Not(HasSubstr("(default: warm,cold)"))) << command;
  }
}

TEST(AdviseCommand, RunsOnThisCpu) {
  const json found = advice_on(
      "conv2d:n=1,c=16,hw=14,k=16,rs=3,pad=1 --device cpu --allow layout --processes 2" + kShortAdvice);
  EXPECT_EQ(found.at("steps")[0].at("remedies").size(), 1);
}

TEST(AdviseCommand, SaysWhatCannotBe) {
  const auto error_of = [](const std::string& arguments) {
    const Outcome outcome = run_tool("advise " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output, "");
    return on_one_line(outcome.errors);
  };
  const std::string relu = "relu:count=1Ki --device virtual:h200 ";
  EXPECT_THAT(error_of(relu + "--goal speed"), HasSubstr("--goal"));
  EXPECT_THAT(error_of(relu + "--allow layuot"), HasSubstr("did you mean 'layout'?"));
  EXPECT_THAT(error_of(relu + "--allow streams"),
              AllOf(HasSubstr("has no remedy to try"), HasSubstr("study streams")));
  EXPECT_THAT(error_of(relu + "--allow loss-scaling"),
              AllOf(HasSubstr("has no remedy to try"), HasSubstr("study loss-scaling"),
                    Not(HasSubstr("did you mean"))));
  EXPECT_THAT(error_of("mine.cu --device virtual:h200"), HasSubstr("cuda:mine.cu:KERNEL"));
  EXPECT_THAT(error_of("mine.cu:scale --device virtual:h200"), HasSubstr("cuda:mine.cu:KERNEL"));
  EXPECT_THAT(error_of(relu + "--processes 1"), HasSubstr("may be chance"));
  EXPECT_THAT(error_of(relu + "--budget 1"), HasSubstr("--budget"));
  EXPECT_THAT(error_of(relu + "--tolerance much"), HasSubstr("--tolerance"));
  EXPECT_THAT(error_of(relu + "--load sustained"), HasSubstr("--load"));
  EXPECT_THAT(error_of(relu + "--cache warm,cold"), HasSubstr("--cache"));
}

TEST(AdviseCommand, AConvolutionBeginsAsPytorchRunsIt) {
  const json found =
      advice_on("conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1 --allow precision" + kAdviceOnVirtualGpu);
  EXPECT_THAT(found.at("layers")[0].at("operation").get<std::string>(), HasSubstr("dtype=tf32"));
  for (const json& remedy : found.at("steps")[0].at("remedies")) EXPECT_NE(remedy.at("arm"), "tf32");
  EXPECT_THAT(found.at("notes").dump(), HasSubstr("f32 convolutions run in tf32, as in PyTorch"));
}

}  // namespace
}  // namespace jitterscope
