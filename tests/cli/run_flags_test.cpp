// Flags of `run` that meet one another, and what is told before anything is measured.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using test::without_breaks;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kShort =
    " --device virtual:h200 --cache warm --load burst --min-rounds 6 --time-limit 0.1 --no-ceilings";

TEST(FreshDataFlag, IsSaidInTheTableAndInTheJson) {
  const Outcome table = run_tool("run add:count=4Mi --fresh-data" + kShort);
  EXPECT_THAT(table.output, HasSubstr("warm burst fresh"));
  const Outcome outcome = run_tool("run add:count=4Mi --fresh-data --json -" + kShort);
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json measured = json::parse(outcome.output).at("results").at(0).at("measurements").at(0);
  EXPECT_EQ(measured.at("conditions").at("fresh_data"), true);
}

double median_of(const std::string& arguments) {
  const json document = json::parse(run_tool("run " + arguments + " --json -" + kShort).output);
  return document.at("results").at(0).at("measurements").at(0).at("time").at("median_seconds");
}

TEST(FreshDataFlag, OutgrowsTheCacheWithSmallOperandsToo) {
  const std::string add = "add:count=16Ki";
  EXPECT_GT(median_of(add + " --fresh-data"), 1.2 * median_of(add));
}

TEST(FreshDataFlag, WhatItCannotBeTogetherWithIsRefused) {
  EXPECT_THAT(run_tool("run resnet18 --fresh-data --in-sequence" + kShort).errors,
              HasSubstr("--in-sequence"));
  EXPECT_THAT(run_tool("run add:count=4Mi --fresh-data --queue graph" + kShort).errors, HasSubstr("--queue"));
  const Outcome small = run_tool("run add:count=64 --fresh-data --json -" + kShort);
  EXPECT_EQ(small.exit_code, 2);
  EXPECT_THAT(small.output, HasSubstr("4096 are made at most"));
}

TEST(KernelsFlag, WithoutATracerTheTimesStay) {
  const std::string run =
      "run relu:count=64Ki --kernels --device cpu --cache warm --load burst --no-ceilings";
  const Outcome outcome = run_tool(run);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("| warm burst |"));
  EXPECT_THAT(outcome.output, HasSubstr("No kernels of #1: "));
  EXPECT_THAT(outcome.output, Not(HasSubstr("Failed:")));
  EXPECT_EQ(test::validate_json(run_tool(run + " --json -").output), 0);
}

TEST(PlacementFlag, MovesOperandsWhereTheDeviceGivesOutMemory) {
  const Outcome moved =
      run_tool("run copy:bytes=4Mi --placement 3 --device virtual:h200 --load burst --no-ceilings");
  EXPECT_THAT(moved.exit_code, testing::AnyOf(0, 4)) << moved.errors;
  EXPECT_THAT(moved.output, HasSubstr("Operands stay in placement 3"));
  const Outcome cpu = run_tool("run copy:bytes=4Mi --placement 3 --device cpu");
  EXPECT_EQ(cpu.exit_code, 2);
  EXPECT_THAT(cpu.errors, HasSubstr("the operating system"));
  const Outcome negative = run_tool("run copy:bytes=4Mi --placement=-1 --device virtual");
  EXPECT_EQ(negative.exit_code, 2);
  EXPECT_THAT(negative.errors, HasSubstr("--placement"));
}

TEST(RunFlags, TwoDocumentsDoNotMixOnStdout) {
  const Outcome outcome = run_tool("run add:count=4Mi --json - --csv -" + kShort);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, HasSubstr("--json, --csv and --csv-launches would mix on stdout"));
}

TEST(CsvFlags, ASweepGivesARowForEachTimeAndLaunchesOnRequest) {
  const std::string sweep = "run add:count=4Ki..16Ki*2" + kShort;
  const Outcome rows = run_tool(sweep + " --csv -");
  EXPECT_THAT(rows.output, testing::StartsWith("operation,calls,count,dtype,"));
  EXPECT_EQ(std::ranges::count(rows.output, '\n'), 1 + 3);
  const Outcome launches = run_tool(sweep + " --csv-launches -");
  EXPECT_THAT(launches.output, testing::StartsWith("operation,layer,cache,"));
  EXPECT_GT(std::ranges::count(launches.output, '\n'), 1 + 3 * 6);
}

TEST(PageFlags, SayHowMuchIsShown) {
  const std::string sweep = "run add:count=4Ki..16Ki*2" + kShort;
  EXPECT_THAT(run_tool(sweep).output, HasSubstr("|   1 | add count=4096"));
  const Outcome slowest = run_tool(sweep + " --top 1");
  EXPECT_THAT(slowest.output, HasSubstr("|   3 | add count=16384"));
  EXPECT_THAT(slowest.output, HasSubstr("The 1 slowest of 3 operations; the other 2 are left out"));
  EXPECT_THAT(run_tool(sweep + " --findings none").output, Not(HasSubstr("indings")));
  EXPECT_THAT(run_tool(sweep + " --findings all").output, HasSubstr("Remedy: "));
  EXPECT_THAT(run_tool(sweep + " --details").output, HasSubstr("first call"));
  EXPECT_THAT(run_tool(sweep).output, Not(HasSubstr("first call")));
}

TEST(PageFlags, OddValuesAreRefused) {
  for (const char* number : {"0", "-1", "ten", "1.5", "1e3"}) {
    const Outcome outcome = run_tool("run resnet18 --top=" + std::string(number) + kShort);
    EXPECT_EQ(outcome.exit_code, 2) << number;
    EXPECT_THAT(outcome.errors, HasSubstr("a number of operations, or all")) << number;
  }
  EXPECT_THAT(run_tool("run resnet18 --findings al" + kShort).errors, HasSubstr("did you mean 'all'?"));
}

std::string plan_of(const std::string& flags) {
  std::string plan = run_tool("run resnet18:direction=fprop --dry-run" + flags + kShort).output;
  std::ranges::replace(plan, '\n', ' ');
  return plan;
}

// The upper end of "This takes about 12 ms to 1.5 s on a free core", in milliseconds.
double most_milliseconds(const std::string& arguments) {
  std::string plan = run_tool(arguments + " --device virtual:h200 --dry-run").output;
  std::ranges::replace(plan, '\n', ' ');
  const std::regex range("takes about [0-9. a-zµ]* to ([0-9.]+) (µs|ms|s|min)( ([0-9]+) s)? on a free core");
  std::smatch found;
  if (!std::regex_search(plan, found, range)) {
    ADD_FAILURE() << plan;
    return 0.0;
  }
  const std::string unit = found[2];
  const double number = std::stod(found[1]);
  if (unit == "min") return (number * 60.0 + std::stod(found[4])) * 1e3;
  return number * (unit == "s" ? 1e3 : unit == "ms" ? 1.0 : 1e-3);
}

TEST(DryRun, OfASimulatedGpuBothTimesAreSaid) {
  const std::string plan = without_breaks(run_tool("run resnet18 --device virtual:h200 --dry-run").output);
  EXPECT_THAT(plan, AllOf(HasSubstr("on a free core, and is "), HasSubstr(" of simulated time.")));
  EXPECT_THAT(without_breaks(run_tool("run resnet18 --device cpu --dry-run").output),
              AllOf(HasSubstr("This takes"), Not(HasSubstr("free core"))));
  EXPECT_THAT(without_breaks(run_tool("explain add:count=8 --device virtual:h200 --dry-run").output),
              HasSubstr("of simulated time, which pass in a fraction of it"));
}

// The launches that are simulated take the time, and not the seconds that they last: 14 operations took 10 to
// 60 ms in bursts on a free core, and 20 ms (launches of 5 ms) to 1.3 s (of 0.9 µs) under a sustained load.
TEST(DryRun, OfASimulatedGpuTheTimeFollowsTheLaunches) {
  const double burst = most_milliseconds("run spin:ns=5000000 --load burst --cache warm"),
               long_ones = most_milliseconds("run spin:ns=5000000 --load sustained --cache warm"),
               short_ones = most_milliseconds("run add:count=1Ki --load sustained --cache warm");
  EXPECT_GT(burst, 20.0);
  EXPECT_LT(burst, 5'000.0);
  EXPECT_GT(long_ones, 20.0);
  EXPECT_LT(long_ones, 5'000.0);
  EXPECT_GT(short_ones, 1'300.0);
  EXPECT_GT(short_ones, 5.0 * long_ones);
}

TEST(DryRun, OfASimulatedGpuTheTimeCountsProcessesAndSides) {
  const std::string pair = "compare add:count=1Mi mul:count=1Mi --processes ";
  const double two = most_milliseconds(pair + "2"), eight = most_milliseconds(pair + "8");
  EXPECT_NEAR(eight / two, 4.0, 0.3);
}

TEST(DryRun, CountsTheProcesses) {
  const std::string plan = plan_of(" --save kept");
  EXPECT_THAT(plan, HasSubstr("In each of 8 fresh processes."));
  EXPECT_THAT(plan_of(" --processes 2"), HasSubstr("In each of 2 fresh processes."));
  EXPECT_THAT(plan_of(""), Not(HasSubstr("fresh processes")));
}

TEST(DryRun, SaysWhereTheCpuStandsInForAGpu) {
  EXPECT_THAT(run_tool("run add:count=4 --device cpu --dry-run").output, Not(HasSubstr("No NVIDIA GPU")));
}

TEST(DryRun, CountsLoopsKernelsAndTheSequence) {
  const std::string plain = plan_of("");
  EXPECT_THAT(plain, Not(HasSubstr("loops")));
  EXPECT_THAT(plan_of(" --iterations 1,1000"), HasSubstr("First come loops of 1, 1000 launches"));
  EXPECT_THAT(plan_of(" --kernels"), HasSubstr("Then the kernels of one launch."));
  EXPECT_THAT(plan_of(" --in-sequence"), HasSubstr("calls in sequence."));
  const auto time = [](const std::string& plan) { return plan.substr(plan.find("This takes about ")); };
  for (const char* flags : {" --iterations 1,1000", " --kernels", " --in-sequence"}) {
    EXPECT_NE(time(plan_of(flags)).substr(0, 90), time(plain).substr(0, 90)) << flags;
  }
}

TEST(RunFlags, AReferenceClockIsPrintedAndMustBeAClock) {
  const std::string run =
      "run matmul:m=2048,n=2048,k=2048,dtype=f16 --device virtual:h200 --cache warm "
      "--no-ceilings --min-rounds 20 ";
  const test::Outcome outcome = test::run_tool(run + "--reference-clock 1500");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::HasSubstr("Times at 1500 MHz:"));
  const test::Outcome slip = test::run_tool(run + "--reference-clock 1410e6");
  EXPECT_EQ(slip.exit_code, 2);
  EXPECT_THAT(slip.errors, testing::HasSubstr("in MHz, from 1 to 20000, as 1410"));
}

TEST(RunFlags, AConvolutionInF32IsSaidNotToBePytorchs) {
  const std::string conv = "run conv2d:n=8,c=64,hw=28,k=64,rs=3,pad=1";
  const std::string sentence = "In f32 a convolution is not as PyTorch runs it";
  EXPECT_THAT(test::on_one_line(run_tool(conv + test::kQuick).output), testing::HasSubstr(sentence));
  for (const std::string& other :
       {conv + ",dtype=tf32" + test::kQuick, "run resnet18:direction=fprop --only conv1" + test::kQuick,
        conv + " --device cpu --dry-run"}) {
    EXPECT_THAT(test::on_one_line(run_tool(other).output), testing::Not(testing::HasSubstr(sentence)))
        << other;
  }
}

}  // namespace
}  // namespace jitterscope
