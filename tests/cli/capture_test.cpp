// `capture` with a recorder that stands in for the real one, on programs that use no GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "cli/command.hpp"

namespace jitterscope::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Capture : public WithFolder {
 protected:
  void SetUp() override { ::setenv("JITTERSCOPE_RECORDER", JITTERSCOPE_STAND_IN_RECORDER, 1); }
  void TearDown() override { ::unsetenv("JITTERSCOPE_RECORDER"); }

  Outcome capture(const std::string& arguments) const { return run_tool("capture " + arguments); }
  /// With a folder of the test's own.
  Outcome capture_into(const std::string& folder, const std::string& arguments) const {
    return capture("-o '" + path(folder) + "' " + arguments);
  }
};

const std::string kUsesCuda = "sh -c 'STAND_IN_RECORDER_USES_CUDA=1 sh -c \"exit 0\"; exit 3'";

TEST_F(Capture, TheProgramIsAsWithoutIt) {
  const Outcome outcome = capture_into(
      "c", "-- sh -c 'cat; exit 3' <'" JITTERSCOPE_STAND_IN_RECORDER "' | head -c 4 | tail -c 3");
  EXPECT_EQ(outcome.output, "ELF");
  EXPECT_EQ(capture_into("c", "-- sh -c 'exit 3'").exit_code, 3);
  EXPECT_EQ(capture_into("c", "-- sh -c 'kill -9 $$'").exit_code, 137);
  EXPECT_EQ(capture_into("c", "-- sh -c 'exit 3' 2>&-").exit_code, 3);
  EXPECT_EQ(capture_into("c", "-- sh -c 'echo ${JITTERSCOPE_SETTINGS-unset}'").output, "unset\n");
}

TEST_F(Capture, WordsBehindTheDashesAreTheProgramsOwn) {
  EXPECT_EQ(capture_into("c", "-- echo run --detail light -o x -- --version --counters").output,
            "run --detail light -o x -- --version --counters\n");
}

TEST_F(Capture, WhatWasCapturedIsSaidWithTheNextCommand) {
  const Outcome outcome = capture_into("c", "-- " + kUsesCuda);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, AllOf(StartsWith("jitterscope: 1 process of sh captured in "),
                                    HasSubstr("; see: jitterscope capture show " + path("c") + "\n"),
                                    HasSubstr("no kernel and no copy was recorded")));
  EXPECT_TRUE(std::filesystem::exists(path("c/capture.json")));
}

TEST_F(Capture, WithoutCudaNothingIsCaptured) {
  const Outcome outcome = capture_into("c", "-- sh -c 'exit 3'");
  EXPECT_EQ(outcome.errors,
            "jitterscope: sh ended with 3 and never initialised CUDA: nothing was captured\n");
  EXPECT_FALSE(std::filesystem::exists(path("c")));
  EXPECT_THAT(capture_into("c", "-- sh -c 'kill -9 $$'").errors,
              HasSubstr("sh was ended by signal 9 (Killed)"));
}

TEST_F(Capture, RequireIsForWhatWasNotRecordedAlthoughCudaWasUsed) {
  EXPECT_EQ(capture_into("a", "--require -- " + kUsesCuda).exit_code, 125);
  EXPECT_EQ(capture_into("b", "--require -- sh -c 'exit 3'").exit_code, 3);
  ::setenv("STAND_IN_RECORDER_PROBLEM", "another profiler holds CUPTI", 1);
  const Outcome outcome = capture_into("c", "-- " + kUsesCuda);
  const Outcome required = capture_into("d", "--require -- " + kUsesCuda);
  ::unsetenv("STAND_IN_RECORDER_PROBLEM");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.errors, HasSubstr(" was not recorded: another profiler holds CUPTI\n"));
  EXPECT_EQ(required.exit_code, 125);
}

TEST_F(Capture, ItsOwnFailureIsNotTheProgrammes) {
  EXPECT_EQ(capture_into("c", "-- jitterscope-has-no-such-program").exit_code, 127);
  EXPECT_EQ(capture_into("c", "-- /tmp").exit_code, 126);
  ::setenv("JITTERSCOPE_CAPTURE", "/outer", 1);
  const Outcome inner = capture_into("c", "-- echo never");
  ::unsetenv("JITTERSCOPE_CAPTURE");
  EXPECT_EQ(inner.exit_code, 125);
  EXPECT_EQ(inner.output, "");
  EXPECT_THAT(inner.errors, HasSubstr("within a capture already"));
  ::setenv("JITTERSCOPE_RECORDER", "/nowhere.so", 1);
  const Outcome without = capture_into("c", "-- echo never");
  EXPECT_EQ(without.exit_code, 125);
  EXPECT_THAT(without.errors, HasSubstr("the recorder is not there (/nowhere.so)"));
}

TEST_F(Capture, AProgramWithoutDashesIsToldWhereItBelongs) {
  const auto errors = [&](const std::string& arguments) {
    const Outcome outcome = capture(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    return outcome.errors;
  };
  EXPECT_THAT(errors("python3 train.py"), HasSubstr("behind --, as in jitterscope capture -- python3 …"));
  EXPECT_THAT(errors("python3 -c x"), HasSubstr("behind --, as in jitterscope capture -- python3 …"));
  EXPECT_THAT(errors("--detail full ./train"),
              HasSubstr("behind --, as in jitterscope capture -- ./train\n"));
  EXPECT_THAT(errors("extra -- train"), HasSubstr("behind --, as in jitterscope capture -- extra\n"));
  EXPECT_THAT(errors("--detial full -- train"), HasSubstr("did you mean '--detail'?"));
  EXPECT_THAT(errors("--detail most -- train"), HasSubstr("--detail: most not in {light,mixed,full}"));
  EXPECT_THAT(errors("--duration long -- train"), HasSubstr("--duration: 'long' is not a duration"));
  EXPECT_THAT(errors(""), HasSubstr("capture needs a program to run"));
  EXPECT_THAT(errors("--"), HasSubstr("capture needs a program to run"));
}

TEST_F(Capture, UnderNohupTheProgramIsSafeFromHangups) {
  const std::string nohup =
      "--version >/dev/null; trap '' HUP; '" JITTERSCOPE_EXECUTABLE "' capture -o '" + path("c") + "' ";
  EXPECT_EQ(run_tool(nohup + "-- sh -c 'kill -HUP $$; kill -HUP $PPID; exit 3'").exit_code, 3);
}

}  // namespace
}  // namespace jitterscope::test
