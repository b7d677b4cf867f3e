#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/attached_process.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "capture/watch.hpp"
#include "cli/command_line.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "commands/capture/cost.hpp"
#include "commands/capture/show_command.hpp"
#include "measure/machine.hpp"
#include "output/text.hpp"

namespace jitterscope::cli {
namespace {

using capture::Watched;

// Of `env`, `timeout` and `nohup`: they failed themselves, and the program has not.
constexpr int kOwnFailure = 125;

struct CaptureFlags {
  std::vector<std::string> words;  ///< that stand where the program is expected, without --
  std::string folder, detail = "mixed", graphs = "node", start_after = "0s", duration = "0s", ranges;
  int cost = 0;
  bool calls = false, require = false;
};

constexpr const char* kCaptureExamples = R"(Examples:
  jitterscope capture -- python3 train.py
  jitterscope capture -o friday.capture --detail light -- torchrun --nproc-per-node 8 train.py
  jitterscope capture --start-after 20s --duration 60s -- ./serve --port 8000
  jitterscope capture --ranges step --start-after 100steps --duration 50steps -- python3 train.py
  jitterscope capture --calls --detail light -- python3 train.py
  jitterscope capture --cost 10 -- ./train --steps 100

The program runs as without jitterscope: its streams, signals and terminal are its own.

Exit codes: the program's own, 128 + N where signal N ended it, 126 it cannot be started, 127 it is not there; 125 jitterscope failed before the program began, or --require asks for more than was captured; 2 usage.)";

template <class Choice>
Choice choice_of(const std::string& word) {
  Choice choice{};
  for (const Choice each : capture::enumerators(choice)) {
    if (to_string(each) == word) choice = each;
  }
  return choice;
}

void say(const std::string& sentence) {
  std::fputs(fmt::format("jitterscope: {}\n", harmless_lines(sentence)).c_str(), stderr);
}

std::string name_of(const std::vector<std::string>& command) {
  return std::filesystem::path(command.front()).filename().string();
}

std::string processes_text(std::size_t count) {
  return count == 1 ? "1 process" : fmt::format("{} processes", count);
}

std::string how_it_ended(int exit_code) {
  const int signal = exit_code - 128;
  if (signal > 0 && signal < NSIG)
    return fmt::format("was ended by signal {} ({})", signal, ::strsignal(signal));
  return fmt::format("ended with {}", exit_code);
}

Bytes size_of(const std::filesystem::path& folder) {
  std::uintmax_t size = 0;
  std::error_code problem;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, problem)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) size += entry.file_size(ignored);
  }
  return Bytes(static_cast<std::int64_t>(size));
}

std::string what_was_captured(const Watched& watched, const std::string& name) {
  const auto nanoseconds = static_cast<double>(*watched.info.end - watched.info.begin);
  return fmt::format("{} of {} captured in {}, {}; see: jitterscope capture show {}",
                     processes_text(watched.processes.size()), name, duration_text(Nanoseconds(nanoseconds)),
                     bytes_text(size_of(watched.folder)), watched.folder.string());
}

std::string why_nothing(const Watched& watched, const std::string& name) {
  const std::string reason = capture::why_out_of_reach(program_file(watched.info.command.front()));
  if (!reason.empty())
    return fmt::format("{} {}, so that no recorder can be put into it: nothing was captured", name, reason);
  return fmt::format("{} {} and never initialised CUDA: nothing was captured", name,
                     how_it_ended(watched.exit_code));
}

// Returns a sentence for each thing that is wrong with the capture.
std::vector<std::string> what_is_wrong(const Watched& watched) {
  std::vector<std::string> sentences;
  const auto refused = std::ranges::find_if(
      watched.processes, [](const capture::ProcessInfo& each) { return !each.problem.empty(); });
  if (refused != watched.processes.end()) {
    sentences.push_back(fmt::format("process {} was not recorded: {}", refused->pid, refused->problem));
  } else if (!watched.has_work) {
    sentences.emplace_back("CUDA was initialised, but no kernel and no copy was recorded");
  }
  // One that was not recorded has said so.
  if (watched.has_losses && refused == watched.processes.end())
    sentences.emplace_back("something was lost or not recorded; capture show says what");
  if (!watched.problem.empty()) {
    sentences.push_back(watched.problem);
  } else if (!watched.info.missing_samples.empty()) {
    sentences.push_back(joined(watched.info.missing_samples));
  }
  return sentences;
}

// A time, or a number of ranges of a name.
struct Extent {
  std::uint64_t milliseconds = 0, steps = 0;
};

Extent extent_of(const std::string& flag, const std::string& text, const std::string& ranges) {
  const std::size_t unit = text.find("step");
  if (unit == std::string::npos || (text.substr(unit) != "step" && text.substr(unit) != "steps"))
    return {static_cast<std::uint64_t>(1e3 * std::stod(duration_in(flag, seconds(1))(text))), 0};
  const std::optional<std::int64_t> count = read_count(text.substr(0, unit));
  if (!count || *count < 1)
    throw UsageError(fmt::format("{}: '{}' is no number of steps, as 100steps", flag, text));
  if (ranges.empty()) {
    throw UsageError(fmt::format(
        "{} {} needs --ranges NAME: what a step is, only the program's own ranges (NVTX) tell while it "
        "runs; without them name a time, as 20s",
        flag, text));
  }
  return {0, static_cast<std::uint64_t>(*count)};
}

capture::WatchRequest request_of(const CaptureFlags& flags, const Invocation& invocation) {
  capture::WatchRequest request;
  request.command = invocation.program;
  request.folder = flags.folder;
  request.settings.detail = choice_of<capture::DetailChoice>(flags.detail);
  request.settings.graphs = choice_of<capture::GraphChoice>(flags.graphs);
  request.settings.calls = flags.calls;
  const Extent start_after = extent_of("--start-after", flags.start_after, flags.ranges);
  const Extent duration = extent_of("--duration", flags.duration, flags.ranges);
  request.settings.start_after_ms = start_after.milliseconds;
  request.settings.start_after_steps = start_after.steps;
  request.settings.duration_ms = duration.milliseconds;
  request.settings.duration_steps = duration.steps;
  request.settings.ranges = flags.ranges;
  request.environment = read_environment(invocation.command_line);
  request.ignored_signals = signals_ignored_before();
  request.left_behind = [name = name_of(invocation.program)](std::size_t processes) {
    say(fmt::format("{} has ended and left {}, waited for now (Ctrl-C twice ends the waiting)", name,
                    processes_text(processes)));
  };
  return request;
}

// Says what came of it, and returns the exit code.
int tell(const Watched& watched, bool is_required) {
  const std::string& program = watched.info.command.front();
  const std::string name = name_of(watched.info.command);
  if (!watched.start_problem.empty()) {
    say(fmt::format("{} cannot be started: {}", program, watched.start_problem));
    return watched.exit_code;
  }
  if (watched.processes.empty()) {
    say(why_nothing(watched, name));
    return watched.exit_code;
  }
  say(what_was_captured(watched, name));
  for (const std::string& sentence : what_is_wrong(watched)) say(sentence);
  const bool is_refused = std::ranges::any_of(
      watched.processes, [](const capture::ProcessInfo& each) { return !each.problem.empty(); });
  return is_required && (is_refused || !watched.has_work) ? kOwnFailure : watched.exit_code;
}

int capture_program(const CaptureFlags& flags, const capture::WatchRequest& request) {
  // Whoever closed our stream is not to change the program's exit code.
  const auto without_pipe_signals = [] { std::signal(SIGPIPE, SIG_IGN); };
  if (flags.cost == 0) {
    const Watched watched = capture::watch(request);
    without_pipe_signals();
    return tell(watched, flags.require);
  }
  if (flags.cost < capture::kFewestRuns) {
    throw UsageError(
        fmt::format("--cost {}: runs are compared, and fewer than {} with and without recording say nothing",
                    flags.cost, capture::kFewestRuns));
  }
  const capture::MeasuredCost measured = capture::measure_cost(request, flags.cost);
  without_pipe_signals();
  const int exit_code = tell(measured.first, flags.require);
  if (measured.cost) {
    say(cost_sentence(*measured.cost));
  } else if (!measured.first.processes.empty()) {
    say(fmt::format("a run {}, so that there is no cost to tell", how_it_ended(measured.exit_code)));
  }
  return exit_code != 0 ? exit_code : measured.exit_code;
}

void run_capture(const CaptureFlags& flags, const CLI::App& command, Invocation& invocation) {
  if (!flags.words.empty()) throw UsageError(without_dashes_before(command, flags.words));
  if (invocation.program.empty())
    throw UsageError("capture needs a program to run: jitterscope capture -- COMMAND…");
  const capture::WatchRequest request = request_of(flags, invocation);
  try {
    invocation.exit_code = static_cast<ExitCode>(capture_program(flags, request));
  } catch (const Error& error) {
    say(error.what());
    invocation.exit_code = static_cast<ExitCode>(kOwnFailure);
  }
}

}  // namespace

void add_capture_command(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<CaptureFlags>();
  CLI::App* command = app.add_subcommand(
      "capture", "run a program, unmodified, and record what its work on GPUs does and when");
  command->add_option("command", flags->words, "the program to run, with its arguments, behind --");
  command->add_option("-o,--folder", flags->folder, "new folder for the capture (default: COMMAND.capture)");
  command
      ->add_option(
          "--detail", flags->detail,
          "what is recorded: light (kernels, copies, ranges), full (calls of CUDA and allocations, too), or "
          "mixed (light, with windows of full, from which idle time is explained)")
      ->check(CLI::IsMember({"light", "mixed", "full"}))
      ->capture_default_str();
  command
      ->add_option(
          "--graphs", flags->graphs,
          "how CUDA graphs are recorded: each node, or a launch as a whole, which costs less and shows less")
      ->check(CLI::IsMember({"node", "whole"}))
      ->capture_default_str();
  command
      ->add_option("--start-after", flags->start_after,
                   "record from this long after a process's first use of CUDA on, as 20s; with --ranges also "
                   "after so many of them, as 100steps")
      ->type_name("TIME");
  command
      ->add_option("--duration", flags->duration,
                   "record for this long, as 60s, or with --ranges for so many of them, as 50steps (default: "
                   "to the end)")
      ->type_name("TIME");
  command
      ->add_option(
          "--ranges", flags->ranges,
          "record only while the program's own ranges (NVTX) of this name go on, and in pauses of less "
          "than a second between them")
      ->type_name("NAME");
  command->add_flag(
      "--calls", flags->calls,
      "record calls of cuDNN, cuBLASLt and cuBLAS too, with what they compute, engines and addresses, "
      "so that they can be run again: in windows of full, or with --detail light always");
  command->add_flag("--require", flags->require,
                    "exit code 125 if CUDA was used and not captured, as when another profiler holds it");
  command
      ->add_option(
          "--cost", flags->cost,
          "run the program N times with and N times without recording, in turn, and print what recording "
          "costs it")
      ->type_name("N");
  command->footer(kCaptureExamples);
  add_capture_readers(*command, invocation);
  command->callback([flags, command, &invocation] {
    if (command->get_subcommands().empty()) run_capture(*flags, *command, invocation);
  });
}

}  // namespace jitterscope::cli
