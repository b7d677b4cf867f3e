// Processes that end badly, played by shell scripts.
#include "worker/fresh_processes.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

RunRecord record_of_a_sum() {
  RunRecord record;
  record.device.id = "virtual:quiet";
  record.entries.emplace_back().result.subject = Operation::parse("add:count=8");
  return record;
}

// A program in whose folder lie a record, the plans that it was given, and how often it was started. `cases`
// are those of a shell's `case $number in`, and write the record where none is theirs.
class StandIn {
 public:
  /// One with a record of a sum, or one of the caller's.
  explicit StandIn(const std::string& cases, const RunRecord& record = record_of_a_sum()) {
    static int count = 0;
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("jitterscope_worker_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "record") << write_record(record);
    std::ofstream(folder_ / "usage") << write_error(UsageError("no such preset"));
    std::ofstream(folder_ / "missing") << write_error(MissingError("no driver"));
    std::ofstream(folder_ / "failed") << write_error(FailedError("out of memory"));
    std::ofstream(program())
        << "#!/bin/sh\ncd '" << folder_.string()
        << "' || exit 9\necho start >>starts\nnumber=$(wc -l <starts)\ncat >plan$((number))\n"
           "printf %s \"$JITTERSCOPE_KERNEL_FOLDER\" >folder$((number))\ncase $((number)) in\n"
        << cases << "\n*) cat record ;;\nesac\n";
    ::chmod(program().c_str(), 0755);
  }
  ~StandIn() { std::filesystem::remove_all(folder_); }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  std::string program() const { return folder_ / "program"; }
  std::string plan_text(int number) const { return text_of(folder_ / ("plan" + std::to_string(number))); }
  std::string kernel_folder(int number) const {
    return text_of(folder_ / ("folder" + std::to_string(number)));
  }
  WorkerPlan plan(int number) const { return read_plan(plan_text(number)); }
  std::int64_t starts() const {
    const std::string text = text_of(folder_ / "starts");
    return std::ranges::count(text, '\n');
  }
  void forget() const { std::filesystem::remove(folder_ / "starts"); }

 private:
  std::filesystem::path folder_;
};

Plan small_plan(std::uint64_t seed = 1) {
  Plan plan;
  MeasureOptions options;
  options.seed = seed;
  plan.groups = {{{Operation::parse("add:count=8"), options}, {Operation::parse("add:count=9"), options}}};
  return plan;
}

ProcessRecords run_with(const StandIn& stand_in, std::int64_t count, Nanoseconds limit = seconds(60)) {
  return run_in_fresh_processes("virtual:quiet", small_plan(),
                                {.executable = stand_in.program(), .count = count, .time_limit = limit});
}

TEST(FreshProcesses, EachHasAPlanOfItsOwn) {
  const StandIn stand_in("");
  EXPECT_THAT(run_with(stand_in, 3).records, SizeIs(3));
  std::vector<std::uint64_t> seeds;
  for (int number = 1; number <= 3; ++number) {
    const WorkerPlan plan = stand_in.plan(number);
    EXPECT_EQ(plan.device, "virtual:quiet");
    EXPECT_EQ(plan.parent, ::getpid());
    EXPECT_EQ(plan.plan.ceilings, number == 1);  // the device's best rates are the same in all
    ASSERT_THAT(plan.plan.groups, SizeIs(1));
    ASSERT_THAT(plan.plan.groups[0], SizeIs(2));
    for (const Trial& trial : plan.plan.groups[0]) EXPECT_EQ(trial.options.seed, plan.device_seed);
    EXPECT_LT(plan.device_seed, std::uint64_t{1} << 53);
    seeds.push_back(plan.device_seed);
  }
  EXPECT_TRUE(seeds[0] != seeds[1] && seeds[1] != seeds[2] && seeds[0] != seeds[2]);
  stand_in.forget();
  run_with(stand_in, 3);
  for (int number = 1; number <= 3; ++number) {
    EXPECT_EQ(stand_in.plan(number).device_seed, seeds[static_cast<std::size_t>(number) - 1]);
  }
  stand_in.forget();
  run_in_fresh_processes("virtual:quiet", small_plan(2), {.executable = stand_in.program(), .count = 1});
  EXPECT_NE(stand_in.plan(1).device_seed, seeds[0]);
}

TEST(FreshProcesses, OneCountsLaunches) {
  const StandIn stand_in("");
  Plan plan = small_plan();
  for (Trial& trial : plan.groups[0]) trial.options.counters.emplace();
  run_in_fresh_processes("virtual:quiet", plan, {.executable = stand_in.program(), .count = 2});
  EXPECT_TRUE(stand_in.plan(1).plan.groups[0][1].options.counters.has_value());
  EXPECT_FALSE(stand_in.plan(2).plan.groups[0][1].options.counters.has_value());
}

TEST(FreshProcesses, OneTracesKernels) {
  const StandIn stand_in("");
  Plan plan = small_plan();
  plan.trace_kernels = true;
  run_in_fresh_processes("virtual:quiet", plan, {.executable = stand_in.program(), .count = 2});
  EXPECT_TRUE(stand_in.plan(1).plan.trace_kernels);
  EXPECT_FALSE(stand_in.plan(2).plan.trace_kernels);
}

TEST(FreshProcesses, WhatIsTheSameInAllIsFoundOutOnce) {
  const auto with_verification = [](const StandIn& stand_in) {
    Plan plan = small_plan();
    plan.verify = true;
    run_in_fresh_processes("virtual:quiet", plan, {.executable = stand_in.program(), .count = 3});
    return std::vector<bool>{stand_in.plan(1).plan.verify, stand_in.plan(2).plan.verify,
                             stand_in.plan(3).plan.verify};
  };
  EXPECT_THAT(with_verification(StandIn("")), ElementsAre(true, false, false));
  // The first one has given nothing: the next one finds it out.
  EXPECT_THAT(with_verification(StandIn("1) kill -KILL $$ ;;")), ElementsAre(true, true, false));
}

TEST(FreshProcesses, ShareAFolderOfKernelsThatIsGoneInTheEnd) {
  const StandIn stand_in("1) test -d \"$JITTERSCOPE_KERNEL_FOLDER\" && cat record ;;");
  EXPECT_THAT(run_with(stand_in, 2).records, SizeIs(2));
  EXPECT_EQ(stand_in.kernel_folder(1), stand_in.kernel_folder(2));
  EXPECT_FALSE(stand_in.kernel_folder(1).empty());
  EXPECT_FALSE(std::filesystem::exists(stand_in.kernel_folder(1)));
}

TEST(FreshProcesses, WithoutRoomForKernelsEachCompilesItsOwn) {
  const StandIn stand_in("");
  const char* usual = std::getenv("TMPDIR");
  const std::string before = usual == nullptr ? "" : usual;
  ::setenv("TMPDIR", "/nowhere", 1);
  EXPECT_THAT(run_with(stand_in, 1).records, SizeIs(1));
  usual == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_EQ(stand_in.kernel_folder(1), "");
}

TEST(FreshProcesses, TheBestEngineIsFoundByTheFirst) {
  const std::string convolution = "conv2d:n=2,c=8,hw=8,k=8,rs=3,engine=";
  Plan plan;
  plan.groups = {
      {{Operation::parse(convolution + "autotune"), {}}, {Operation::parse(convolution + "best"), {}}}};
  RunRecord record = record_of_a_sum();
  record.entries.resize(2);
  for (RunEntry& entry : record.entries) {
    entry.result.subject = Operation::parse(convolution + "eng3_k2=1");
    entry.result.algorithm = "eng3_k2=1";
  }
  // The first one gives nothing.
  const StandIn stand_in("1) kill -KILL $$ ;;", record);
  const ProcessRecords found =
      run_in_fresh_processes("virtual:quiet", plan, {.executable = stand_in.program(), .count = 3});
  const auto asked = [&](int process) {
    return Operation(*stand_in.plan(process).plan.groups[0][1].operation());
  };
  EXPECT_EQ(asked(1), *plan.groups[0][1].operation());
  EXPECT_EQ(asked(2), *plan.groups[0][1].operation());
  EXPECT_EQ(asked(3), Operation::parse(convolution + "eng3_k2=1"));
  EXPECT_EQ(*stand_in.plan(3).plan.groups[0][0].operation(), *plan.groups[0][0].operation());
  ASSERT_THAT(found.records, SizeIs(2));
  EXPECT_EQ(std::get<Operation>(found.records[1].entries[1].result.subject), *plan.groups[0][1].operation());
}

TEST(FreshProcesses, APlanForPythonNamesItsCallables) {
  const StandIn stand_in("");
  MeasureOptions options;
  options.caches = {CacheState::dirty};
  const CallablePlan plan{.device = "cuda:1",
                          .groups = {{{"bench.py:old", options}, {"bench.py:new", options}}}};
  const ProcessRecords found = run_in_fresh_processes(plan, {.executable = stand_in.program(), .count = 2});
  EXPECT_THAT(found.records, SizeIs(2));
  const auto first = nlohmann::json::parse(stand_in.plan_text(1)),
             second = nlohmann::json::parse(stand_in.plan_text(2));
  EXPECT_EQ(first["format"], "jitterscope-plan");
  EXPECT_EQ(first["device"], "cuda:1");
  EXPECT_EQ(first["parent"], ::getpid());
  EXPECT_EQ(first["groups"][0][1]["callable"], "bench.py:new");
  EXPECT_EQ(first["groups"][0][0]["options"]["caches"], nlohmann::json::array({"dirty"}));
  EXPECT_NE(first["groups"][0][0]["options"]["seed"], second["groups"][0][0]["options"]["seed"]);
  EXPECT_EQ(first["groups"][0][0]["options"]["seed"], first["groups"][0][1]["options"]["seed"]);
}

TEST(FreshProcesses, ASignalCostsItsOwnDataOnly) {
  const StandIn stand_in("2) echo 'timing add' >&2; kill -KILL $$ ;;\n3) cat record; kill -SEGV $$ ;;");
  const ProcessRecords found = run_with(stand_in, 4);
  EXPECT_THAT(found.records, SizeIs(2));
  EXPECT_FALSE(found.interrupted);
  ASSERT_THAT(found.lost, SizeIs(2));
  EXPECT_EQ(found.lost[0],
            "process 2 was ended by a signal (Killed), perhaps for want of memory (while: timing add)");
  EXPECT_EQ(found.lost[1], "process 3 was ended by a signal (Segmentation fault)");
}

TEST(FreshProcesses, OneThatHangsIsEndedAtItsLimit) {
  const StandIn stand_in("2) echo 'calibrating' >&2; exec sleep 100 ;;");
  const auto start = std::chrono::steady_clock::now();
  const ProcessRecords found = run_with(stand_in, 3, seconds(2));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_THAT(found.records, SizeIs(2));
  EXPECT_THAT(found.lost, ElementsAre("process 2 was not done after 2 s and was ended (while: calibrating)"));
}

TEST(FreshProcesses, PastTheBudgetNoneIsStarted) {
  const StandIn stand_in("1) sleep 0.2; cat record ;;");
  const auto within = [&](Nanoseconds budget) {
    stand_in.forget();
    return run_in_fresh_processes("virtual:quiet", small_plan(),
                                  {.executable = stand_in.program(), .count = 3, .budget = budget});
  };
  EXPECT_THAT(within(milliseconds(100)).records, SizeIs(1));
  EXPECT_THAT(within(milliseconds(300)).records, SizeIs(1)) << "a second one takes another 200 ms";
  const ProcessRecords all = within(seconds(60));
  EXPECT_THAT(all.records, SizeIs(3));
  ASSERT_THAT(all.durations, SizeIs(3));
  EXPECT_GE(all.durations[0], milliseconds(200));
}

// It was asked to end, and handed over what it had: that is no interruption by the user.
TEST(FreshProcesses, APartOfARecordPastTheLimitIsNone) {
  const StandIn stand_in("2) sleep 100 >/dev/null 2>&1 & trap 'kill $!; cat record; exit 0' TERM; wait ;;");
  const ProcessRecords found = run_with(stand_in, 3, seconds(2));
  EXPECT_THAT(found.records, SizeIs(2));
  ASSERT_THAT(found.lost, SizeIs(1));
  EXPECT_THAT(found.lost[0], HasSubstr("process 2 was not done after 2 s"));
}

TEST(FreshProcesses, WhatIsNoRecordIsLost) {
  const StandIn stand_in(
      "2) echo hello ;;\n3) head -c 200 record ;;\n4) ;;\n5) echo '{\"format\": 3}' ;;\n6) echo null ;;\n"
      "7) sed 's/\"run\"/\"compare\"/' record ;;\n8) echo broken >&2; exit 1 ;;");
  const ProcessRecords found = run_with(stand_in, 9);
  EXPECT_THAT(found.records, SizeIs(2));
  ASSERT_THAT(found.lost, SizeIs(7));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_THAT(found.lost[i], testing::StartsWith("process " + std::to_string(i + 2) +
                                                   " wrote no record that can be read (its output: "));
  }
  EXPECT_THAT(found.lost[1], HasSubstr("ends in the middle of a record"));
  EXPECT_EQ(found.lost[6], "process 8 ended with exit code 1 (while: broken)");
}

template <class Thrown>
std::string thrown_by(const StandIn& stand_in, std::int64_t count) {
  try {
    run_with(stand_in, count);
  } catch (const Thrown& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(FreshProcesses, WhereAllFailThereIsTheReason) {
  const StandIn failing("*) cat failed; exit 5 ;;");
  EXPECT_EQ(thrown_by<FailedError>(failing, 8), "process 1 failed: out of memory");
  EXPECT_EQ(failing.starts(), 2);  // two in a row, and none before
  const StandIn single("*) kill -KILL $$ ;;");
  EXPECT_THAT(thrown_by<FailedError>(single, 1), HasSubstr("process 1 was ended by a signal"));
  EXPECT_EQ(single.starts(), 1);
}

TEST(FreshProcesses, AFailureAmongOthersIsLost) {
  const StandIn stand_in("1|3|4|5) cat failed; exit 5 ;;");
  const ProcessRecords found = run_with(stand_in, 6);
  EXPECT_THAT(found.records, SizeIs(2));
  EXPECT_THAT(found.lost, SizeIs(4));
}

TEST(FreshProcesses, WhatWouldBeEveryOnesErrorIsThrownByTheFirst) {
  const StandIn usage("1) cat usage; exit 2 ;;"), missing("1) cat missing; exit 3 ;;");
  EXPECT_EQ(thrown_by<UsageError>(usage, 4), "no such preset");
  EXPECT_EQ(thrown_by<MissingError>(missing, 4), "no driver");
  EXPECT_EQ(usage.starts() + missing.starts(), 2);
}

// A driver that goes away in the third process takes nothing from the first two.
TEST(FreshProcesses, LaterItCostsItsOwnDataOnly) {
  const StandIn stand_in("3) cat missing; exit 3 ;;\n4) cat usage; exit 2 ;;");
  const ProcessRecords found = run_with(stand_in, 5);
  EXPECT_THAT(found.records, SizeIs(3));
  ASSERT_THAT(found.lost, SizeIs(2));
  EXPECT_EQ(found.lost[0], "process 3 failed: no driver");
  EXPECT_THAT(found.lost[1], HasSubstr("no such preset"));
}

TEST(FreshProcesses, AnInterruptionKeepsTheRecordsBefore) {
  const StandIn stand_in("3) echo go >&2; exec sleep 100 ;;");
  bool interrupted = false;
  std::vector<std::string> told;
  const auto progress = [&](const std::string& stage, std::size_t process) {
    told.push_back(std::to_string(process) + " " + stage);
    interrupted = interrupted || stage == "go";
  };
  const ProcessRecords found = run_in_fresh_processes("virtual:quiet", small_plan(),
                                                      {.executable = stand_in.program(),
                                                       .count = 5,
                                                       .interrupted = [&] { return interrupted; },
                                                       .progress = progress});
  EXPECT_THAT(found.records, SizeIs(2));
  EXPECT_TRUE(found.interrupted);
  EXPECT_THAT(found.lost, IsEmpty());
  EXPECT_THAT(told, ElementsAre("1 starting", "2 starting", "3 starting", "3 go"));
}

TEST(FreshProcesses, AnInterruptionOfTheFirstLeavesNothing) {
  const StandIn stand_in("1) exec sleep 100 ;;");
  const ProcessRecords found = run_in_fresh_processes(
      "virtual:quiet", small_plan(),
      {.executable = stand_in.program(), .count = 2, .interrupted = [] { return true; }});
  EXPECT_THAT(found.records, IsEmpty());
  EXPECT_TRUE(found.interrupted);
}

TEST(FreshProcesses, OneAloneThatIsInterruptedGivesWhatItHas) {
  const std::string wait = "echo go >&2; while :; do sleep 0.1; done ;;";
  const auto interrupted_with = [&](const std::string& cases) {
    const StandIn stand_in(cases);
    bool interrupted = false;
    return run_in_fresh_processes(
        "virtual:quiet", small_plan(),
        {.executable = stand_in.program(),
         .count = 1,
         .interrupted = [&] { return interrupted; },
         .progress = [&](const std::string& stage, std::size_t) { interrupted = stage == "go"; }});
  };
  const ProcessRecords answered = interrupted_with("1) trap 'cat record; exit' TERM; " + wait);
  EXPECT_THAT(answered.records, SizeIs(1));
  EXPECT_TRUE(answered.interrupted);
  const ProcessRecords ended = interrupted_with("1) " + wait);
  EXPECT_THAT(ended.records, IsEmpty());
  EXPECT_TRUE(ended.interrupted);
}

TEST(FreshProcesses, AProgramThatIsNotThereIsSaid) {
  EXPECT_THROW(run_in_fresh_processes("cpu", small_plan(), {.executable = "/nonexistent", .count = 2}),
               FailedError);
}

TEST(TimeLimit, IsLongerThanWhatThePlanAllows) {
  Plan plan = small_plan();
  const Nanoseconds short_limit = time_limit_of(plan);
  EXPECT_GT(short_limit, seconds(60));
  for (Trial& trial : plan.groups[0]) {
    trial.options.loads = {Load::burst, Load::sustained};
    trial.options.time_limit = seconds(100);
    trial.options.sustained_time_limit = seconds(50);
    trial.options.iterations = {1000000};
  }
  // Two trials, each in two cache states.
  EXPECT_GT(time_limit_of(plan), short_limit + 2.0 * (seconds(100) + 2.0 * seconds(40)));
}

TEST(TimeLimit, IsOfTheLoadsThatThePlanHas) {
  Plan plan = small_plan();
  const auto limit_of = [&](std::vector<Load> loads, Nanoseconds burst, Nanoseconds sustained) {
    for (Trial& trial : plan.groups[0]) {
      trial.options.loads = loads;
      trial.options.time_limit = burst;
      trial.options.sustained_time_limit = sustained;
    }
    return time_limit_of(plan);
  };
  EXPECT_EQ(limit_of({Load::burst}, seconds(1), seconds(10)),
            limit_of({Load::burst}, seconds(1), seconds(90)));
  EXPECT_EQ(limit_of({Load::sustained}, seconds(1), seconds(10)),
            limit_of({Load::sustained}, seconds(9), seconds(10)));
  EXPECT_GT(limit_of({Load::burst, Load::sustained}, seconds(1), seconds(10)),
            limit_of({Load::burst}, seconds(1), seconds(10)));
}

}  // namespace
}  // namespace jitterscope
