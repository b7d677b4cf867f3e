#include "capture/capture_info.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/files.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::capture {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

CaptureInfo sample_info() {
  CaptureInfo info;
  info.command = {"python3", "train.py", "--lr", "1e-3"};
  info.working_directory = "/home/me";
  info.environment.tool_version = "1.2.3";
  info.environment.host = {{"host_name", "node7"}, {"kernel", "Linux 6.1.0"}};
  info.variables = {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"NCCL_DEBUG", "WARN"}};
  info.further_variables = {"LD_LIBRARY_PATH"};
  info.settings = {.detail = DetailChoice::light, .graphs = GraphChoice::whole, .duration_ms = 60'000};
  info.driver_version = "580.65.06";
  info.gpus = {{"GPU-1", "NVIDIA H200", Watts(700), megahertz(1980), megahertz(3201)},
               {"GPU-2", "other", {}, {}, {}}};
  info.begin = 1'795'838'189'844'116'686;
  return info;
}

class CaptureInfoTest : public testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path(); }
  void put(const std::string& text, const char* name = "capture.json") const {
    std::ofstream(folder() / name) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(CaptureInfoTest, ReadsAsItWasWritten) {
  CaptureInfo written = sample_info();
  written.end = written.begin + 1;
  written.exit_code = 137;
  written.ended = {{.pid = 4711, .exit_code = -1, .signal = 9}, {.pid = 4712, .exit_code = 3}};
  written.processes_left = true;
  written.missing_samples = {"sensors.arrows lacks 50 rows: No space left on device"};
  write_capture_info(folder(), written);
  const CaptureInfo read = read_capture_info(folder());
  EXPECT_EQ(read.command, written.command);
  EXPECT_EQ(read.working_directory, written.working_directory);
  EXPECT_EQ(read.environment.tool_version, "1.2.3");
  EXPECT_EQ(read.environment.host, written.environment.host);
  EXPECT_EQ(read.variables, written.variables);
  EXPECT_EQ(read.further_variables, written.further_variables);
  EXPECT_EQ(read.settings, written.settings);
  EXPECT_EQ(read.driver_version, written.driver_version);
  ASSERT_EQ(read.gpus.size(), 2u);
  EXPECT_EQ(read.gpus[0].uuid, "GPU-1");
  EXPECT_EQ(read.gpus[0].power_limit, Watts(700));
  EXPECT_EQ(read.gpus[0].maximum_clock, megahertz(1980));
  EXPECT_EQ(read.gpus[0].maximum_memory_clock, megahertz(3201));
  EXPECT_EQ(read.gpus[1].name, "other");
  EXPECT_EQ(read.gpus[1].maximum_clock, std::nullopt);
  EXPECT_EQ(read.begin, written.begin);
  EXPECT_EQ(read.end, written.end);
  EXPECT_EQ(read.exit_code, 137);
  EXPECT_EQ(read.ended, written.ended);
  EXPECT_TRUE(read.processes_left);
  EXPECT_EQ(read.missing_samples, written.missing_samples);
}

// The watching process may be killed: what it wrote at the beginning stays.
TEST_F(CaptureInfoTest, TheEndIsUnknownUntilItIsThere) {
  write_capture_info(folder(), sample_info());
  EXPECT_EQ(read_capture_info(folder()).end, std::nullopt);
  EXPECT_EQ(read_capture_info(folder()).exit_code, std::nullopt);
}

TEST_F(CaptureInfoTest, OtherFoldersAreRefusedInASentence) {
  const auto read = [this] { read_capture_info(folder()); };
  EXPECT_THAT(read, ThrowsMessage<UsageError>(HasSubstr("capture.json cannot be read")));
  put("{}");
  EXPECT_THAT(read, ThrowsMessage<UsageError>(HasSubstr("is of no capture")));
  put(R"({"format": "jitterscope-record", "version": 2})");
  EXPECT_THAT(read, ThrowsMessage<UsageError>(HasSubstr("is of no capture")));
  put(R"({"format": "jitterscope-capture", "version": 2})");
  EXPECT_THAT(read, ThrowsMessage<UsageError>(HasSubstr("has version 2")));
  put(R"({"format": "jitterscope-capture", "version": 1, "command": ["a")");
  EXPECT_THAT(read, ThrowsMessage<UsageError>(HasSubstr("ends in the middle")));
  put(R"({"format": "jitterscope-capture", "version": 1, "settings": {"detail": "most"}})");
  EXPECT_THAT(read, ThrowsMessage<UsageError>(HasSubstr("settings.detail: unknown word 'most'")));
}

TEST_F(CaptureInfoTest, OnlyVariablesOfCudasLibrariesAreToldWithTheirValues) {
  ::setenv("NCCL_TEST_VALUE", "told", 1);
  ::setenv("SLURM_TEST_VALUE", "named", 1);
  ::setenv("MY_SECRET", "hidden", 1);
  CaptureInfo info;
  add_variables(info);
  EXPECT_THAT(info.variables, Contains(Property{"NCCL_TEST_VALUE", "told"}));
  EXPECT_THAT(info.further_variables, Contains("SLURM_TEST_VALUE"));
  EXPECT_THAT(info.further_variables, Not(Contains("MY_SECRET")));
  write_capture_info(folder(), info);
  const std::string text = file_text(folder() / "capture.json").text;
  EXPECT_EQ(text.find("MY_SECRET"), std::string::npos);
  EXPECT_EQ(text.find("named"), std::string::npos);
}

TEST_F(CaptureInfoTest, TheRecordersOwnFileIsRead) {
  put(R"({"pid": 4711, "begin": 7, "command": ["a", "b"], "rank": 3, "driver_version": 13000, "cupti_version": 28,
          "cupti_path": "/lib/libcupti.so", "problem": "another profiler holds CUPTI"})",
      "process.json");
  const ProcessInfo process = read_process_info(folder());
  EXPECT_EQ(process.pid, 4711);
  EXPECT_EQ(process.begin, 7);
  EXPECT_THAT(process.command, ElementsAre("a", "b"));
  EXPECT_EQ(process.rank, 3);
  EXPECT_EQ(process.driver_version, 13000);
  EXPECT_EQ(process.cupti_version, 28);
  EXPECT_EQ(process.cupti_path, "/lib/libcupti.so");
  EXPECT_EQ(process.problem, "another profiler holds CUPTI");
  put("{\"pid\"", "process.json");
  EXPECT_THROW(read_process_info(folder()), UsageError);
}

}  // namespace
}  // namespace jitterscope::capture
