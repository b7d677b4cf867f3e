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
  std::filesystem::create_directory(path("mine"));
  capture_into("mine", "-- true");
  EXPECT_TRUE(std::filesystem::is_empty(path("mine"))) << "who made the folder may need it";
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
  EXPECT_THAT(errors("--ranges x --duration 0steps -- train"), HasSubstr("'0steps' is no number of steps"));
  EXPECT_THAT(errors("--start-after 100steps -- train"),
              HasSubstr("--start-after 100steps needs --ranges NAME"));
  EXPECT_THAT(errors(""), HasSubstr("capture needs a program to run"));
  EXPECT_THAT(errors("--"), HasSubstr("capture needs a program to run"));
}

TEST_F(Capture, WhatIsAskedForReachesTheRecorder) {
  const std::string show = " -- sh -c 'echo $JITTERSCOPE_CAPTURE_SETTINGS'";
  EXPECT_THAT(capture_into("c", show).output, HasSubstr("graphs=0,calls=0,start_after_ms=0,duration_ms=0,"));
  EXPECT_THAT(capture_into("c", "--start-after 1.5 --duration 2m --graphs whole" + show).output,
              HasSubstr("graphs=1,calls=0,start_after_ms=1500,duration_ms=120000,"));
  EXPECT_THAT(
      capture_into("c", "--start-after 100steps --duration 1step --ranges 'my step, all'" + show).output,
      AllOf(HasSubstr("start_after_ms=0,duration_ms=0,start_after_steps=100,duration_steps=1,"),
            HasSubstr(",ranges=my step, all\n")));
}

TEST_F(Capture, UnderNohupTheProgramIsSafeFromHangups) {
  const std::string nohup =
      "--version >/dev/null; trap '' HUP; '" JITTERSCOPE_EXECUTABLE "' capture -o '" + path("c") + "' ";
  EXPECT_EQ(run_tool(nohup + "-- sh -c 'kill -HUP $$; kill -HUP $PPID; exit 3'").exit_code, 3);
}

// A trace of three training steps of a small BERT, as torch.profiler wrote it on an H200.
const std::string kBertTrace = JITTERSCOPE_TEST_DATA "/bert_trace.json.gz";

TEST_F(Capture, ATraceOfTorchProfilerIsShown) {
  const Outcome shown = capture("show " + kBertTrace);
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_THAT(on_one_line(shown.output),
              AllOf(HasSubstr("**No steps were found** in 20 ms on NVIDIA H200"),
                    HasSubstr("585 kernels, 3 copies, 51 memsets, none lost"),
                    HasSubstr("**The GPU idles 84 %** of the time"), HasSubstr("host elsewhere 68 %"),
                    HasSubstr("The host launches too slowly: CUDA graphs"),
                    HasSubstr("Next: `jitterscope advise " + kBertTrace + "` tries remedies")));
  EXPECT_THAT(capture("show " + kBertTrace + " --kernel nvjet").output, HasSubstr("**nvjet_sm90_tst_96x64"));
  const Outcome json = capture("show " + kBertTrace + " --json -");
  EXPECT_EQ(validate_json(json.output), 0);
  const Outcome step = capture("show " + kBertTrace + " --step slowest");
  EXPECT_EQ(step.exit_code, 2);
  EXPECT_THAT(step.errors, HasSubstr("no steps were found"));
}

TEST_F(Capture, WhatIsExportedIsShownAlike) {
  const std::string database = path("a.sqlite"), trace = path("a.json");
  ASSERT_EQ(capture("export " + kBertTrace + " --sqlite " + database + " --chrome " + trace).exit_code, 0);
  const auto table_of = [](const std::string& text) {
    return text.substr(std::min(text.find("| kernel"), text.size()));
  };
  const std::string shown = table_of(capture("show " + kBertTrace).output);
  EXPECT_FALSE(shown.empty());
  EXPECT_EQ(table_of(capture("show " + database).output), shown);
  EXPECT_EQ(table_of(capture("show " + trace).output), shown);
  EXPECT_EQ(capture("export " + kBertTrace + " --chrome " + trace).exit_code, 5)
      << "a file is not overwritten";
  EXPECT_EQ(capture("export " + kBertTrace).exit_code, 2);
}

TEST_F(Capture, TwoOfTheSameProgramDoNotDiffer) {
  const Outcome outcome = capture("compare " + kBertTrace + " " + kBertTrace);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("0 of "), HasSubstr("One process a side")));
  EXPECT_EQ(capture("compare " + kBertTrace + ", " + kBertTrace).exit_code, 2);
}

TEST_F(Capture, WhatIsNoCaptureIsRefused) {
  EXPECT_EQ(capture("show " + path("none")).exit_code, 2);
  EXPECT_EQ(capture("show " + path("")).exit_code, 2) << "a folder without capture.json";
  EXPECT_THAT(capture("show " JITTERSCOPE_TEST_DATA "/bert_cublaslt.log").errors,
              HasSubstr("this is a log of cuBLASLt, not a capture or a trace of GPU work"));
  EXPECT_THAT(capture("shw " + kBertTrace).errors, HasSubstr("behind --"));
}

// A run of a trace says first how busy the recorded program kept its GPU.
TEST_F(Capture, ARunOfATraceBeginsWithWhatWasRecorded) {
  const Outcome outcome = run_tool("run " + kBertTrace + kQuick);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(
      on_one_line(outcome.output),
      AllOf(HasSubstr(
                "**Recorded**: 20.1 ms, in which the GPU worked 16 % and idled 84 % (host elsewhere 68 %"),
            HasSubstr("| recorded |"), HasSubstr("GPU time recorded (46 %), most of it ")));
}

}  // namespace
}  // namespace jitterscope::test
