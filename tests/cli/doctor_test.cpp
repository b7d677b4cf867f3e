#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using test::Outcome;
using test::run_tool;
using testing::HasSubstr;

TEST(Doctor, MeasuresTheNoiseFloorAndWritesValidJson) {
  const Outcome outcome = run_tool("doctor --device cpu --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const nlohmann::json floor = nlohmann::json::parse(outcome.output).at("noise_floor");
  ASSERT_EQ(floor.at("results").size(), 2u);
  // A spin of 10 us cannot be shorter; a busy machine may make it longer.
  EXPECT_GT(floor.at("results").at(0).at("median_seconds"), 9e-6);
  EXPECT_GT(floor.at("results").at(1).at("rounds"), 5);
}

// As `run` measures them: in other places from block to block, else each interval says how much places might
// do.
TEST(Doctor, OperandsOfTheNoiseFloorArePlacedAnew) {
  const Outcome outcome = run_tool("doctor --device virtual:h200 --json -");
  const nlohmann::json floor = nlohmann::json::parse(outcome.output).at("noise_floor");
  for (const nlohmann::json& result : floor.at("results")) {
    EXPECT_LT(result.at("relative_precision"), 0.005) << result;
  }
}

TEST(Doctor, WithoutMeasuringHasNoNoiseFloor) {
  const Outcome text = run_tool("doctor --device cpu --no-measure");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.errors, "");
  EXPECT_THAT(text.output, HasSubstr("onednn"));
  EXPECT_THAT(text.output, testing::EndsWith("jitterscope selftest --device cpu\n"));
  EXPECT_THAT(text.output, testing::Not(HasSubstr("Noise floor")));
  const Outcome written = run_tool("doctor --device cpu --no-measure --json -");
  EXPECT_EQ(test::validate_json(written.output), 0);
  EXPECT_FALSE(nlohmann::json::parse(written.output).contains("noise_floor"));
}

TEST(Doctor, ADryRunSaysWhatWouldBeMeasured) {
  const Outcome outcome = run_tool("doctor --device cpu --dry-run");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("spin:ns=10000  (cache warm, load burst, 2.1 s)"));
}

TEST(Doctor, AMissingDeviceIsReportedWithTheRestOfTheMachine) {
  const Outcome outcome = run_tool("doctor --device cuda:99 --no-measure");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.output, HasSubstr("Host\n"));
  EXPECT_THAT(outcome.errors, testing::StartsWith("jitterscope: "));
}

TEST(Doctor, RefusesBeforeMeasuring) {
  const Outcome outcome = run_tool("doctor --device cpu --json /nonexistent/x");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(outcome.errors,
            "jitterscope: cannot write '/nonexistent/x': the folder '/nonexistent' does not exist\n");
  EXPECT_EQ(run_tool("doctor --device cpuu").exit_code, 2);
}

TEST(Doctor, AClosedPipeIsNoError) {
  const Outcome outcome = run_tool("doctor --device cpu --no-measure | head -1");
  EXPECT_EQ(outcome.output, "Devices\n");
  EXPECT_EQ(outcome.errors, "");
}

}  // namespace
}  // namespace jitterscope
