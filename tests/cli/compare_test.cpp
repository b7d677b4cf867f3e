// `compare` on a simulated GPU and on this CPU.
#include <gmock/gmock.h>

#include <algorithm>
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
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kOnVirtual = " --device virtual:h200 --processes 3 --time-limit 0.2 --min-rounds 6";

json comparison_of(const std::string& arguments) {
  const Outcome outcome = run_tool("compare " + arguments + kOnVirtual + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  return json::parse(outcome.output);
}

std::vector<std::string> verdicts_of(const json& document) {
  std::vector<std::string> verdicts;
  for (const json& comparison : document.at("comparisons")) verdicts.push_back(comparison.at("verdict"));
  return verdicts;
}

TEST(CompareCommand, EachExampleOfItsHelpCanBeRun) {
  std::vector<std::string> examples = test::examples_of_help("compare");
  std::erase_if(examples, [](const std::string& each) { return each.find(".json") != std::string::npos; });
  for (const std::string& example : examples) {
    const Outcome outcome = run_tool("compare " + example + " --dry-run --device virtual:h200");
    EXPECT_EQ(outcome.exit_code, 0) << example << outcome.errors;
    EXPECT_THAT(outcome.output, AllOf(testing::StartsWith("first:   "), HasSubstr(" fresh processes on ")));
  }
  EXPECT_GE(examples.size(), 5u);
}

TEST(CompareCommand, SaysWhichIsFasterFirst) {
  const Outcome outcome = run_tool("compare spin:ns=10000 spin:ns=10500" + kOnVirtual);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::StartsWith("**spin:ns=10500 is slower than spin:ns=10000**: +4."));
  EXPECT_THAT(on_one_line(outcome.output),
              HasSubstr("3 fresh processes, warm burst, virtual H200 (simulated)"));
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
}

TEST(CompareCommand, VariesParametersAndConditions) {
  const json types = comparison_of("add:count=16Mi --vary dtype=f32,f16");
  EXPECT_THAT(types.at("alternatives"), ElementsAre("dtype=f32", "dtype=f16"));
  EXPECT_THAT(verdicts_of(types), ElementsAre("faster"));
  EXPECT_EQ(types.at("comparisons")[0].at("second").at("operation"), "add:count=16777216,dtype=f16");
  const json caches = comparison_of("add:count=1Mi --vary cache=warm,cold");
  EXPECT_THAT(verdicts_of(caches), ElementsAre("slower"));
  EXPECT_EQ(caches.at("comparisons")[0].at("first").at("conditions").at("cache"), "warm");
  EXPECT_EQ(caches.at("comparisons")[0].at("second").at("conditions").at("cache"), "cold");
  const json both = comparison_of("add:count=1Mi --vary dtype=f32,f16 --vary count=1Mi,2Mi");
  EXPECT_THAT(both.at("alternatives"), ElementsAre("dtype=f32, count=1Mi", "dtype=f32, count=2Mi",
                                                   "dtype=f16, count=1Mi", "dtype=f16, count=2Mi"));
  EXPECT_EQ(both.at("comparisons").size(), 3u);
  const json queues = comparison_of("spin:ns=30000 --vary queue=saturated,graph");
  EXPECT_EQ(queues.at("comparisons")[0].at("second").at("conditions").at("queue"), "graph");
}

TEST(CompareCommand, SeveralStatesAreComparedOneByOne) {
  const json document = comparison_of("add:count=1Mi add:count=2Mi --cache warm,cold");
  ASSERT_EQ(document.at("comparisons").size(), 2u);
  EXPECT_EQ(document.at("comparisons")[1].at("first").at("conditions").at("cache"), "cold");
  EXPECT_THAT(verdicts_of(document), ElementsAre("slower", "slower"));
}

TEST(CompareCommand, ExitCodesSayWhatFailIfNames) {
  const std::string slower = "compare spin:ns=10000 spin:ns=10500" + kOnVirtual;
  const std::string faster = "compare spin:ns=10500 spin:ns=10000" + kOnVirtual;
  const std::string same = "compare spin:ns=10000 spin:ns=10000" + kOnVirtual;
  EXPECT_EQ(run_tool(slower).exit_code, 0);
  EXPECT_EQ(run_tool(slower + " --fail-if slower").exit_code, 1);
  EXPECT_EQ(run_tool(slower + " --fail-if different").exit_code, 1);
  EXPECT_EQ(run_tool(faster + " --fail-if slower").exit_code, 0);
  EXPECT_EQ(run_tool(faster + " --fail-if different").exit_code, 1);
  EXPECT_EQ(run_tool(same + " --fail-if different").exit_code, 0);
}

TEST(CompareCommand, TheSeedDecidesOnASimulatedGpu) {
  const std::string arguments = "add:count=1Mi mul:count=1Mi --seed ";
  const json first = comparison_of(arguments + "4");
  EXPECT_EQ(comparison_of(arguments + "4").at("comparisons"), first.at("comparisons"));
  EXPECT_NE(comparison_of(arguments + "5").at("comparisons"), first.at("comparisons"));
}

TEST(CompareCommand, WhatItWroteIsShownAgain) {
  const std::string file = testing::TempDir() + "/jitterscope_comparison.json";
  const Outcome printed = run_tool("compare add:count=1Mi add:count=2Mi --json " + file + kOnVirtual);
  const Outcome shown = run_tool("show " + file);
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_EQ(shown.output, printed.output);
  std::filesystem::remove(file);
}

TEST(CompareCommand, ADryRunStartsNoProcess) {
  const Outcome outcome =
      run_tool("compare add:count=8 mul:count=8 --dry-run --processes 5 --device virtual:h200");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output,
              testing::StartsWith("first:   add:count=8\nagainst: mul:count=8\n5 fresh processes "));
  EXPECT_EQ(outcome.errors, "");
}

TEST(CompareCommand, ANetworkHasATotal) {
  const std::string compare =
      "compare resnet18:layout=nchw,direction=fprop resnet18:layout=nhwc,direction=fprop --only 'layer1|fc'";
  const Outcome outcome = run_tool(compare + kOnVirtual);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr(" All layers: "));
  EXPECT_THAT(outcome.output, HasSubstr("| layer1.0.conv1"));
  const json document = json::parse(run_tool(compare + kOnVirtual + " --json -").output);
  ASSERT_EQ(document.at("totals").size(), 1u);
  EXPECT_EQ(document.at("totals")[0].at("processes"), 3);
}

TEST(CompareCommand, UnlikeWorkIsSaid) {
  const Outcome outcome = run_tool("compare add:count=1Mi add:count=2Mi" + kOnVirtual);
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("add:count=1Mi and add:count=2Mi do different work: "));
  EXPECT_THAT(run_tool("compare add:count=1Mi mul:count=1Mi" + kOnVirtual).output, Not(HasSubstr("unlike")));
}

// Networks that have some names in common, and others of their own.
const std::string kUnlikeNetworks =
    "compare resnet18:direction=fprop resnet50:direction=fprop --only 'layer1|^fc$'" + kOnVirtual;

TEST(CompareCommand, OfNetworksThatShareSomeLayersThereIsNoVerdict) {
  const Outcome outcome = run_tool(kUnlikeNetworks + " --fail-if different");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("--fail-if"));
  const std::string text = on_one_line(outcome.output);
  EXPECT_THAT(text, testing::ContainsRegex(
                        "^.{0,3}[0-9]+ of [0-9]+ layers of resnet50:direction=fprop .B. are left out"));
  EXPECT_THAT(text, testing::ContainsRegex("The [0-9]+ layers in common"));
  EXPECT_THAT(text, Not(HasSubstr("All layers")));
  EXPECT_THAT(text, Not(HasSubstr("(B) is ")));
  EXPECT_THAT(text, HasSubstr("layer1.0.conv3"));  // one of those without partner
  const json document = json::parse(run_tool(kUnlikeNetworks + " --json -").output);
  ASSERT_EQ(document.at("left_out").size(), 1u);
  EXPECT_EQ(document.at("left_out")[0].at("alternative"), 1);
  EXPECT_GT(document.at("left_out")[0].at("layers"), 3);
  EXPECT_EQ(document.at("totals")[0].at("verdict"), "undecided");
  EXPECT_EQ(test::validate_json(document.dump()), 0);
}

TEST(CompareCommand, UnlikeWorkOfLayersOfTheSameNameIsSaid) {
  const std::string text = on_one_line(run_tool(kUnlikeNetworks).output);
  EXPECT_THAT(text, testing::ContainsRegex("[0-9]+ of [0-9]+ layers do different work"));
  EXPECT_THAT(text, HasSubstr("FLOP and "));
}

TEST(CompareCommand, DetailsShowCyclesAndClocksAtAnyWidth) {
  const std::string varied = "compare relu:count=8Mi --vary data=normal,zeros --details" + kOnVirtual;
  const std::string one = run_tool(varied).output;
  EXPECT_THAT(one, AllOf(HasSubstr(" in cycles |"), HasSubstr("MHz |"), HasSubstr("| between processes")));
  const std::string network =
      run_tool(
          "compare resnet18:layout=nchw,direction=fprop resnet18:layout=nhwc,direction=fprop --only 'layer1|fc' "
          "--details" +
          kOnVirtual)
          .output;
  EXPECT_THAT(network, AllOf(HasSubstr(" in cycles |"), HasSubstr("| all layers"), HasSubstr("MHz |")));
}

TEST(CompareCommand, AConditionThatIsMisspeltIsNamed) {
  const Outcome outcome = run_tool("compare add:count=8 --vary cach=warm,cold" + kOnVirtual);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("did you mean 'cache'?"));
  EXPECT_THAT(run_tool("compare add:count=8 --vary dtipe=f16,f32" + kOnVirtual).errors,
              AllOf(HasSubstr("did you mean 'dtype'?"), Not(HasSubstr("'cache'"))));
}

TEST(CompareCommand, AMarginBelowWhatTheTimerTellsApartIsSaid) {
  const Outcome outcome =
      run_tool("compare relu:count=64Ki --vary data=normal,uniform --margin 0.0001%" + kOnVirtual);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("0.0001 % is a smaller margin than "));
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("more processes will not decide it"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("would probably decide")));
}

TEST(CompareCommand, AParameterIsVariedOnce) {
  const Outcome outcome = run_tool("compare resnet18 --vary batch=32,64 --vary batch=128,256" + kOnVirtual);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors,
              HasSubstr("--vary batch: it is varied twice; write all its values in one --vary"));
}

TEST(CompareCommand, WhereItIsUndecidedACallerIsTold) {
  const std::string undecided =
      "compare relu:count=64Ki --vary data=normal,uniform --margin 0.0001% --fail-if slower";
  const Outcome passes = run_tool(undecided + kOnVirtual),
                fails = run_tool(undecided + " --strict" + kOnVirtual);
  EXPECT_EQ(passes.exit_code, 0);
  EXPECT_THAT(passes.errors, HasSubstr("--fail-if slower: undecided, which passes; --strict fails it"));
  EXPECT_EQ(fails.exit_code, 1);
  EXPECT_THAT(fails.errors, HasSubstr("undecided, which fails"));
  const Outcome alone = run_tool("compare relu:count=64Ki --vary data=normal,uniform --strict" + kOnVirtual);
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.errors, HasSubstr("give --fail-if slower, too"));
}

TEST(CompareCommand, RunsOnTheCpu) {
  const Outcome outcome = run_tool(
      "compare relu:count=4Ki relu:count=16Mi --device cpu --processes 2 --time-limit 0.2 --min-rounds 6 "
      "--idle 1,3 --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json comparison = json::parse(outcome.output).at("comparisons").at(0);
  EXPECT_EQ(comparison.at("processes"), 2);
  EXPECT_GT(comparison.at("time_ratio").at("ratio"), 2.0);
}

const std::string kNotAsPytorch = "In f32 a convolution is not as PyTorch runs it";

TEST(CompareCommand, AConvolutionInF32IsSaidNotToBePytorchs) {
  const std::string conv = "compare conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1 --vary dtype=";
  EXPECT_THAT(on_one_line(run_tool(conv + "f32,f16" + kOnVirtual).output), HasSubstr(kNotAsPytorch));
  EXPECT_THAT(on_one_line(run_tool(conv + "f16,f32" + kOnVirtual).output), HasSubstr(kNotAsPytorch));
  // Against what PyTorch runs there is nothing to say; of products f32 is what PyTorch runs.
  EXPECT_THAT(on_one_line(run_tool(conv + "tf32,f32" + kOnVirtual).output), Not(HasSubstr(kNotAsPytorch)));
  EXPECT_THAT(on_one_line(run_tool("compare matmul:m=64,n=64,k=64 --vary dtype=f32,f16" + kOnVirtual).output),
              AllOf(Not(HasSubstr(kNotAsPytorch)), HasSubstr("A simulated GPU has no engines")));
}

TEST(CompareCommand, ANetworkInF32IsSaidNotToBePytorchs) {
  const std::string network = "compare resnet18:direction=fprop --only layer4 --vary dtype=";
  EXPECT_THAT(on_one_line(run_tool(network + "f32,f16" + kOnVirtual).output), HasSubstr(kNotAsPytorch));
  EXPECT_THAT(run_tool("compare resnet18:direction=fprop resnet18:direction=fprop,dtype=f16 --only layer4" +
                       kOnVirtual)
                  .output,
              Not(HasSubstr("as PyTorch runs it")));
}

// Twice the samples take about twice as long, which is no answer to which batch is better.
TEST(CompareCommand, WhereTheBatchVariesASampleIsJudged) {
  const json conv = comparison_of("conv2d:n=32,c=64,hw=28,k=64,rs=3,pad=1 --vary n=32,64");
  EXPECT_EQ(conv.at("samples"), json({32, 64}));
  EXPECT_EQ(conv.at("works"), json({1.0, 2.0}));
  const json& only = conv.at("comparisons")[0];
  for (const auto& [side, samples] : {std::pair{"first", 32.0}, std::pair{"second", 64.0}}) {
    EXPECT_DOUBLE_EQ(only.at(side).at("per_sample_seconds").get<double>(),
                     only.at(side).at("time").at("median_seconds").get<double>() / samples);
  }
  EXPECT_LT(only.at("time_ratio").at("ratio").get<double>(), 1.2);
  EXPECT_GT(only.at("second").at("time").at("median_seconds").get<double>(),
            1.2 * only.at("first").at("time").at("median_seconds").get<double>());

  const std::string varied = "resnet18:direction=fprop --only layer4 --vary batch=32,64";
  const json network = comparison_of(varied);
  const json& total = network.at("totals")[0];
  EXPECT_EQ(network.at("samples"), json({32, 64}));
  EXPECT_DOUBLE_EQ(total.at("second_per_sample_seconds").get<double>(),
                   total.at("second").at("median_seconds").get<double>() / 64.0);
  EXPECT_LT(total.at("time_ratio").at("ratio").get<double>(), 1.2);
  EXPECT_THAT(network.at("notes").dump(), Not(HasSubstr("unlike work")));
  EXPECT_THAT(on_one_line(run_tool("compare " + varied + kOnVirtual).output),
              AllOf(HasSubstr("** per sample, warm burst: "), HasSubstr(" per sample; by layer"),
                    HasSubstr("per sample: the time of a launch over the samples in it")));

  for (const char* other :
       {"add:count=1Mi --vary count=1Mi,2Mi", "conv2d:n=32,c=64,hw=28,k=64,rs=3,pad=1 --vary k=64,128",
        "conv2d:n=32,c=64,hw=28,k=64,rs=3,pad=1 --vary n=32,64 --vary k=64,128"}) {
    EXPECT_FALSE(comparison_of(other).contains("samples")) << other;
  }
}

}  // namespace
}  // namespace jitterscope
