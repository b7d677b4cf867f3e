// The whole tool on a simulated GPU.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;

constexpr const char* kConvolution = "conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc";

TEST(VirtualTool, RunsAnOperationAndSaysThatItIsSimulated) {
  const Outcome outcome = run_tool(std::string("run ") + kConvolution + " --device virtual:h200");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("(simulated) (virtual:h200)"));
  EXPECT_THAT(outcome.output, HasSubstr("cold sustained"));
  EXPECT_THAT(outcome.errors, HasSubstr("(simulated)"));
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
  const Outcome outcome = run_tool("run resnet18 --device virtual:h200 --no-ceilings");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("|  65 | conv1.wgrad"));
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
