// The first screen of a capture: its sentences hold what was put in.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "base/files.hpp"
#include "capture/capture_info.hpp"
#include "capture/format/arrow_stream.hpp"
#include "commands/capture/details.hpp"
#include "commands/capture/record.hpp"
#include "commands/capture/what_helps.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "timeline/analysis.hpp"
#include "timeline/collectives.hpp"
#include "timeline/exports.hpp"
#include "timeline/made_timeline.hpp"

namespace jitterscope::timeline {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (std::size_t at = 0; (at = text.find("  ", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

std::string shown(const Timeline& timeline, const ShownPage& how = {.width = 100}) {
  return on_one_line(record_text(make_capture_record(timeline, analyse(timeline, {})), how));
}

TEST(CaptureText, BeginsWithTheStepsAndWhetherAllIsThere) {
  const std::string text = shown(test::make_timeline({.steps = 300}));
  EXPECT_THAT(text, AllOf(HasSubstr("**300 steps of "), HasSubstr("on NVIDIA H200 (pid 1 python3 train.py)"),
                          HasSubstr("none lost"), HasSubstr("Nothing was found that the times follow")));
}

TEST(CaptureText, SaysWhereSlowStepsLoseTheirTime) {
  const std::string text =
      shown(test::make_timeline({.steps = 1000, .late_input_every = 25, .records_calls = true}));
  EXPECT_THAT(
      text, ContainsRegex("\\*\\*Every 25th step takes [0-9.]+ ms\\*\\*, the others [0-9.]+ ms \\([0-9.]+ ms "
                          "on average\\): in 40 of them"));
  EXPECT_THAT(
      text, HasSubstr("in 40 of them the GPU idles 9.00 ms longer while the program makes no call to CUDA"));
  EXPECT_THAT(text, HasSubstr("host elsewhere"));
}

// The numbers are those of a capture on an H200 whose other steps were all alike.
TEST(CaptureText, SaysThatAFirstStepIsOne) {
  const Timeline timeline = test::make_timeline({.steps = 300});
  auto record = make_capture_record(timeline, analyse(timeline, {}));
  const Nanoseconds longer = milliseconds(80.1);
  CaptureSlowSteps& slow = record.devices.front().slow.emplace();
  slow.steps = 1;
  slow.of = 2539;
  slow.longer = 50.4;
  slow.traits = {{StepTrait::idle, 1, 0, longer},
                 {StepTrait::loading, 1, 0, longer},
                 {StepTrait::first_steps, 1, 6, longer}};
  EXPECT_THAT(
      on_one_line(record_text(record, ShownPage{.width = 100})),
      HasSubstr(
          "**1 of the first 7 steps** is slow (51.4 times as long): in it the GPU idles 80.1 ms longer, "
          "and a module or a kernel is loaded."));
}

TEST(CaptureText, SaysWhichStepsTakeLongerAndByWhat) {
  test::MadeProgram program{.steps = 200, .kernels = 5, .warm_up = 0};
  program.long_kernel_every = 5;
  EXPECT_THAT(
      shown(test::make_timeline(program)),
      AllOf(ContainsRegex("A step takes [0-9.]+ (µs|ms) on average; p95 [0-9.]+ (µs|ms), p99 [0-9.]+"),
            ContainsRegex("1\\. \\*\\*Every 5th step takes [0-9.]+ (µs|ms)\\*\\*, the others [0-9.]+ (µs|ms) "
                          "\\([0-9.]+ (µs|ms) on average\\)"),
            HasSubstr("; kernel_2 [132] takes ")));
  program.long_kernel_every = 0;
  EXPECT_THAT(shown(test::make_timeline(program)), Not(HasSubstr("on average")));
  program.late_by_chance_us = 500.0;
  EXPECT_THAT(
      shown(test::make_timeline(program)),
      AllOf(ContainsRegex("\\*\\*[0-9.]+ % of steps take [0-9.]+ ms\\*\\*, the others [0-9.]+ (µs|ms)[;:]"),
            HasSubstr("longer before kernel_0 [132]")));
}

// One step in ten is 0.1 ms longer than 5.
TEST(CaptureText, CountsCausesOfNextToNothing) {
  const test::MadeProgram program{.steps = 2000, .late_by_chance_us = 100.0};
  EXPECT_THAT(shown(test::make_timeline(program)),
              HasSubstr("1 cause of less than 0.5 % of the time: --details"));
}

TEST(CaptureText, SaysWhenStepsTookLongerForAWhile) {
  test::MadeProgram program{.steps = 2000};
  program.slow_host_from = 400;
  program.slow_host_to = 600;
  EXPECT_THAT(shown(test::make_timeline(program)),
              AllOf(ContainsRegex("\\*\\*Steps take [0-9.]+ % longer from [0-9.]+ s to [0-9.]+ s\\*\\*"),
                    HasSubstr("longer in each, and works as long as ever")));
}

TEST(CaptureText, SaysFromWhichStepOnAllTakeLonger) {
  test::MadeProgram program{.steps = 200, .kernels = 5};
  program.slower_from = 120;
  program.slower = 0.1;
  const std::string text = shown(test::make_timeline(program));
  EXPECT_THAT(text,
              AllOf(ContainsRegex("^\\*\\*120 steps of [0-9.]+ ms ± [0-9.]+ %, then 7[0-9] of "),
                    ContainsRegex("\\*\\*From step 121 on steps take [0-9.]+ % longer\\*\\*, to the end"),
                    HasSubstr("5 kernels change together"), Not(HasSubstr("factor common"))));
  program.slower = -0.1;
  EXPECT_THAT(
      shown(test::make_timeline(program)),
      ContainsRegex("\\*\\*From step 121 on steps take [0-9.]+ % less\\*\\*.*works [0-9.]+ µs less in each"));
}

TEST(CaptureText, SaysThatAStepIsSoManyRepetitions) {
  const std::string text = shown(
      test::make_timeline({.steps = 200, .kernels = 5, .step_gap_us = 0.0, .extra_every = 10, .warm_up = 0}));
  EXPECT_THAT(text, ContainsRegex("A step is 10 times the same 5 launches, of [0-9.]+ ms in the median, and "
                                  "kernel_5 \\[132\\] \\([0-9.]+ µs\\): layers .* of which every 10th has"));
}

TEST(CaptureText, NamesTheTableOnlyWhereItNamesSomething) {
  EXPECT_THAT(shown(test::make_timeline({.steps = 300})),
              HasSubstr("Nothing was found that the times follow. "));
  EXPECT_THAT(shown(test::make_timeline({.steps = 300, .place_slows = 0.2})),
              HasSubstr("Nothing was found that the times follow, beyond what the table names. "));
}

TEST(CaptureText, LeavesNoColumnOutOfTheDetails) {
  const Timeline timeline = test::make_timeline({.steps = 300, .place_slows = 0.2});
  EXPECT_THAT(shown(timeline, {.width = 80}), HasSubstr("Left out at 80 columns"));
  EXPECT_THAT(shown(timeline, {.width = 80, .details = true}), Not(HasSubstr("Left out")));
}

// A memset is no copy, whichever of the two are there.
TEST(CaptureText, CountsCopiesAndMemsetsApart) {
  Timeline timeline = test::make_timeline({.steps = 300, .kernels = 5, .copy_slows = 0.0, .warm_up = 0});
  EXPECT_THAT(shown(timeline), HasSubstr("1501 kernels, 150 copies, none lost"));
  Process& process = timeline.processes[0];
  WorkName set;
  set.kind = WorkKind::set;
  set.to = capture::MemoryKind::device;
  process.names.push_back(set);
  // Each third copy is a memset.
  std::size_t copies = 0;
  for (std::uint32_t& what : process.devices[0].what) {
    if (process.names[what].kind == WorkKind::copy && copies++ % 3 == 0)
      what = static_cast<std::uint32_t>(process.names.size() - 1);
  }
  const CaptureRecord record = make_capture_record(timeline, analyse(timeline, {}));
  EXPECT_EQ(record.devices[0].kernels, 1501);
  EXPECT_EQ(record.devices[0].copies, 100);
  EXPECT_EQ(record.devices[0].sets, 50);
  EXPECT_THAT(on_one_line(record_text(record, {.width = 100})),
              HasSubstr("1501 kernels, 100 copies, 50 memsets, none lost"));
  const Json json = Json::parse(write_record(record));
  EXPECT_EQ(json.at("devices")[0].at("copies"), 100);
  EXPECT_EQ(json.at("devices")[0].at("memsets"), 50);
}

// What helps is said by what most of the idle time is, with the next command only where that would run.
TEST(CaptureText, SaysWhatHelpsAGpuThatIdles) {
  CaptureRecord record;
  record.source = "my trace.json";
  record.devices.resize(1);
  CaptureDevice& device = record.devices[0];
  const auto with = [&](double busy, std::vector<CaptureIdle> idle) {
    device.busy = busy;
    device.idle = std::move(idle);
    return what_helps(record, device);
  };
  EXPECT_EQ(with(0.9, {{IdleCause::launch, 0.1}}), "");
  EXPECT_EQ(with(0.3, {{IdleCause::unknown, 0.7}}), "");
  EXPECT_EQ(with(0.3, {}), "");
  EXPECT_THAT(
      with(0.3, {{IdleCause::host_elsewhere, 0.2}, {IdleCause::launch, 0.2}, {IdleCause::allocation, 0.3}}),
      AllOf(HasSubstr("mode=\"reduce-overhead\""), HasSubstr("larger batch"), Not(HasSubstr("Next"))));
  record.can_be_run = true;
  EXPECT_THAT(with(0.3, {{IdleCause::synchronization, 0.5}}),
              AllOf(HasSubstr(".item()"), HasSubstr("`jitterscope advise 'my trace.json'`"),
                    HasSubstr("`jitterscope run 'my trace.json'`")));
  EXPECT_THAT(with(0.3, {{IdleCause::between_kernels, 0.5}}), HasSubstr("fused"));
  EXPECT_THAT(with(0.3, {{IdleCause::allocation, 0.5}}), HasSubstr("empty_cache()"));
  EXPECT_THAT(with(0.3, {{IdleCause::loading, 0.5}}), HasSubstr("warm-up"));
  EXPECT_THAT(with(0.3, {{IdleCause::other_stream, 0.5}}), HasSubstr("Streams wait"));
}

TEST(CaptureText, DoesNotInventSteps) {
  Timeline timeline = test::make_timeline({.steps = 0, .warm_up = 3000});
  EXPECT_THAT(shown(timeline),
              AllOf(HasSubstr("**No steps were found**"),
                    HasSubstr("no kernel comes back at equal distances"), Not(HasSubstr("--ranges"))));
  const Time begin = timeline.processes[0].devices[0].begin.front();
  for (Time i = 0; i < 6; ++i)
    timeline.processes[0].ranges.push_back({"one batch", {begin + 1000 * i, begin + 1000 * i + 500}});
  EXPECT_THAT(shown(timeline), HasSubstr("ranges of the program's own: --ranges 'one batch'"));
}

TEST(CaptureText, ShortensALongCommand) {
  Timeline timeline = test::make_timeline({.steps = 100});
  timeline.processes[0].label = "pid 7 python3 train.py --data " + std::string(100, 'x') + " --batch 256";
  EXPECT_THAT(shown(timeline), HasSubstr("(pid 7 python3 train.py --data …)"));
}

// Whoever captured ranges need not name them again.
TEST(CaptureText, TakesTheRangesOfTheCaptureAsSteps) {
  Timeline timeline = test::make_timeline({.steps = 0, .warm_up = 3000});
  const DeviceWork& work = timeline.processes[0].devices[0];
  for (std::size_t i = 0; i < 30; ++i)
    timeline.processes[0].ranges.push_back({"batch", {work.begin[100 * i], work.end[100 * i + 99]}});
  timeline.info.emplace().settings.ranges = "batch";
  EXPECT_THAT(shown(timeline), HasSubstr("steps of"));
  timeline.info->settings.ranges = "other";
  EXPECT_THAT(shown(timeline), HasSubstr("**No steps were found**"));
}

TEST(CaptureText, BeginsWithAGpuThatMostlyIdles) {
  EXPECT_THAT(shown(test::make_timeline({.steps = 300, .step_gap_us = 20'000.0})),
              HasSubstr("1. **The GPU idles 8"));
}

TEST(CaptureText, SaysThatAnotherProcessWasThereAllTheTime) {
  Timeline timeline = test::make_timeline({.steps = 300, .other_process_slows = 1e-9});
  EXPECT_THAT(shown(timeline), Not(HasSubstr("Another process")));
  for (std::uint32_t& count : timeline.sensors.other_processes) count = 1;
  EXPECT_THAT(shown(timeline), HasSubstr("Another process was on this GPU all the time"));
}

TEST(CaptureText, NamesWhatWasLost) {
  Timeline timeline = test::make_timeline({.steps = 100});
  timeline.processes[0].losses.push_back({{0, 1}, capture::LossKind::dropped, 1234, "CUPTI dropped them"});
  const std::string text = shown(timeline);
  EXPECT_THAT(text, AllOf(HasSubstr("**not complete**"), HasSubstr("lost: 1234"),
                          HasSubstr("1234: CUPTI dropped them"), Not(HasSubstr("none lost"))));
  timeline.processes[0].is_complete = false;
  EXPECT_THAT(shown(timeline), HasSubstr("its last second may be missing"));
}

TEST(CaptureText, OfNothingSaysSo) {
  Timeline timeline;
  timeline.source = "a.capture";
  EXPECT_THAT(shown(timeline), HasSubstr("**Nothing was captured** in 'a.capture'"));
}

// A capture whose processes have left their files without the end.
TEST(CaptureFolder, TellsHowEachProcessEnded) {
  const TemporaryFolder folder;
  const auto add_process = [&](int pid, int begin, bool is_whole) {
    const std::filesystem::path process = folder.path() / fmt::format("p{}-{}", pid, begin);
    std::filesystem::create_directory(process);
    capture::TableWriter<capture::Losses> losses(process.string());
    capture::TableWriter<capture::Kernels> kernels(process.string());
    losses.reserve(0);
    describe(kernels.rows, [](const char*, auto& column) { column.push_back(1); });
    kernels.write();
    if (is_whole) {
      losses.finish();
      kernels.finish();
    }
    std::ofstream(process / "process.json") << fmt::format(R"({{"pid": {}, "command": ["train"]}})", pid);
  };
  add_process(10, 1, false);
  add_process(11, 1, false);
  add_process(12, 1, false);
  add_process(12, 2, true);
  add_process(13, 1, false);
  add_process(14, 1, true);
  std::filesystem::remove(folder.path() / "p14-1" / "process.json");
  capture::CaptureInfo info;
  const auto sentences = [&] {
    capture::write_capture_info(folder.path(), info);
    std::vector<std::string> found;
    const Timeline timeline = read_capture(folder.path().string());
    for (const CaptureLoss& loss : make_capture_record(timeline, analyse(timeline, {})).losses) {
      const std::size_t last_colon = loss.sentence.rfind(": what it did in its last second is missing");
      found.push_back(loss.sentence.substr(0, last_colon));
    }
    return found;
  };
  constexpr const char* kUnknown = ": the process has not ended yet, or was ended together with the capture";
  constexpr const char* kOther = "pid 12 train: the process became another program (exec)";
  constexpr const char* kNotWhole =
      "p14-1: its process.json is not whole: the disk was full, or the process was ended as it began";
  EXPECT_THAT(sentences(),
              testing::IsSupersetOf({std::string("pid 10 train") + kUnknown, std::string(kOther),
                                     std::string("pid 13 train") + kUnknown, std::string(kNotWhole)}));
  info.end = 5;
  info.ended = {{.pid = 10, .exit_code = -1, .signal = SIGKILL}, {.pid = 11, .exit_code = 3}};
  EXPECT_THAT(
      sentences(),
      testing::IsSupersetOf(
          {std::string("pid 10 train: the process was ended by signal 9 (Killed)"),
           std::string("pid 11 train: the process ended with 3 before its last records were written (by "
                       "_exit, for one)"),
           std::string(kOther), std::string("pid 13 train: the process was ended (killed, or by _exit)")}));
}

TEST(CaptureText, SaysOnceWhatWasLostAgainAndAgain) {
  Timeline timeline = test::make_timeline({.steps = 100});
  for (int i = 0; i < 14; ++i)
    timeline.processes[0].losses.push_back(
        {{i, i + 1}, capture::LossKind::dropped, 10, "CUPTI dropped them"});
  const std::string text = shown(timeline);
  EXPECT_THAT(text, HasSubstr("140: CUPTI dropped them (14 times)"));
  EXPECT_EQ(text.find("CUPTI dropped them"), text.rfind("CUPTI dropped them"));
}

// Two ranks of a training with a collective at the end of each step, to which one of them comes later.
Timeline two_ranks(double slower, bool in_one_group = true) {
  Timeline timeline;
  timeline.source = "made";
  Random random(1);
  Time ready[2] = {1'700'000'000'000'000'000, 1'700'000'000'000'003'000};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    Process process;
    process.label = fmt::format("pid {} python3 train.py", 10 + rank);
    process.rank = rank;
    process.names = {{.name = "gemm"}, {.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}};
    process.devices.emplace_back().device = rank;
    timeline.processes.push_back(std::move(process));
  }
  const auto add = [&](std::uint32_t rank, std::uint32_t what, Time begin, Time end) {
    DeviceWork& work = timeline.processes[rank].devices[0];
    work.begin.push_back(begin);
    work.end.push_back(end);
    work.what.push_back(what);
    work.stream.push_back(7 + what);
    work.correlation.push_back(0);
  };
  for (int step = 0; step < 100; ++step) {
    Time come[2];
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      Time time = ready[rank];
      for (int i = 0; i < 10; ++i) {
        const auto length =
            static_cast<Time>(100'000 * (rank == 1 ? 1.0 + slower : 1.0) * std::exp(0.003 * random.normal()));
        add(rank, 0, time, time + length);
        time += length + 1000;
      }
      come[rank] = time;
    }
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const Time end =
          in_one_group ? std::max(come[0], come[1]) + 200'000 : come[rank] + 200'000 + 150'000 * rank;
      add(rank, 1, come[rank], end);
      ready[rank] = end + 20'000;
    }
  }
  return timeline;
}

TEST(CollectiveWaits, AreOfTheRankThatComesFirst) {
  const Timeline timeline = two_ranks(0.1);
  const std::vector<CollectiveWaits> waits = collective_waits(timeline);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].collectives, 100u);
  EXPECT_EQ(waits[0].last, 0u);
  EXPECT_EQ(waits[1].last, 100u);
  EXPECT_NEAR(waits[0].seconds, 100 * 10 * 10e-6, 0.3e-3);  // ten kernels of 100 µs, a tenth longer
  EXPECT_DOUBLE_EQ(waits[1].seconds, 0.0);
  EXPECT_THAT(shown(timeline), AllOf(HasSubstr("**Waiting for other GPUs** in collectives takes 7"),
                                     HasSubstr("of rank 0's time; rank 1 came last in 100 % of 100"),
                                     HasSubstr("| rank 0 |"), HasSubstr("| rank 1 |")));
  const std::string one =
      on_one_line(record_text(make_capture_record(timeline, analyse(timeline, {1, ""})), {.width = 100}));
  EXPECT_THAT(one, AllOf(HasSubstr("pid 11"), Not(HasSubstr("pid 10")), Not(HasSubstr("Waiting"))));
  EXPECT_THROW(analyse(timeline, {7, ""}), UsageError);
}

TEST(CollectiveWaits, AreNotToldOfGpusThatHaveGroupsOfTheirOwn) {
  EXPECT_TRUE(collective_waits(two_ranks(0.1, false)).empty());
  Timeline one = two_ranks(0.1);
  one.processes.pop_back();
  EXPECT_TRUE(collective_waits(one).empty());
}

TEST(CaptureRecord, IsReadAsItWasWritten) {
  test::MadeProgram with_levels{.steps = 600, .kernels = 5, .step_gap_us = 0.0, .extra_every = 10};
  with_levels.slower_from = 300;
  with_levels.slower = -0.1;
  for (const test::MadeProgram& program :
       {test::MadeProgram{.steps = 1000, .late_input_every = 25, .copy_slows = 0.05, .records_calls = true},
        with_levels}) {
    const Timeline timeline = test::make_timeline(program);
    const CaptureRecord record = make_capture_record(timeline, analyse(timeline, {}));
    EXPECT_EQ(record.devices[0].levels.has_value(), program.slower != 0.0);
    EXPECT_EQ(record.devices[0].repetition.has_value(), program.slower != 0.0);
    const std::string text = write_record(record);
    const AnyRecord read = read_record(text, "capture.json");
    ASSERT_TRUE(std::holds_alternative<CaptureRecord>(read));
    EXPECT_EQ(write_record(std::get<CaptureRecord>(read)), text);
    EXPECT_EQ(record_text(read, {.width = 100}).lines(), record_text(record, {.width = 100}).lines());
    EXPECT_EQ(plots_of(read).size(), 3u);
  }
}

// Whatever is no capture is refused with one sentence that says what it is not.
TEST(ReadTimeline, OfWhatIsNoneSaysSo) {
  const TemporaryFolder folder;
  const auto problem_of = [&](const std::string& name, const std::string& content) -> std::string {
    const std::filesystem::path file = folder.path() / name;
    std::ofstream(file, std::ios::binary) << content;
    try {
      read_timeline(file);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(problem_of("empty", ""), HasSubstr("empty: this file is empty"));
  EXPECT_THAT(
      problem_of("a.png", "\x89PNG\r\n\x1a\n"),
      HasSubstr(
          "a.png: this is no capture, no trace of torch.profiler and no SQLite file of Nsight Systems"));
  EXPECT_THAT(problem_of("a.sqlite", std::string("SQLite format 3\0and nothing", 27)),
              HasSubstr("the file ends early, or is damaged: SQLite cannot read it"));
  EXPECT_THROW(read_timeline(folder.path() / "missing"), UsageError);
  EXPECT_THROW(read_timeline(folder.path()), UsageError);  // a folder without capture.json
  for (const char* const head :
       {R"({"format": "jitterscope-capture", "version": 99})", R"({"format": "another", "version": 1})"}) {
    std::filesystem::create_directories(folder.path() / "p1-1");
    std::ofstream(folder.path() / "p1-1" / "process.json") << R"({"pid": 1, "command": ["train"]})";
    std::ofstream(folder.path() / "capture.json") << head;
    EXPECT_THROW(read_timeline(folder.path()), UsageError) << head;
  }
  // One that was cut short loses what it says, and nothing else.
  std::ofstream(folder.path() / "capture.json") << R"({"format": "jitterscope-cap)";
  const Timeline timeline = read_timeline(folder.path());
  EXPECT_EQ(timeline.processes.size(), 1u);
  EXPECT_EQ(timeline.problems.size(), 1u);
}

// Times that cannot be are told, and nothing is computed with them.
TEST(ReadCapture, MendsTimesThatCannotBe) {
  const TemporaryFolder folder;
  const std::filesystem::path process = folder.path() / "p1-1";
  std::filesystem::create_directory(process);
  std::ofstream(process / "process.json") << R"({"pid": 1, "command": ["train"]})";
  capture::TableWriter<capture::Launches> launches(process.string());
  capture::TableWriter<capture::Kernels> kernels(process.string());
  const auto add_row = [](auto& table) {
    capture::describe(table.rows,
                      []<class Value>(const char*, std::vector<Value>& column) { column.emplace_back(); });
  };
  add_row(launches);
  for (const auto& [start, duration] :
       {std::pair<Time, Time>{INT64_MIN, 5}, {INT64_MAX, INT64_MAX}, {1000, -7}, {500, 100}}) {
    add_row(kernels);
    kernels.rows.start.back() = start;
    kernels.rows.duration.back() = duration;
  }
  EXPECT_EQ(launches.write(), 0);
  EXPECT_EQ(kernels.write(), 0);
  const Timeline timeline = read_capture(folder.path().string());
  const DeviceWork& work = timeline.processes.at(0).devices.at(0);
  EXPECT_EQ(work.begin, (std::vector<Time>{0, 500, 1000, kLatest}));
  EXPECT_EQ(work.end, (std::vector<Time>{5, 600, 1000, 2 * kLatest}));
  EXPECT_THAT(shown(timeline),
              HasSubstr("4: kernels.arrows: times that are negative or beyond the year 2042"));
}

TEST(CaptureKernels, AreChosenByTheirNames) {
  const Timeline timeline = test::make_timeline({.steps = 300, .place_slows = 0.2});
  const Analysis analysis = analyse(timeline, {});
  const std::string text = capture_kernels_text(timeline, analysis, "kernel_0$", {});
  EXPECT_THAT(text, AllOf(HasSubstr("**kernel_0**"), HasSubstr("132 × 1 × 1 blocks of 256 × 1 × 1 threads"),
                          HasSubstr("follows place in the step"), Not(HasSubstr("kernel_1"))));
  EXPECT_THROW(capture_kernels_text(timeline, analysis, "nothing", {}), UsageError);
  EXPECT_THROW(capture_kernels_text(timeline, analysis, "(", {}), UsageError);
}

TEST(CaptureStep, TheSlowestIsTheOneThatWaited) {
  const Timeline timeline = test::make_timeline({.steps = 300, .late_input_every = 100});
  const Analysis analysis = analyse(timeline, {});
  EXPECT_THAT(on_one_line(std::string(capture_step_text(timeline, analysis, std::nullopt, {.width = 100}))),
              HasSubstr("the longest gap is 9.0"));
  EXPECT_THAT(std::string(capture_step_text(timeline, analysis, 1, {.width = 100})),
              HasSubstr("**Step 1 of 300**"));
  EXPECT_THROW(capture_step_text(timeline, analysis, 301, {}), UsageError);
}

TEST(ShortName, LeavesOutNamespacesArgumentsAndTemplates) {
  WorkName name;
  name.name =
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_";
  EXPECT_EQ(short_name(name), "vectorized_elementwise_kernel");
  name.name = "sm90_xmma_wgrad_implicit_gemm";
  EXPECT_EQ(short_name(name), "sm90_xmma_wgrad_implicit_gemm");
  // CUTLASS's kernels, one of them as cuDNN has it: the demangler gives up on it.
  name.name = "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(cutlass_80_simt::Params)";
  EXPECT_EQ(short_name(name), "cutlass_80_simt_sgemm_64x64_8x5_tn_align1");
  name.name =
      "void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::reduction::kernel::ReduceSplitK<cutlass__5x_cudnn::"
      "MatrixShape<1, 1>>>(Params)";
  EXPECT_EQ(short_name(name), "ReduceSplitK");
  name.name = "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS1_11threadblockE";
  EXPECT_EQ(short_name(name), "ImplicitGemmConvolution");
  name.name = "_ZN3cutE";
  EXPECT_EQ(short_name(name), "cut");
  name.name = "_Z9999999999999999999999x";
  EXPECT_EQ(short_name(name), name.name);
  name.kind = WorkKind::copy;
  name.from = capture::MemoryKind::pinned;
  name.to = capture::MemoryKind::device;
  EXPECT_EQ(short_name(name), "copy from pinned memory to the GPU");
  name.kind = WorkKind::set;
  EXPECT_EQ(short_name(name), "memset on the GPU");
}

// Launches a second, with and without recording in turn.
constexpr Span kAlways{std::numeric_limits<Time>::min() / 2, std::numeric_limits<Time>::max() / 2};

TEST(RecordingCost, IsTheDifferenceOfTheRates) {
  Process process;
  Random random(1);
  constexpr Time kSecond = 1'000'000'000;
  double launches = 0.0;
  Time time = 0;
  const auto window = [&](capture::Detail detail, int tenths) {
    process.windows.push_back({{time, time + tenths * kSecond / 10}, detail});
    for (int i = 0; i < tenths; ++i) {
      launches += (detail == capture::Detail::off ? 1050.0 : 1000.0) * (1.0 + 0.002 * random.normal());
      time += kSecond / 10;
      process.launch_counts.time.push_back(time);
      process.launch_counts.launches.push_back(static_cast<std::uint64_t>(launches));
    }
  };
  for (int i = 0; i < 8; ++i) {
    window(capture::Detail::light, 130);
    window(capture::Detail::off, 20);
  }
  window(capture::Detail::light, 130);
  const std::optional<RecordingCost> cost = recording_cost(process, kAlways);
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->ratio, 0.05, 0.003);
  EXPECT_LE(cost->interval.low, 0.05);
  EXPECT_GE(cost->interval.high, 0.05);
  ASSERT_TRUE(cost->null_ratio);
  EXPECT_NEAR(*cost->null_ratio, 0.0, 0.003);
  // What lies in front of the first step is no part of it: one window is not enough.
  EXPECT_FALSE(recording_cost(process, {process.windows[13].span.begin, time}));
  process.windows.clear();
  EXPECT_FALSE(recording_cost(process, kAlways));
}

}  // namespace
}  // namespace jitterscope::timeline
