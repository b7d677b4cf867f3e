#include "cli/judge_setup.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "base/subprocess.hpp"
#include "cli/measure_flags.hpp"
#include "cli/python.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "device/cuda/nvml.hpp"
#include "device/open_device.hpp"
#include "judge/sandbox.hpp"
#include "measure/machine.hpp"
#include "measure/session.hpp"
#include "operation/words.hpp"

namespace jitterscope::cli {
namespace {

// The machine's own variables that a worker needs: where programs are (Triton's compiler among them) and
// libraries, which devices, and what keeps NVLink multicast off.
constexpr const char* kMachineVariables[] = {"PATH",
                                             "LD_LIBRARY_PATH",
                                             "CUDA_VISIBLE_DEVICES",
                                             "CUDA_HOME",
                                             "NVIDIA_VISIBLE_DEVICES",
                                             "OMP_NUM_THREADS",
                                             "LANG",
                                             "NCCL_NVLS_ENABLE",
                                             "TORCH_SYMM_MEM_DISABLE_MULTICAST",
                                             "NVSHMEM_DISABLE_NVLS"};

constexpr std::string_view kKernel = "cuda:";  // which a candidate that is no Python file begins with

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
  program.arguments = {said[0].get<std::string>(), "-B", "-m", "jitterscope", "judged-worker", "cpu"};
  program.environment = {"PYTHONPATH=" + said[1].get<std::string>(),
                         "JITTERSCOPE_LIBRARY=" + said[2].get<std::string>()};
  for (const char* name : kMachineVariables) {
    if (const char* value = std::getenv(name))
      program.environment.push_back(fmt::format("{}={}", name, value));
  }
  const Bytes half(static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 2);
  program.limits.data = std::min(program.limits.data, half);
  program.deadline = seconds(static_cast<double>(flags.deadline));
  program.interrupted = is_interrupted;
  return program;
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
      for (const std::string& value : split_at_commas(std::string_view(flag).substr(equal + 1))) {
        more.push_back(each);
        more.back().push_back({flag.substr(0, equal), value});
      }
    }
    if (more.size() > kMost)
      throw UsageError(fmt::format("--cases: {} cases are more than {}", more.size(), kMost));
    cases = std::move(more);
  }
  return cases;
}

// Reads the clock of a GPU by NVML, which needs no context; nothing where NVML does not know it.
std::function<std::optional<judging::GpuClock>()> clock_reader(const std::string& uuid) {
  std::string problem;
  const std::optional<cuda::NvmlDevice> gpu = cuda::NvmlDevice::find(uuid, &problem);
  if (!gpu) return {};
  return [gpu = *gpu]() -> std::optional<judging::GpuClock> {
    const std::optional<Hertz> clock = gpu.clock(cuda::nvml::kSmClock);
    if (!clock) return std::nullopt;
    std::vector<std::string> reasons = gpu.clock_reasons();
    std::erase(reasons, "idle");  // of a GPU whose chain has just ended
    return judging::GpuClock{*clock, std::move(reasons)};
  };
}

// cuda:FILE.cu:KERNEL,grid=…: the whole text, with the file's full path.
std::string full_kernel(const std::string& target) {
  const std::size_t begin = target.find(':') + 1, end = target.find(':', begin);
  const std::string file = target.substr(begin, end == std::string::npos ? end : end - begin);
  std::error_code ignored;
  if (end == std::string::npos || !std::filesystem::is_regular_file(file, ignored)) {
    throw UsageError(fmt::format(
        "{}: {}; write cuda:FILE.cu:KERNEL,grid=…,block=…,x=f32[n],y=out:f32[n]", in_quotes(target),
        end == std::string::npos ? "the kernel is missing" : "this file does not exist"));
  }
  return target.substr(0, begin) + std::filesystem::absolute(file).string() + target.substr(end);
}

}  // namespace

std::string full_target(const std::string& target) {
  if (target.starts_with(kKernel)) return full_kernel(target);
  const std::size_t colon = target.rfind(':');
  const bool has_name = colon != std::string::npos && !target.ends_with(".py");
  const std::string file = target.substr(0, has_name ? colon : std::string::npos);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    throw UsageError(
        fmt::format("{}: this file does not exist; name FILE.py or FILE.py:NAME", in_quotes(target)));
  }
  return std::filesystem::absolute(file).string() + (has_name ? target.substr(colon) : "");
}

void JudgeSetup::take_record(const std::string& file, const JudgeFlags& flags) {
  is_replay_ = record_.is_replayed = true;
  const AnyRecord any = read_record(read_text(file), file);
  const auto* record = std::get_if<JudgeRecord>(&any);
  if (record == nullptr) throw UsageError(fmt::format("--replay: {} is no record of judge", file));
  if (!judging::read_hexadecimal(record->session_key, request_.session.bytes)) {
    throw UsageError(fmt::format("--replay: {} has no session_key, from which all inputs follow", file));
  }
  if (record->candidates.empty()) throw UsageError(fmt::format("--replay: {} has no candidates", file));
  if (!flags.candidates.empty() && flags.candidates.size() != record->candidates.size()) {
    throw UsageError(fmt::format("--replay: {} has {}, and {} were named; name as many, or none", file,
                                 counted(std::ssize(record->candidates), "candidate"),
                                 flags.candidates.size()));
  }
  if (!flags.cases.empty()) throw UsageError("--replay: the cases are the record's; leave --cases out");
  record_.reference = flags.reference.empty() ? record->reference : flags.reference;
  request_.cases.clear();
  for (const judging::CaseJudgement& each : record->candidates.front().cases)
    request_.cases.push_back(each.values);
  if (!flags.has_processes) request_.pairs = record->processes;
  if (!flags.has_margin) request_.margin = record->margin;
  record_.is_quick = flags.quick || record->is_quick;
  record_.cache = record->cache;
  for (std::size_t i = 0; i < record->candidates.size(); ++i) {
    const auto& candidate = record->candidates[i];
    if (flags.candidates.empty())
      candidates_.push_back({candidate.candidate, full_target(candidate.candidate)});
    for (std::size_t place = 0; place < candidate.cases.size(); ++place) {
      const judging::CaseJudgement& each = candidate.cases[place];
      judging::RepeatedLink link{
          .candidate = i, .each_case = place, .key = {}, .pair = each.pair, .call = each.call};
      constexpr std::int64_t kMostCalls = 1 << 20;
      const bool is_link = each.call >= 0 && each.call < kMostCalls && each.pair >= 0;
      if (is_link && judging::read_hexadecimal(each.key, link.key.bytes)) request_.repeated.push_back(link);
    }
  }
}

JudgeSetup::JudgeSetup(const JudgeFlags& flags, const Invocation& invocation) {
  // Each link that is checked has four arrays of numbers. Given back to the system and asked for again, they
  // take as long as what is done with them (1 Mi elements: 21 ms in place of 12).
  constexpr int kKept = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kKept);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
  request_.pairs = flags.processes;
  request_.margin = read_margin(flags.margin);
  request_.session = judging::random_key();
  request_.interrupted = is_interrupted;
  record_.reference = flags.reference;
  record_.is_quick = flags.quick;
  if (!flags.replay.empty()) take_record(flags.replay, flags);
  if (record_.reference.empty()) throw UsageError("judge: name the reference, FILE.py or FILE.py:NAME");
  if (record_.reference.starts_with(kKernel)) {
    throw UsageError(
        "a kernel cannot be the reference, of which float64 is asked, too; write the reference in Python");
  }
  request_.reference = full_target(record_.reference);
  for (const std::string& candidate : flags.candidates)
    candidates_.push_back({candidate, full_target(candidate)});
  if (record_.is_quick) {
    constexpr std::int64_t kQuickPairs = 4;
    if (!flags.has_processes && !is_replay_) request_.pairs = kQuickPairs;
    request_.blocks = 5;
    request_.chain_time = milliseconds(50);
    request_.room = std::size_t{96} << 20;  // what is kept of a chain is checked before the next one begins
    request_.links = 16;
  }
  if (flags.cache != "produced" && flags.cache != "cold") {
    throw UsageError(fmt::format("--cache: {} is unknown here; produced or cold", in_quotes(flags.cache)));
  }
  if (flags.cache == "cold") record_.cache = CacheState::cold;
  if (flags.time_limit > 0) {
    request_.time_limit = [limit = seconds(static_cast<double>(flags.time_limit))] {
      return [end = host_time_now() + limit] { return host_time_now() > end; };
    };
  }
  if (!is_replay_) request_.cases = cases_of(flags.cases);
  program_ = worker_program(flags);
  const judging::ReferenceDescription described = judging::describe_reference(program_, request_.reference);
  imports_torch_ = described.imports_torch;
  choose_device(flags.device, described.imports_torch);
  // The speed of a processor changes within milliseconds where others work: sides take turns more often.
  if (!program_.is_on_gpu) {
    request_.chain_time = milliseconds(record_.is_quick ? 10 : 20);
    request_.blocks_time = seconds(record_.is_quick ? 1.0 : 3.0);
  }
  // Twice the cache, so that nothing else is left in it.
  if (record_.cache == CacheState::cold) request_.evicted = record_.device.last_level_cache * 2;
  if (program_.is_on_gpu) program_.read_clock = clock_reader(record_.device.uuid);
  // A worker without a namespace of its own has the judge's user, and may not look into the judge's memory.
  ::prctl(PR_SET_DUMPABLE, 0);
  if (!is_replay_ && flags.cases.empty() && !described.cases.empty()) request_.cases = described.cases;
  const judging::Sandbox sandbox = judging::probe_sandbox(program_.is_on_gpu);
  record_.environment = read_environment(invocation.command_line);
  record_.form = described.form;
  record_.session_key = judging::hexadecimal(request_.session.bytes);
  record_.processes = request_.pairs;
  record_.margin = request_.margin;
  record_.isolation = std::string(to_string(sandbox.isolation));
  record_.has = sandbox.has;
  record_.lacks = sandbox.lacks;
}

// Code that does not know PyTorch has no way to a GPU's memory, and is judged on the processor unless asked.
void JudgeSetup::choose_device(const std::string& device, bool imports_torch) {
  if (names_virtual_device(device)) {
    throw UsageError(fmt::format("--device {}: judge runs code, which a simulated GPU cannot", device));
  }
  record_.device = open_device(device == "auto" && !imports_torch ? "cpu" : device)->describe();
  const std::string& id = record_.device.id;
  constexpr std::string_view kGpu = "cuda:";
  if (!id.starts_with(kGpu)) return;
  if (!imports_torch) {
    throw UsageError(fmt::format(
        "--device {}: the reference does not import torch, through which a GPU is judged", device));
  }
  program_.arguments.back() = "cuda";
  program_.is_on_gpu = true;
  // A worker sees one GPU, its first.
  constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES=";
  std::string visible = id.substr(kGpu.size());
  const std::size_t ordinal = std::stoul(visible);
  for (const std::string& each : program_.environment) {
    if (!each.starts_with(kName)) continue;
    const std::vector<std::string> names = split_at_commas(std::string_view(each).substr(kName.size()));
    if (ordinal < names.size()) visible = names[ordinal];
  }
  std::erase_if(program_.environment, [&](const std::string& each) { return each.starts_with(kName); });
  program_.environment.push_back(std::string(kName) + visible);
}

std::string JudgeSetup::sentence() const {
  return fmt::format("{} in {} against {} (form {}) on {}, {} of processes, margin {}.\n",
                     counted(std::ssize(candidates_), "candidate"),
                     counted(std::ssize(request_.cases), "case"), record_.reference, to_string(record_.form),
                     record_.device.id, counted(request_.pairs, "pair"), percent_text(request_.margin));
}

std::unique_ptr<judging::ForkServer> JudgeSetup::fork_server() const {
  if (!record_.is_quick) return nullptr;
  return std::make_unique<judging::ForkServer>(
      program_, imports_torch_ ? std::vector<std::string>{"torch", "triton"} : std::vector<std::string>{});
}

void JudgeSetup::try_reference(const judging::StartWorker& start) const {
  try {
    start()->make(request_.reference, request_.cases.front(), std::nullopt, judging::random_key());
  } catch (const judging::WorkerFailure& failure) {
    throw FailedError(fmt::format("the reference gives nothing to judge by: {}", failure.what()));
  }
}

// Best rates of this device in the types that were judged, each measured once.
void JudgeSetup::measure_ceilings_of(JudgeRecord& record) {
  std::vector<DataType> types;
  for (const judging::CandidateJudgement& candidate : record.candidates) {
    for (const judging::CaseJudgement& each : candidate.cases) {
      const bool has_time = std::ranges::any_of(
          each.pairs, [](const judging::PairTimes& pair) { return pair.candidate > Nanoseconds(0); });
      const DataType type = each.work.dtype;
      if (each.ratio && has_time && std::ranges::find(measured_, type) == measured_.end()) {
        types.push_back(type);
        measured_.push_back(type);
      }
    }
  }
  if (!types.empty()) {
    const std::unique_ptr<Device> device = open_device(record_.device.id);
    Session session(*device);
    const Ceilings found = measure_ceilings(session, types);
    if (!record_.ceilings.bytes_per_second) record_.ceilings.bytes_per_second = found.bytes_per_second;
    for (const Ceilings::Compute& each : found.compute) record_.ceilings.compute.push_back(each);
  }
  record.ceilings = record_.ceilings;
}

JudgeRecord JudgeSetup::judge(const std::vector<NamedCandidate>& candidates,
                              const judging::StartWorker& start,
                              const std::function<void(const std::string&)>& progress) {
  for (const NamedCandidate& each : candidates) {
    if (program_.is_on_gpu || !each.target.starts_with(kKernel)) continue;
    throw UsageError(
        fmt::format("{}: a kernel is judged on a GPU, and this is {}; its reference imports torch",
                    in_quotes(each.name), record_.device.id));
  }
  judging::JudgeRequest request = request_;
  request.progress = progress;
  JudgeRecord record = record_;
  if (!is_replay_) {
    request.session = judging::random_key();
    record.session_key = judging::hexadecimal(request.session.bytes);
  }
  for (const NamedCandidate& each : candidates) request.candidates.push_back(each.target);
  record.candidates = judging::judge(request, start);
  for (std::size_t i = 0; i < candidates.size(); ++i) record.candidates[i].candidate = candidates[i].name;
  progress("ceilings of this machine");
  measure_ceilings_of(record);
  return record;
}

}  // namespace jitterscope::cli
