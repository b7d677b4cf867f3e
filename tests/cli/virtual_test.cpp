// The whole tool on a simulated GPU.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kConvolution = "conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc";

TEST(VirtualTool, RunsAnOperationAndSaysThatItIsSimulated) {
  const Outcome outcome = run_tool(std::string("run ") + kConvolution + " --device virtual:h200");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr(", warm burst, 17"));
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr(" MHz, virtual H200 (simulated), jitterscope "));
  EXPECT_THAT(outcome.output, HasSubstr("| cold burst |"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("| warm sustained |")));
  EXPECT_THAT(outcome.errors, HasSubstr("(simulated)"));
}

TEST(VirtualTool, PointsToTheSustainedLoadThatItDoesNotMeasure) {
  const Outcome hot = run_tool(std::string("run ") + kConvolution + " --device virtual:h200");
  EXPECT_THAT(hot.output, HasSubstr("**sustained_differs**: +"));
  EXPECT_THAT(hot.output, HasSubstr(" of 700 W: measure"));
  EXPECT_THAT(run_tool("run copy:bytes=64Mi --device virtual:h200").output, Not(HasSubstr("sustained")));
  EXPECT_THAT(run_tool(std::string("run ") + kConvolution + " --device virtual:quiet").output,
              Not(HasSubstr("sustained")));
  const Outcome both =
      run_tool(std::string("run ") + kConvolution + " --device virtual:h200 --load burst,sustained");
  EXPECT_THAT(both.output, HasSubstr("| warm sustained |"));
  EXPECT_THAT(both.output, Not(HasSubstr("sustained_differs")));
}

// The last moments without pause come after all that is measured.
TEST(VirtualTool, WhatPointsToTheSustainedLoadMovesNoNumber) {
  const auto medians = [](const std::string& flags) {
    std::vector<double> times;
    const std::string run = std::string("run ") + kConvolution + " --device virtual:h200 --json -";
    const json document = json::parse(run_tool(run + flags).output);
    for (const json& row : document.at("summary")) times.push_back(row.at("median_seconds"));
    return times;
  };
  EXPECT_EQ(medians(""), medians(" --load burst"));
}

json run_json(const std::string& arguments) {
  const Outcome outcome = run_tool("run " + arguments + " --json -");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  json document = json::parse(outcome.output);
  document.at("environment").erase("time");
  document.at("environment").erase("command_line");
  document.at("environment").erase("host");
  return document;
}

TEST(VirtualTool, GivesTheSameForTheSameSeed) {
  const std::string arguments = "add:count=1Mi --device virtual:hostile,without=thermal";
  const json first = run_json(arguments + " --seed 4");
  EXPECT_EQ(run_json(arguments + " --seed 4"), first);
  EXPECT_NE(run_json(arguments + " --seed 5").at("results"), first.at("results"));
}

TEST(VirtualTool, RunsAWholeModel) {
  const Outcome outcome = run_tool("run resnet18 --device virtual:h200 --no-ceilings --top all");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("|  65 | conv1.wgrad"));
  const Outcome page = run_tool("run resnet18 --device virtual:h200 --no-ceilings");
  EXPECT_THAT(page.output, HasSubstr("The 10 slowest of 65 operations; the other 55 take "));
  EXPECT_LE(std::ranges::count(page.output, '\n'), 42) << page.output;
}

TEST(VirtualTool, Verifies) {
  const Outcome outcome =
      run_tool("run matmul:m=64,n=64,k=64,dtype=bf16 --device virtual:quiet --verify --load burst");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
}

TEST(VirtualTool, TimesByEveryMethodWithATracerToo) {
  const Outcome outcome =
      run_tool("methods matmul:m=512,n=512,k=512,dtype=bf16 --device virtual:h200 --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json document = json::parse(outcome.output);
  EXPECT_EQ(document.at("reference"), "cupti");
  for (const json& method : document.at("methods")) EXPECT_EQ(method.at("time_seconds").size(), 7u) << method;
}

TEST(VirtualTool, TheDoctorSaysWhatThePresetWithholds) {
  const Outcome outcome = run_tool("doctor --device virtual --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  EXPECT_THAT(run_tool("doctor --device virtual --no-measure").output, HasSubstr("is simulated"));
}

TEST(VirtualTool, NamesTheNearestPresetAndMechanism) {
  const Outcome preset = run_tool("run add:count=4 --device virtual:labtop");
  EXPECT_EQ(preset.exit_code, 2);
  EXPECT_THAT(preset.errors, HasSubstr("laptop"));
  const Outcome mechanism = run_tool("run add:count=4 --device virtual:h200,without=noise+spiks");
  EXPECT_EQ(mechanism.exit_code, 2);
  EXPECT_THAT(mechanism.errors, HasSubstr("did you mean 'spikes'?"));
}

}  // namespace
}  // namespace jitterscope
