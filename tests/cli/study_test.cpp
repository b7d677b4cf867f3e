// `study` on a simulated GPU and on this CPU.
#include <gmock/gmock.h>

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
using testing::StartsWith;

const std::string kOnVirtualGpu = " --device virtual:h200 --processes 3 --time-limit 0.2 --min-rounds 6";

json study_of(const std::string& arguments) {
  const Outcome outcome = run_tool("study " + arguments + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  return json::parse(outcome.output);
}

TEST(StudyCommand, EachExampleOfItsHelpCanBeRun) {
  std::istringstream help(run_tool("study --help").output);
  int examples = 0;
  for (std::string line; std::getline(help, line);) {
    const std::string begin = "  jitterscope study ";
    if (!line.starts_with(begin)) continue;
    ++examples;
    const bool has_device = line.find("--device") != std::string::npos;
    const Outcome outcome = run_tool("study " + line.substr(begin.size()) + " --dry-run" +
                                     (has_device ? "" : " --device virtual:h200"));
    EXPECT_EQ(outcome.exit_code, 0) << line << outcome.errors;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("?\n\nfirst:   "), HasSubstr(" fresh processes on ")))
        << line;
  }
  EXPECT_GE(examples, 5);
}

TEST(StudyCommand, AKernelOfOnesOwnIsStudied) {
  const json found =
      study_of("occupancy cuda:@saxpy:saxpy,n=64Ki,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]" +
               kOnVirtualGpu);
  EXPECT_THAT(found.at("alternatives"),
              ElementsAre("block=256", "block=64", "block=128", "block=512", "block=1024"));
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(), HasSubstr("block=256"));
  const Outcome host = run_tool("study compiler --device cpu");
  EXPECT_EQ(host.exit_code, 2);
  EXPECT_THAT(host.errors, HasSubstr("bodies<float> is a kernel for a GPU, and cpu runs none"));
}

TEST(StudyCommand, PrecisionSaysWhatIsFasterAndHowExact) {
  const json found = study_of("precision linear:n=256,in=512,out=512" + kOnVirtualGpu);
  EXPECT_EQ(found.at("study").at("id"), "precision");
  EXPECT_THAT(found.at("alternatives"), ElementsAre("f32", "f64", "tf32", "bf16", "f16"));
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(), HasSubstr(" times as fast as f32 ("));
  std::map<std::string, double> errors;
  for (const json& comparison : found.at("comparisons")) {
    const json& verification = comparison.at("second").at("verification");
    EXPECT_TRUE(verification.at("passed"));
    errors[found.at("alternatives")[comparison.at("alternative").get<std::size_t>()]] =
        verification.at("relative_error");
  }
  // Each is the rounding of its type: 11 bits, 8 bits, none.
  EXPECT_EQ(errors.at("f64"), 0.0);
  EXPECT_GT(errors.at("tf32"), 1e-5);
  EXPECT_LT(errors.at("f16"), 1e-3);
  EXPECT_GT(errors.at("bf16"), 4.0 * errors.at("f16"));
}

TEST(StudyCommand, BatchComparesTheSameWork) {
  const json found = study_of("batch matmul:m=8,n=256,k=256,dtype=f16" + kOnVirtualGpu);
  EXPECT_EQ(found.at("works")[3], 8.0);
  EXPECT_THAT(found.at("study").at("answers")[0].get<std::string>(), HasSubstr("times as fast as at ×1"));
  const json& last = found.at("comparisons").back();
  const double times = last.at("second").at("time").at("median_seconds").get<double>() /
                       last.at("first").at("time").at("median_seconds").get<double>();
  EXPECT_NEAR(last.at("time_ratio").at("ratio").get<double>(), times / 256.0, 0.05 * times / 256.0);
}

TEST(StudyCommand, PinnedSaysFromWhichSizeOnItPays) {
  const Outcome outcome = run_tool("study pinned copy:bytes=64Ki,1Mi,kind=d2h" + kOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output,
              StartsWith("From which size on does pinned host memory pay?\n\n**Copies of 1 MiB"));
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("it pays from 64 KiB on"));
  EXPECT_LT(outcome.output.find("| copy bytes=65536"), outcome.output.find("| copy bytes=1048576"));
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("|  pageable |"), Not(HasSubstr("error"))));
}

TEST(StudyCommand, LayoutOfANetworkIsAskedOfTheLayersThatHaveOne) {
  const Outcome outcome =
      run_tool("study layout resnet18:batch=2,direction=fprop --only '^(layer1.0.*|fc.*)' --processes 2" +
               std::string(" --device virtual:h200 --time-limit 0.1 --min-rounds 4"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              HasSubstr("operations are left out: the study is about convolutions"));
  EXPECT_THAT(outcome.output, HasSubstr("| all together |"));
}

TEST(StudyCommand, RunsOnThisCpuAndIsShownAgain) {
  const std::string file = testing::TempDir() + "/study.json";
  const Outcome outcome = run_tool(
      "study layout conv2d:n=1,c=16,hw=8,k=16,rs=3,pad=1 --device cpu --processes 2 "
      "--time-limit 0.1 --min-rounds 4 --json " +
      file);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, StartsWith("Which layout of images is faster"));
  EXPECT_EQ(run_tool("show " + file).output, outcome.output);
  std::filesystem::remove(file);
}

TEST(StudyCommand, WhatCannotBeAskedIsSaid) {
  const auto refused = [](const std::string& arguments) {
    const Outcome outcome = run_tool("study " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output, "") << arguments;
    return outcome.errors;
  };
  EXPECT_THAT(refused("presicion --device cpu"), HasSubstr("did you mean 'precision'"));
  EXPECT_THAT(refused("layout matmul:m=8,n=8,k=8 --device cpu"),
              HasSubstr("the study layout cannot be asked of matmul:m=8,n=8,k=8: it is about convolutions"));
  EXPECT_THAT(refused("pinned --device cpu"), HasSubstr("no copy between host and device"));
  EXPECT_THAT(refused("engine --device virtual:h200"), HasSubstr("no engines to choose from"));
  EXPECT_THAT(refused("batch --device cpu --processes 0"), HasSubstr("--processes: 1 to 1000"));
  EXPECT_THAT(refused("precision matmul:m=8,n=8,k=8,dtype=f16 --device cpu"), HasSubstr("f16"));
}

TEST(StudyCommand, TheListNamesAll) {
  const Outcome outcome = run_tool("list studies");
  for (const char* id :
       {"layout", "precision", "engine", "batch", "graph", "pinned", "compiler", "occupancy"}) {
    EXPECT_THAT(outcome.output, HasSubstr("- **" + std::string(id) + "**: "));
  }
  EXPECT_EQ(json::parse(run_tool("list studies --json -").output).at("studies").size(), 8u);
}

TEST(CompareCommandVerify, ErrorsStandBesideTimes) {
  const Outcome outcome =
      run_tool("compare matmul:m=64,n=64,k=64 --vary dtype=f32,bf16 --verify" + kOnVirtualGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("|   error |"));
  EXPECT_THAT(run_tool("compare matmul:m=64,n=64,k=64 --vary dtype=f32,bf16" + kOnVirtualGpu).output,
              Not(HasSubstr("error")));
}

}  // namespace
}  // namespace jitterscope
