// A run that was interrupted goes on with --continue, and its journal holds what was measured.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "commands/records.hpp"
#include "record/run_file.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using test::kQuick;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

class Continue : public test::WithFolder {
 protected:
  RunRecord record() const { return read_run_record(text(), "r.json"); }
  // The journal as a killed run would have left it behind so many operations, the last line cut in half.
  void leave_journal_of(const std::string& run, std::size_t operations) const {
    ASSERT_EQ(run_tool(run + " --json " + path()).exit_code, 0);
    const RunRecord whole = record();
    fs::remove(path());
    std::string journal = journal_head(whole);
    for (std::size_t i = 0; i < operations; ++i) journal += journal_line(whole.entries[i]);
    const std::string next = journal_line(whole.entries[operations]);
    std::ofstream(path("r.json.part")) << journal << next.substr(0, next.size() / 2);
  }
};

const std::string kSweep = "run add:count=1Mi..16Mi*2" + kQuick;

TEST_F(Continue, MeasuresWhatIsMissingAndKeepsTheRest) {
  leave_journal_of(kSweep, 3);
  const RunRecord before = read_run_record(text("r.json.part"), "r.json.part");
  ASSERT_EQ(before.entries.size(), 3u);
  const Outcome outcome = run_tool(kSweep + " --continue " + path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("The first 3 of 5 operations are from an earlier run"));
  const RunRecord after = record();
  ASSERT_EQ(after.entries.size(), 5u);
  EXPECT_FALSE(after.interrupted);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(journal_line(after.entries[i]), journal_line(before.entries[i]));
  }
  EXPECT_EQ(to_string(after.entries[4].result.subject), "add:count=16777216,dtype=f32");
  EXPECT_EQ(test::validate_json(text()), 0);
  EXPECT_FALSE(fs::exists(path("r.json.part"))) << "the file holds it all";
}

TEST_F(Continue, AJournalCanBeShown) {
  leave_journal_of(kSweep, 2);
  const Outcome shown = run_tool("show " + path("r.json.part"));
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  EXPECT_THAT(shown.output, HasSubstr("Interrupted: these are the results so far."));
}

TEST_F(Continue, OtherTargetsConditionsAndDevicesAreRefused) {
  leave_journal_of(kSweep, 2);
  const auto refusal = [&](const std::string& run) {
    const Outcome outcome = run_tool(run + " --continue " + path());
    EXPECT_EQ(outcome.exit_code, 2) << run;
    return outcome.errors;
  };
  EXPECT_THAT(refusal("run mul:count=1Mi" + kQuick),
              HasSubstr("targets was [\"add:count=1Mi..16Mi*2\"] and is"));
  EXPECT_THAT(refusal("run mul:count=1Mi --device virtual:h200"), Not(HasSubstr("load_probe")))
      << "which follows from the targets";
  EXPECT_THAT(refusal(kSweep + " --seed 7"), HasSubstr("seed was 1 and is 7"));
  EXPECT_THAT(refusal(kSweep + " --precision 3"), HasSubstr("precision was 0.005 and is 0.03"));
  std::string other_device = kSweep;
  other_device.replace(other_device.find("virtual:h200"), 12, "cpu");
  EXPECT_THAT(refusal(other_device), HasSubstr("name the same device"));
  EXPECT_TRUE(fs::exists(path("r.json.part"))) << "nothing was lost";
}

TEST_F(Continue, WhatIsNotThereIsSaid) {
  const Outcome outcome = run_tool(kSweep + " --continue " + path("none.json"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("none.json' can be read"));
}

TEST_F(Continue, AWholeRunHasNothingMissing) {
  ASSERT_EQ(run_tool(kSweep + " --json " + path()).exit_code, 0);
  const RunRecord before = record();
  EXPECT_EQ(run_tool(kSweep + " --continue " + path()).exit_code, 0);
  const RunRecord after = record();
  EXPECT_EQ(journal_line(after.entries[4]), journal_line(before.entries[4]));
}

// Measures on the CPU until the journal holds its head and one operation, then sends the signal. Seven more
// operations are left then, so that the run cannot end before the signal arrives.
std::string signalled_run(const std::string& run, const std::string& json_path, const std::string& signal) {
  return run + " --json " + json_path + " & for i in $(seq 1200); do [ \"$(grep -c '' " + json_path +
         ".part 2>/dev/null)\" -ge 2 ] 2>/dev/null && break; sleep 0.05; done; kill -" + signal +
         " $!; wait $!";
}

const std::string kOnTheCpu =
    "run add:count=1Ki..128Ki*2 --device cpu --cache warm --load burst --precision 1e-6 --time-limit 0.5 --no-ceilings";

TEST_F(Continue, CtrlCWritesTheFileWhichThenGoesOn) {
  const Outcome stopped = run_tool(signalled_run(kOnTheCpu, path(), "INT"));
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
  const RunRecord part = record();
  EXPECT_TRUE(part.interrupted);
  std::int64_t unreached = 0;
  for (const UntimedOperator& each : part.untimed) unreached += each.count;
  EXPECT_EQ(std::ssize(part.entries) + unreached, 8) << "what was not reached is listed";
  EXPECT_FALSE(fs::exists(path("r.json.part")));
  run_tool(kOnTheCpu + " --continue " + path());
  const RunRecord after = record();
  EXPECT_FALSE(after.interrupted);
  EXPECT_TRUE(after.untimed.empty());
  ASSERT_EQ(after.entries.size(), 8u);
  for (const RunEntry& entry : after.entries) {
    ASSERT_EQ(entry.result.measurements.size(), 1u);
    EXPECT_NE(entry.result.measurements[0].stop_reason, StopReason::interrupted);
  }
}

TEST_F(Continue, AKilledRunLeavesItsJournal) {
  run_tool(signalled_run(kOnTheCpu, path(), "KILL"));
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(fs::exists(path("r.json.part")));
  const std::size_t finished = read_run_record(text("r.json.part"), "r.json.part").entries.size();
  EXPECT_GE(finished, 1u);
  EXPECT_LT(finished, 8u);
}

}  // namespace
}  // namespace jitterscope
