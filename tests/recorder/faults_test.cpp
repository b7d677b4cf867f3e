// What goes wrong in a program that is recorded, or around it.
#include <gmock/gmock.h>
#include <signal.h>

#include "recorder/recorded_run.hpp"

namespace jitterscope::recorder {
namespace {

using capture::Detail;
using capture::LossKind;
using capture::Settings;
using stand_in::Fate;
using stand_in::Work;
using testing::Contains;
using testing::HasSubstr;

// What had been launched before the mark is in the files.
void expect_marked(const RecordedRun& run) {
  ASSERT_GT(run.marked, 0u);
  EXPECT_GE(expect_true(run), run.marked);
  std::vector<std::int64_t> starts;
  for (const RecordedProcess& process : run.processes)
    starts.insert(starts.end(), process.kernels.start.begin(), process.kernels.start.end());
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 0; i < run.marked; ++i)
    EXPECT_TRUE(std::binary_search(starts.begin(), starts.end(), run.works[i].start)) << "kernel " << i;
}

TEST(Ends, AKillLeavesAllThatWasWritten) {
  const RecordedRun run =
      record({"init", "launch:4000:3:20", "wait", "mark", "written", "launch:500", "kill"});
  EXPECT_EQ(run.outcome.signal, SIGKILL);
  expect_marked(run);
  EXPECT_FALSE(run.only().kernels.end.is_complete);
}

TEST(Ends, LeavingWithoutHandlersIsAsAKill) {
  const RecordedRun run = record({"init", "launch:1000", "wait", "mark", "written", "launch:50", "leave:3"});
  EXPECT_EQ(run.outcome.exit_code, 3);
  expect_marked(run);
  EXPECT_FALSE(run.only().kernels.end.is_complete);
}

TEST(Ends, TheProcessWaitsForCuptiOnlySoLong) {
  Settings settings = quick_settings();
  settings.finish_within_ms = 50;
  const RecordedRun run = record({"set:hang=1", "init", "launch:300", "wait", "mark", "written"}, settings);
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  expect_marked(run);
  EXPECT_FALSE(run.only().kernels.end.is_complete);
}

TEST(Ends, ThreadsMayLaunchOn) {
  const RecordedRun run = record({"init", "abort_threads"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  expect_true(run);
  EXPECT_TRUE(run.only().kernels.end.is_complete);
}

TEST(Ends, AProgramWithoutCudaHasNoFolder) {
  const RecordedRun run = record({"set:kernel_ns=5"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_TRUE(run.processes.empty());
}

TEST(Faults, SignalsOfTheProgramDoNotDisturb) {
  const RecordedRun run = record({"signals", "init", "launch:4000:4:9", "wait", "written"});
  expect_whole(run);
  EXPECT_EQ(run.only().kernels.start.size(), 4'000u);
}

TEST(Faults, AnotherHolderOfCuptiIsNamed) {
  const RecordedRun run = record({"set:held=1", "init", "launch:10", "wait"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_EQ(run.only().file["problem"],
            "another profiler holds CUPTI in this process: CUPTI for the stand-in");
  EXPECT_THAT(run.only().losses.sentence, Contains(HasSubstr("CUPTI for the stand-in")));
  EXPECT_TRUE(run.only().kernels.start.empty());
}

TEST(Faults, KernelsThatCuptiRefusesToRecordAreSaid) {
  const RecordedRun run = record({"set:refuses_kernels=1", "init", "launch:10", "wait"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_THAT(run.only().file["problem"].get<std::string>(), HasSubstr("refuses to record kernels"));
}

TEST(Faults, ADiskThatIsFullIsCountedAndTheProgramGoesOn) {
  // No more room than is kept free for the rows that say so.
  const RecordedRun run =
      record({"init", "launch:3000:1:50", "wait", "written", "limit_files:65536", "launch:40000:1:50", "wait",
              "written", "launch:100:1:50", "wait", "written"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  const std::size_t recorded = expect_true(run);
  EXPECT_GE(run.only().lost(LossKind::disk), run.works.size() - recorded);
  EXPECT_LT(recorded, run.works.size());
  EXPECT_TRUE(run.only().losses.end.is_complete);
}

TEST(Faults, ADiskThatHasRoomAgainHasAllNames) {
  // Shapes that were new while nothing could be written.
  const RecordedRun run =
      record({"init", "launch:10", "wait", "written", "limit_files:1", "launch:3000:1:300", "wait", "written",
              "free_files", "launch:3000:1:300", "wait", "written"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  const std::size_t recorded = expect_true(run);  // with their names
  EXPECT_GE(recorded, 3'000u);
  EXPECT_GE(run.only().lost(LossKind::disk), run.works.size() - recorded);
}

// Under a sanitizer memory is its own.
#if !defined(__SANITIZE_THREAD__) && !defined(JITTERSCOPE_TESTS_UNDER_ADDRESS_SANITIZER)
TEST(Faults, MemoryThatIsGoneIsCountedAndTheProgramGoesOn) {
  const RecordedRun run = record({"init", "launch:2000:1:50", "wait", "written", "no_memory", "graph:200:200",
                                  "wait", "free_memory", "launch:100", "wait", "written"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  const std::size_t recorded = expect_true(run);
  const std::uint64_t lost = run.only().lost(LossKind::no_buffer) + run.only().lost(LossKind::disk);
  EXPECT_GT(lost, 0u);
  EXPECT_GE(recorded + lost, run.works.size());
  EXPECT_GE(recorded, 2'100u);
}
#endif

TEST(Faults, AFolderThatIsRemovedDoesNotDisturb) {
  const RecordedRun run =
      record({"init", "launch:100", "wait", "written", "remove_folder", "launch:1000", "wait"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
}

// A profiler of the program's own.

void expect_gap(const RecordedRun& run) {
  const RecordedProcess& process = run.only();
  std::size_t gone = 0;
  for (const Work& work : run.works) {
    if (work.fate != Fate::to_another) continue;
    ++gone;
    bool is_said = false;
    for (std::size_t i = 0; i < process.losses.kind.size(); ++i) {
      is_said = is_said || (process.losses.kind[i] == static_cast<std::uint8_t>(LossKind::taken_over) &&
                            process.losses.from[i] <= work.start && work.start <= process.losses.to[i]);
    }
    EXPECT_TRUE(is_said);
    EXPECT_EQ(process.detail_at(work.start), Detail::off);
  }
  EXPECT_GT(gone, 0u);
}

TEST(Profilers, HaveTheRecordsAndGiveThemBack) {
  const RecordedRun run = record({"init", "launch:1000:2:5", "profile", "until:losses:1", "launch:500",
                                  "wait", "profile", "until:losses:2", "launch:300", "wait"});
  expect_whole(run);
  expect_gap(run);
}

TEST(Profilers, HaveTheCallbacksAndGiveThemBack) {
  // PyTorch's subscribes first, and works without the GPU's records where it is refused.
  const RecordedRun run =
      record({"init", "launch:1000:2:5", "callbacks", "profile", "until:losses:1", "launch:500", "wait",
              "no_callbacks", "launch:300", "callbacks", "no_callbacks", "launch:200", "wait"});
  expect_whole(run);
  expect_gap(run);
}

TEST(Profilers, ThatNeverEndAreSaidToTheEnd) {
  const RecordedRun run = record({"init", "launch:1000:2:5", "wait", "profile_on", "wait"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_EQ(expect_true(run), 1'000u);
  EXPECT_EQ(run.only().lost(LossKind::taken_over), 0u);  // how many is not known
  EXPECT_THAT(run.only().losses.kind, Contains(static_cast<std::uint8_t>(LossKind::taken_over)));
  EXPECT_TRUE(run.only().kernels.end.is_complete);
}

TEST(Profilers, ThatAreNotSeenShowInLaunchesWithoutRecords) {
  const RecordedRun run = record({"set:kernel_ns=1", "init", "launch:1000", "wait", "written",
                                  "profile:unseen", "launch:20000", "until:losses:1"});
  EXPECT_EQ(run.outcome.exit_code, 0) << run.outcome.errors;
  EXPECT_EQ(expect_true(run), 1'000u);
  EXPECT_THAT(run.only().losses.sentence, Contains(HasSubstr("gives no records of them")));
}

}  // namespace
}  // namespace jitterscope::recorder
