#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <nlohmann/json.hpp>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "base/subprocess.hpp"
#include "cli/command_line.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/python.hpp"
#include "commands/judge/record.hpp"
#include "device/open_device.hpp"
#include "judge/judge.hpp"
#include "judge/untrusted_process.hpp"
#include "measure/machine.hpp"
#include "operation/words.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

using judging::Verdict;

struct JudgeFlags {
  RecordFlags record;
  std::string reference, margin = "1%", precision, fail_if;
  std::vector<std::string> candidates, cases;
  std::int64_t processes = 8, deadline = 60;
  bool quick = false, dry_run = false;
};

constexpr const char* kJudgeExamples = R"(Examples:
  jitterscope judge reference.py candidate.py
  jitterscope judge reference.py:make fast.py:make faster.py:make --cases n=256,1024 --cases dtype=f32,f16
  jitterscope judge reference.py candidate.py --quick --json verdict.json
  jitterscope judge reference.py candidate.py --fail-if slower,wrong --margin 2%

make(**case) of the reference returns a function and its inputs: return function, [(n, n), {"shape": (n,), "dtype":
"f32", "family": "normal", "persistent": True}]. make(**case) of a candidate returns its function.

Exit codes: 0 a verdict is reached, 1 --fail-if applies, 2 usage, 3 Python or its module jitterscope missing,
4 --precision was given and not reached, or a verdict is undecided although it was given, 5 the reference failed,
6 a candidate is invalid, 130 interrupted.)";

// The machine's own variables that a worker needs: where libraries are, which devices, and what keeps NVLink
// multicast off.
constexpr const char* kMachineVariables[] = {"LD_LIBRARY_PATH",     "CUDA_VISIBLE_DEVICES",
                                             "CUDA_HOME",           "NVIDIA_VISIBLE_DEVICES",
                                             "OMP_NUM_THREADS",     "LANG",
                                             "NCCL_NVLS_ENABLE",    "TORCH_SYMM_MEM_DISABLE_MULTICAST",
                                             "NVSHMEM_DISABLE_NVLS"};

// Asks the interpreter by its name, which may be a script that needs the environment, what it is.
judging::WorkerProgram worker_program(const JudgeFlags& flags) {
  constexpr const char* kQuestion =
      "import json, pathlib, sys, jitterscope, jitterscope._library as library\n"
      "print(json.dumps([sys.executable, str(pathlib.Path(jitterscope.__file__).parent.parent), library._path()]))";
  const SubprocessOutcome outcome = run_subprocess({"/usr/bin/env", interpreter(), "-c", kQuestion}, {});
  require_python(outcome);
  const auto said = nlohmann::json::parse(outcome.output, nullptr, false);
  if (outcome.exit_code != 0 || !said.is_array() || said.size() != 3) {
    throw MissingError(
        fmt::format("{} cannot import jitterscope: {}", interpreter(), last_line(outcome.errors)));
  }
  judging::WorkerProgram program;
  program.arguments = {said[0].get<std::string>(), "-B", "-m", "jitterscope", "judged-worker"};
  program.environment = {"PYTHONPATH=" + said[1].get<std::string>(),
                         "JITTERSCOPE_LIBRARY=" + said[2].get<std::string>()};
  for (const char* name : kMachineVariables) {
    if (const char* value = std::getenv(name))
      program.environment.push_back(fmt::format("{}={}", name, value));
  }
  program.deadline = seconds(static_cast<double>(flags.deadline));
  program.interrupted = is_interrupted;
  return program;
}

// Returns FILE.py:make with the file's full path: a worker is in a folder of its own.
std::string full_target(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  const bool has_name = colon != std::string::npos && !target.ends_with(".py");
  const std::string file = target.substr(0, has_name ? colon : std::string::npos);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    throw UsageError(
        fmt::format("{}: this file does not exist; name FILE.py or FILE.py:make", in_quotes(target)));
  }
  return std::filesystem::absolute(file).string() + ':' + (has_name ? target.substr(colon + 1) : "make");
}

// Each flag is one parameter with its values; the cases are all combinations.
std::vector<judging::CaseValues> cases_of(const std::vector<std::string>& flags) {
  constexpr std::size_t kMost = 64;
  std::vector<judging::CaseValues> cases = {{}};
  for (const std::string& flag : flags) {
    const std::size_t equal = flag.find('=');
    if (equal == std::string::npos || equal == 0 || equal + 1 == flag.size()) {
      throw UsageError(fmt::format("--cases: {} is no NAME=VALUE,VALUE", in_quotes(flag)));
    }
    std::vector<judging::CaseValues> more;
    for (const judging::CaseValues& each : cases) {
      for (std::size_t begin = equal + 1; begin <= flag.size();) {
        const std::size_t end = std::min(flag.find(',', begin), flag.size());
        more.push_back(each);
        more.back().push_back({flag.substr(0, equal), flag.substr(begin, end - begin)});
        begin = end + 1;
      }
    }
    if (more.size() > kMost)
      throw UsageError(fmt::format("--cases: {} cases are more than {}", more.size(), kMost));
    cases = std::move(more);
  }
  return cases;
}

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

void judge_all(const JudgeFlags& flags, bool are_processes_typed, Invocation& invocation) {
  check_count("--processes", flags.processes, 1, 1000);
  check_count("--deadline", flags.deadline, 1, 86400);
  failing(flags.fail_if);
  judging::JudgeRequest request{.reference = full_target(flags.reference),
                                .candidates = {},
                                .cases = cases_of(flags.cases),
                                .pairs = flags.processes,
                                .margin = read_margin(flags.margin),
                                .session = judging::random_key()};
  for (const std::string& candidate : flags.candidates) request.candidates.push_back(full_target(candidate));
  if (flags.quick) {
    constexpr std::int64_t kQuickPairs = 3;
    if (!are_processes_typed) request.pairs = kQuickPairs;
    request.blocks = 5;
    request.chain_time = milliseconds(30);
  }
  RecordFiles files(flags.record);
  if (flags.dry_run) {
    return print_result(fmt::format("{} in {} against {}, {} of processes, margin {}.\n",
                                    counted(std::ssize(request.candidates), "candidate"),
                                    counted(std::ssize(request.cases), "case"), flags.reference,
                                    counted(request.pairs, "pair"), percent_text(request.margin)));
  }
  const judging::WorkerProgram program = worker_program(flags);
  // Where there is no namespace of its own, a worker has the judge's user: it may not look into its memory.
  ::prctl(PR_SET_DUMPABLE, 0);
  const judging::Sandbox sandbox = judging::probe_sandbox();
  ProgressLine line(stderr, host_time_now);
  request.progress = [&](const std::string& what) { line.show(what, {1, 1}); };
  request.interrupted = is_interrupted;
  JudgeRecord record{.environment = read_environment(invocation.command_line),
                     .device = open_device("cpu")->describe(),
                     .reference = flags.reference,
                     .session_key = judging::hexadecimal(request.session.bytes),
                     .processes = request.pairs,
                     .margin = request.margin,
                     .isolation = std::string(to_string(sandbox.isolation)),
                     .has = sandbox.has,
                     .lacks = sandbox.lacks,
                     .candidates = {}};
  record.candidates = judging::judge(
      request, [&](const std::string& target) { return judging::start_untrusted(program, target); });
  line.clear();
  for (std::size_t i = 0; i < record.candidates.size(); ++i)
    record.candidates[i].candidate = flags.candidates[i];
  invocation.exit_code = judge_exit_code(record, flags);
  files.write(record);
}

}  // namespace

void add_judge_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<JudgeFlags>(
      app, "judge", "say whether a function is right and faster, though it may want to cheat", kJudgeExamples,
      [&](const JudgeFlags& typed, const CLI::App& app_of_command) {
        judge_all(typed, app_of_command.count("--processes") > 0, invocation);
      });
  command.add_option("reference", flags.reference, "FILE.py or FILE.py:make: what is right")->required();
  command.add_option("candidates", flags.candidates, "FILE.py or FILE.py:make of each candidate")->required();
  command
      .add_option("--cases", flags.cases,
                  "NAME=VALUE,VALUE: parameters of make(); several flags: all combinations")
      ->allow_extra_args(false);
  command.add_option("--processes", flags.processes, "pairs of fresh processes")->capture_default_str();
  command.add_flag("--quick", flags.quick, "three pairs and shorter chains");
  command.add_option("--margin", flags.margin, "difference that counts as the same")->capture_default_str();
  command.add_option(
      "--precision", flags.precision,
      "exit code 4 if a verdict is undecided, or half an interval of a ratio is wider than this");
  command.add_option("--fail-if", flags.fail_if, "exit code 1 if a verdict is one of these: slower, wrong");
  command.add_option("--deadline", flags.deadline, "seconds that a process has for each answer")
      ->capture_default_str();
  command.add_flag("--dry-run", flags.dry_run, "print what would be judged");
  flags.record.add_to(command);
}

}  // namespace jitterscope::cli
