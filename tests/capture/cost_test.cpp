#include "commands/capture/cost.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/files.hpp"

namespace jitterscope::capture {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::vector<Nanoseconds> times(const std::vector<double>& seconds_of_runs) {
  std::vector<Nanoseconds> result;
  for (const double each : seconds_of_runs) result.push_back(seconds(each));
  return result;
}

// A machine that becomes slower from run to run: both runs of a pair do.
TEST(CaptureCost, IsTheRatioOfRunsBesideEachOther) {
  const CaptureCost cost = compare_runs(times({10.0, 10.1, 12.0, 11.9, 14.0, 14.1}),
                                        times({11.0, 11.11, 13.2, 13.09, 15.4, 15.51}));
  ASSERT_TRUE(cost.recording);
  EXPECT_NEAR(std::expm1(cost.recording->value), 0.1, 1e-9);
  EXPECT_LT(std::exp(cost.recording->interval.high) - std::exp(cost.recording->interval.low), 1e-6);
  ASSERT_TRUE(cost.nothing_changed);
  EXPECT_EQ(cost.nothing_changed->processes, 3);
  EXPECT_FALSE(cost.nothing_changed->excludes_zero());
  EXPECT_THAT(cost_sentence(cost),
              AllOf(HasSubstr("changes the time by +10.0"),
                    HasSubstr("over 6 runs with it and as many without, of 12 s"),
                    HasSubstr("; runs without against runs without: "), Not(HasSubstr("not steady"))));
}

TEST(CaptureCost, AMachineThatDiffersFromItselfIsSaid) {
  const CaptureCost cost =
      compare_runs(times({10.0, 12.0, 10.1, 12.1, 10.0, 12.1}), times({10, 12, 10, 12, 10, 12}));
  EXPECT_THAT(cost_sentence(cost), HasSubstr("so that the machine was not steady enough to tell"));
}

class CaptureCostOfProgram : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("JITTERSCOPE_RECORDER", STAND_IN_RECORDER, 1);
    std::filesystem::current_path(folder_.path());
  }
  void TearDown() override { std::filesystem::current_path("/"); }
  static MeasuredCost measure(const std::string& script) {
    WatchRequest request;
    request.command = {"/bin/sh", "-c", "echo ${LD_PRELOAD:+recorded} >>runs; " + script};
    return measure_cost(request, kFewestRuns);
  }
  TemporaryFolder folder_;
};

TEST_F(CaptureCostOfProgram, RunsTakeTurnsAndOneCaptureIsKept) {
  const MeasuredCost measured = measure("STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'");
  ASSERT_TRUE(measured.cost);
  EXPECT_THAT(measured.cost->with, SizeIs(4));
  EXPECT_THAT(measured.cost->without, SizeIs(4));
  EXPECT_EQ(file_text("runs").text, "recorded\n\n\nrecorded\nrecorded\n\n\nrecorded\n");
  EXPECT_EQ(measured.first.folder, "sh.capture");
  EXPECT_TRUE(std::filesystem::exists("sh.capture/capture.json"));
  EXPECT_FALSE(std::filesystem::exists("sh.capture-again"));
}

TEST_F(CaptureCostOfProgram, AProgramThatFailsIsNotRunAgain) {
  const MeasuredCost measured =
      measure("STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'; [ $(wc -l <runs) -lt 3 ]");
  EXPECT_FALSE(measured.cost);
  EXPECT_EQ(measured.exit_code, 1);
  EXPECT_EQ(file_text("runs").text, "recorded\n\n\n");
}

TEST_F(CaptureCostOfProgram, OneWithoutCudaRunsOnce) {
  const MeasuredCost measured = measure("exit 0");
  EXPECT_FALSE(measured.cost);
  EXPECT_EQ(measured.exit_code, 0);
  EXPECT_EQ(file_text("runs").text, "recorded\n");
}

}  // namespace
}  // namespace jitterscope::capture
