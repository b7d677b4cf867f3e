#include "capture/watch.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "base/files.hpp"
#include "capture/format/arrow_stream.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::capture {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

namespace fs = std::filesystem;

constexpr const char* kVariables[] = {"JITTERSCOPE_CAPTURE", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                      "LD_PRELOAD"};

class WatchTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("JITTERSCOPE_RECORDER", STAND_IN_RECORDER, 1);
    ::setenv("JITTERSCOPE_NVML", STAND_IN_NVML_LIBRARY, 1);
    for (const char* variable : kVariables) ::unsetenv(variable);
    fs::current_path(folder_.path());
  }
  void TearDown() override {
    fs::current_path("/");
    for (const char* variable : kVariables) ::unsetenv(variable);
    ::unsetenv("JITTERSCOPE_NVML");
  }

  static WatchRequest request(const std::string& script) {
    WatchRequest request;
    request.command = {"/bin/sh", "-c", script};
    return request;
  }
  std::string text(const std::string& name) const { return file_text(folder_.path() / name).text; }
  void write_kernels() const {
    TableWriter<Kernels> writer(folder_.path().string());
    describe(writer.rows, [](const char*, auto& column) { column.resize(1); });
    EXPECT_EQ(writer.write(), 0);
    ::setenv("STAND_IN_RECORDER_KERNELS", (folder_.path() / "kernels.arrows").c_str(), 1);
  }

  TemporaryFolder folder_;
};

TEST_F(WatchTest, TheProgramFindsTheRecorderInItsEnvironment) {
  ::setenv("LD_PRELOAD", "/lib/another.so", 1);
  WatchRequest asked = request(
      "printf '%s\\n' \"$JITTERSCOPE_CAPTURE\" \"$JITTERSCOPE_CAPTURE_SETTINGS\" "
      "\"$CUDA_INJECTION64_PATH\" \"$NVTX_INJECTION64_PATH\" \"$LD_PRELOAD\" >out 2>/dev/null");
  asked.folder = "asked.capture";
  asked.settings.duration_ms = 5000;
  watch(asked);
  const std::string recorder = STAND_IN_RECORDER;
  EXPECT_EQ(text("out"), (folder_.path() / "asked.capture").string() + "\n" + to_text(asked.settings) + "\n" +
                             recorder + "\n" + recorder + "\n" + recorder + ":/lib/another.so\n");
}

TEST_F(WatchTest, EachProcessThatUsesCudaIsFound) {
  write_kernels();
  const Watched watched = watch(request(
      "STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 1'; STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 2'; exit 3"));
  EXPECT_EQ(watched.exit_code, 3);
  EXPECT_EQ(watched.folder, "sh.capture");
  ASSERT_THAT(watched.processes, SizeIs(2));
  EXPECT_THAT(watched.processes[0].command, ElementsAre("train", "--fast"));
  EXPECT_EQ(watched.processes[0].problem, "");
  EXPECT_TRUE(watched.has_work);
  EXPECT_FALSE(watched.has_losses);
  EXPECT_EQ(watched.problem, "");
  const CaptureInfo info = read_capture_info(watched.folder);
  EXPECT_EQ(info.command.front(), "/bin/sh");
  EXPECT_EQ(info.working_directory, folder_.path());
  EXPECT_EQ(info.driver_version, "580.00.00");
  EXPECT_EQ(info.exit_code, 3);
  EXPECT_EQ(info.sensors_problem, "");
  ASSERT_THAT(info.gpus, SizeIs(1));
  EXPECT_EQ(info.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(info.gpus[0].maximum_clock, megahertz(1980));
  EXPECT_EQ(info.gpus[0].maximum_memory_clock, megahertz(3201));
  ASSERT_THAT(info.ended, SizeIs(1));
  EXPECT_EQ(info.ended[0].exit_code, 3);
  ASSERT_TRUE(info.end);
  EXPECT_GT(*info.end, info.begin);
  Sensors sensors;
  EXPECT_TRUE(read_table("sh.capture/sensors.arrows", sensors).is_complete);
  EXPECT_THAT(sensors.time, testing::Not(IsEmpty()));
}

TEST_F(WatchTest, LossesOfAProcessAreSeen) {
  TableWriter<Losses> writer(folder_.path().string());
  describe(writer.rows, [](const char*, auto& column) { column.resize(1); });
  ASSERT_EQ(writer.write(), 0);
  const Watched watched = watch(
      request("STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'; cp losses.arrows \"$JITTERSCOPE_CAPTURE\"/p*/"));
  EXPECT_TRUE(watched.has_losses);
}

TEST_F(WatchTest, AProcessThatWasNotRecordedSaysWhy) {
  const Watched watched = watch(request(
      "STAND_IN_RECORDER_PROBLEM='another profiler holds CUPTI' STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'"));
  ASSERT_THAT(watched.processes, SizeIs(1));
  EXPECT_EQ(watched.processes[0].problem, "another profiler holds CUPTI");
  EXPECT_FALSE(watched.has_work);
}

TEST_F(WatchTest, AFolderWithoutItsFileIsAProcessThatWasNotRecorded) {
  const Watched watched = watch(request("mkdir \"$JITTERSCOPE_CAPTURE/p4711-5\""));
  ASSERT_THAT(watched.processes, SizeIs(1));
  EXPECT_EQ(watched.processes[0].pid, 4711);
  EXPECT_THAT(watched.processes[0].problem, HasSubstr("process.json is not whole"));
}

TEST_F(WatchTest, WhereNothingUsesCudaNothingStays) {
  const Watched watched = watch(request("exit 6"));
  EXPECT_EQ(watched.exit_code, 6);
  EXPECT_TRUE(watched.folder.empty());
  EXPECT_THAT(watched.processes, IsEmpty());
  EXPECT_FALSE(fs::exists("sh.capture"));
}

TEST_F(WatchTest, WhatOthersWroteIntoTheFolderStays) {
  watch(request("echo mine >\"$JITTERSCOPE_CAPTURE/note\""));
  EXPECT_EQ(text("sh.capture/note"), "mine\n");
}

TEST_F(WatchTest, OneThatCannotBeStartedHasItsReason) {
  WatchRequest none = request("");
  none.command = {"jitterscope-has-no-such-program"};
  const Watched watched = watch(none);
  EXPECT_EQ(watched.exit_code, 127);
  EXPECT_EQ(watched.start_problem, "No such file or directory");
  EXPECT_FALSE(fs::exists("jitterscope-has-no-such-program.capture"));
}

TEST_F(WatchTest, ANameThatIsTakenGetsANumber) {
  for (const char* folder : {"sh.capture", "sh-2.capture", "sh-3.capture"}) {
    EXPECT_EQ(watch(request("STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'")).folder, folder);
  }
}

TEST_F(WatchTest, AFolderIsTakenIfItIsEmptyOrNotThere) {
  WatchRequest asked = request("STAND_IN_RECORDER_USES_CUDA=1 sh -c 'exit 0'");
  fs::create_directory("empty");
  for (const char* folder : {"empty", "out/of/three"}) {
    asked.folder = folder;
    EXPECT_EQ(watch(asked).folder, folder);
  }
  EXPECT_THAT([&] { watch(asked); }, ThrowsMessage<UsageError>(HasSubstr("out/of/three is not empty")));
  std::ofstream("file") << "x";
  asked.folder = "file";
  EXPECT_THAT([&] { watch(asked); }, ThrowsMessage<FailedError>(HasSubstr("cannot be made")));
}

TEST_F(WatchTest, OneToolAtATime) {
  ::setenv("JITTERSCOPE_CAPTURE", "/outer.capture", 1);
  EXPECT_THAT([&] { watch(request("exit 0")); },
              ThrowsMessage<UsageError>(HasSubstr("within a capture already (/outer.capture)")));
  ::unsetenv("JITTERSCOPE_CAPTURE");
  ::setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
  EXPECT_THAT([&] { watch(request("exit 0")); },
              ThrowsMessage<UsageError>(HasSubstr("CUDA_INJECTION64_PATH names /opt/other.so")));
}

TEST_F(WatchTest, TheRecorderIsWhatTheVariableNames) {
  EXPECT_EQ(find_recorder(), STAND_IN_RECORDER);
  ::setenv("JITTERSCOPE_RECORDER", "/nowhere/recorder.so", 1);
  EXPECT_THAT(find_recorder, ThrowsMessage<MissingError>(HasSubstr("/nowhere/recorder.so")));
  std::ofstream("a recorder.so") << "x";
  ::setenv("JITTERSCOPE_RECORDER", "a recorder.so", 1);
  EXPECT_THAT(find_recorder, ThrowsMessage<MissingError>(HasSubstr("a blank or a colon")));
  ::unsetenv("JITTERSCOPE_RECORDER");
  EXPECT_THAT(find_recorder, ThrowsMessage<MissingError>(HasSubstr("libjitterscope_recorder.so")));
}

TEST_F(WatchTest, ProgramsThatTheLoaderDoesNotReachAreTold) {
  EXPECT_EQ(why_out_of_reach("/bin/sh"), "");
  EXPECT_EQ(why_out_of_reach("/nowhere"), "");
  std::ofstream("script") << "#!/bin/sh\nexit 0\n";
  EXPECT_EQ(why_out_of_reach("script"), "");
  // An ELF file of 64 bits without any part, let alone one that names an interpreter.
  std::string elf = std::string(
                        "\x7F"
                        "ELF\x02\x01\x01",
                        7) +
                    std::string(57, '\0');
  std::ofstream("static") << elf;
  EXPECT_EQ(why_out_of_reach("static"), "is linked statically");
  elf[4] = 1;
  std::ofstream("old") << elf;
  EXPECT_EQ(why_out_of_reach("old"), "is a 32-bit program");
  if (::geteuid() != 0) return;
  std::ofstream("other") << "x";
  ASSERT_EQ(::chown("other", 12345, 12345), 0);
  ASSERT_EQ(::chmod("other", 04755), 0);
  EXPECT_EQ(why_out_of_reach("other"), "runs with another user's rights");
}

}  // namespace
}  // namespace jitterscope::capture
