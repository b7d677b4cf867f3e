#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "cli/command_line.hpp"
#include "cli/invocation.hpp"
#include "cli/judge_service.hpp"
#include "cli/judge_setup.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "commands/judge/record.hpp"
#include "judge/untrusted_process.hpp"
#include "operation/words.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

using judging::Verdict;

constexpr std::int64_t kServedSeconds = 600;

constexpr const char* kJudgeExamples = R"(Examples:
  jitterscope judge reference.py candidate.py
  jitterscope judge reference.py:make fast.py:make faster.py:make --cases n=256,1024 --cases dtype=f32,f16
  jitterscope judge reference.py candidate.py --quick --json verdict.json
  jitterscope judge reference.py 'cuda:mine.cu:scale,grid=n/256,block=256,n={n},x=f32[n],y=out:f32[n]' --cases n=1048576
  jitterscope judge reference.py candidate.py --fail-if slower,wrong --margin 2%
  jitterscope judge --replay verdict.json
  jitterscope judge reference.py --quick --serve judge.socket

A reference has one of these forms, and a candidate its counterpart; NAME picks another function or class:
  make(**case), which gives a function and its inputs: return function, [(n, n), (n,)]   make(**case): the function
  class Model, get_inputs(), get_init_inputs(), as KernelBench has                       class ModelNew
  ref_kernel(), generate_input(**case), and task.yml for cases, as kernelbot has         custom_kernel()
  a function and get_inputs()                                                            a function of this name

On a GPU a candidate may be a kernel, cuda:FILE.cu:KERNEL,grid=n/256,block=256,n={n},x=f32[n],y=out:f32[n], in the text
of `run`: the case's inputs are its input buffers in their order, {n} is the value of --cases n=….

Exit codes: 0 a verdict is reached, 1 --fail-if applies, 2 usage, 3 Python or its module jitterscope missing,
4 --precision was given and not reached, or a verdict is undecided although it was given, 5 the reference failed,
6 a candidate is invalid, 130 interrupted.)";

std::vector<Verdict> failing(const std::string& words) {
  std::vector<Verdict> verdicts;
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    if (word != "slower" && word != "wrong") {
      throw UsageError(
          fmt::format("--fail-if: {} is unknown; slower, wrong, or slower,wrong", in_quotes(word)));
    }
    verdicts.push_back(word == "slower" ? Verdict::slower : Verdict::wrong);
    begin = end + 1;
  }
  return verdicts;
}

bool is_imprecise(const judging::CandidateJudgement& candidate, double precision) {
  if (candidate.verdict == Verdict::undecided) return true;
  return candidate.ratio &&
         std::log(candidate.ratio->high / candidate.ratio->low) > 2.0 * std::log1p(precision);
}

ExitCode judge_exit_code(const JudgeRecord& record, const JudgeFlags& flags) {
  const std::vector<Verdict> fails = failing(flags.fail_if);
  const auto any = [&](const auto& holds) { return std::ranges::any_of(record.candidates, holds); };
  if (any([](const auto& each) { return each.verdict == Verdict::invalid; })) return judging::kInvalid;
  if (any([&](const auto& each) { return std::ranges::find(fails, each.verdict) != fails.end(); })) {
    return ExitCode::check_failed;
  }
  if (flags.precision.empty()) return ExitCode::done;
  const double precision = read_percentage("--precision", flags.precision);
  return any([&](const auto& each) { return is_imprecise(each, precision); }) ? ExitCode::imprecise
                                                                              : ExitCode::done;
}

// On a GPU, where a process takes seconds to import PyTorch, several do that together while nothing is timed.
std::size_t ready_at_once(const JudgeSetup& setup) {
  if (!setup.program().is_on_gpu) return 0;
  const auto pairs = static_cast<std::size_t>(setup.request().pairs) * setup.request().cases.size() *
                     std::max<std::size_t>(1, setup.candidates().size());
  constexpr std::size_t kThreadsOfImport = 2;
  return std::min(2 * pairs,
                  std::max<std::size_t>(1, std::thread::hardware_concurrency() / kThreadsOfImport));
}

void judge_all(const JudgeFlags& flags, Invocation& invocation) {
  check_count("--processes", flags.processes, 1, 1000);
  check_count("--deadline", flags.deadline, 1, 86400);
  check_count("--time-limit", flags.time_limit, 0, 86400);
  failing(flags.fail_if);
  if (flags.candidates.empty() && flags.serve.empty() && flags.replay.empty()) {
    throw UsageError("judge takes a reference and at least one candidate");
  }
  if (!flags.serve.empty() && (!flags.candidates.empty() || !flags.replay.empty())) {
    throw UsageError("--serve: candidates come by its socket; name the reference alone");
  }
  RecordFiles files(flags.record);
  JudgeSetup setup(flags, invocation);
  if (flags.dry_run) return print_result(setup.sentence());
  if (!flags.serve.empty()) return serve_judge(flags, setup);
  ProgressLine line(stderr, host_time_now);
  line.show("starting processes", {0, 1});
  judging::ReadyWorkers workers(setup.program(), setup.reference(), setup.request().cases.front(),
                                ready_at_once(setup), setup.fork_server());
  const JudgeRecord record = setup.judge(
      setup.candidates(),
      [&] {
        if (workers.is_empty()) {
          workers.refill();
          workers.settle();
        }
        return workers.take();
      },
      [&](const std::string& what) {
        line.show(what, {1, 1});
      });
  line.clear();
  invocation.exit_code = judge_exit_code(record, flags);
  files.write(record);
}

}  // namespace

void add_judge_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<JudgeFlags>(
      app, "judge", "say whether a function is right and faster, though it may want to cheat", kJudgeExamples,
      [&](JudgeFlags typed, const CLI::App& app_of_command) {
        typed.has_processes = app_of_command.count("--processes") > 0;
        typed.has_margin = app_of_command.count("--margin") > 0;
        if (!typed.serve.empty() && app_of_command.count("--time-limit") == 0)
          typed.time_limit = kServedSeconds;
        judge_all(typed, invocation);
      });
  command.add_option("reference", flags.reference, "FILE.py or FILE.py:NAME: what is right");
  command.add_option("candidates", flags.candidates,
                     "FILE.py or FILE.py:NAME of each candidate, or a kernel, cuda:FILE.cu:KERNEL,grid=…");
  command
      .add_option("--cases", flags.cases,
                  "NAME=VALUE,VALUE: parameters of make(); several flags: all combinations")
      ->allow_extra_args(false);
  command
      .add_option("--device", flags.device,
                  "cpu, cuda or cuda:N; auto: the first GPU if the reference imports torch")
      ->capture_default_str();
  command
      .add_option("--cache", flags.cache,
                  "produced: a call's inputs were just written; cold: no cache has them")
      ->capture_default_str();
  command.add_option("--processes", flags.processes, "pairs of fresh processes")->capture_default_str();
  command.add_flag("--quick", flags.quick,
                   "four pairs, forked from one process that has imported PyTorch, and shorter chains");
  command.add_option("--margin", flags.margin, "difference that counts as the same")->capture_default_str();
  command.add_option(
      "--precision", flags.precision,
      "exit code 4 if a verdict is undecided, or half an interval of a ratio is wider than this");
  command.add_option("--fail-if", flags.fail_if, "exit code 1 if a verdict is one of these: slower, wrong");
  command.add_option("--deadline", flags.deadline, "seconds that a process has for each answer")
      ->capture_default_str();
  command
      .add_option("--time-limit", flags.time_limit,
                  "seconds that a candidate has in each case; 0: no limit, with --serve 600")
      ->capture_default_str();
  command.add_option("--replay", flags.replay,
                     "RECORD.json: judge again with its keys, what was wrong first; files may be named anew");
  command.add_option("--serve", flags.serve,
                     "SOCKET: judge candidates by request, with processes that are ready before");
  command.add_flag("--dry-run", flags.dry_run, "print what would be judged");
  flags.record.add_to(command);
}

}  // namespace jitterscope::cli
