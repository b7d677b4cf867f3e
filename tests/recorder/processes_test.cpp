// Processes that fork and exec, their folders, and what they say of themselves.
#include <gmock/gmock.h>

#include "recorder/recorded_run.hpp"

namespace jitterscope::recorder {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class Forks : public testing::TestWithParam<const char*> {};

// The child has neither the recorder's thread nor CUDA: it must end, and leave its parent's files alone.
TEST_P(Forks, LeaveTheRecordingAlone) {
  if (!kForksAreSafe) GTEST_SKIP() << "forks of threads are not safe here";
  const RecordedRun run = record(
      {"init", "launch:2000:2:5", std::string("forks:") + GetParam(), "launch:1000", "wait", "forks:exits"});
  expect_whole(run);
  EXPECT_EQ(run.only().kernels.start.size(), 3'000u);
}
INSTANTIATE_TEST_SUITE_P(How, Forks, testing::Values("exits", "leaves", "launches"));

TEST(Processes, ThatExecuteAnotherProgramHaveAFolderEach) {
  const RecordedRun run =
      record({"init", "launch:400", "wait", "mark", "written", "exec", "init", "launch:700:1:3", "wait"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  ASSERT_EQ(run.processes.size(), 2u);
  EXPECT_EQ(expect_true(run), 1'100u);
  EXPECT_FALSE(run.processes[0].kernels.end.is_complete);
  EXPECT_TRUE(run.processes[1].kernels.end.is_complete);
  EXPECT_EQ(run.processes[0].file["pid"], run.processes[1].file["pid"]);
}

TEST(Processes, AreNamedByTheirRank) {
  EXPECT_THAT(record({"init"}, quick_settings(), {"RANK=3", "LOCAL_RANK=1"}).only().folder, EndsWith("-r3"));
  const RecordedRun run = record({"init"}, quick_settings(), {"SLURM_PROCID=0012"});
  EXPECT_THAT(run.only().folder, EndsWith("-r12"));
  EXPECT_EQ(run.only().file["rank"], 12);
  EXPECT_THAT(record({"init"}, quick_settings(), {"LOCAL_RANK=5"}).only().folder, EndsWith("-r5"));
  EXPECT_THAT(record({"init"}, quick_settings(), {"RANK=none"}).only().folder, Not(HasSubstr("-r")));
}

TEST(Processes, SayTheirCommandWhateverStandsInIt) {
  const std::string odd = "#\"quoted\" \\ line\nbreak \x01 \xff\xfe caf\xc3\xa9 cut \xe2\x82";
  const RecordedRun run = record({odd, "init"});
  ASSERT_EQ(run.only().file["command"].size(), 3u);
  EXPECT_EQ(run.only().file["command"][1],
            "#\"quoted\" \\ line\nbreak \x01 \xef\xbf\xbd\xef\xbf\xbd caf\xc3\xa9 cut "
            "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(run.only().file["driver_version"], 13'000);
  EXPECT_THAT(run.only().file["cupti_path"].get<std::string>(), EndsWith("libcupti.so.13"));
}

TEST(Processes, ForwardNvtxAlsoBeforeTheirFirstUseOfCuda) {
  const RecordedRun run = record({"nvtx", "init", "ranges:1", "launch:200", "wait"});
  EXPECT_THAT(run.outcome.output, HasSubstr("nvtx 1"));
  expect_whole(run);
  EXPECT_EQ(run.only().ranges.start.size(), 4u);
  EXPECT_EQ(run.only().devices.name.size(), 1u);  // the driver was not there at first
}

}  // namespace
}  // namespace jitterscope::recorder
