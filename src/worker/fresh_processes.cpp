#include "worker/fresh_processes.hpp"

#include <csignal>
#include <cstring>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/operation.hpp"
#include "record/run_file.hpp"
#include "worker/rank_devices.hpp"

namespace jitterscope {
namespace {

std::string ending_of(const SubprocessOutcome& outcome, std::optional<Nanoseconds> limit) {
  if (outcome.timed_out) {
    return fmt::format("was not done after {} and was ended", duration_text(limit.value_or(Nanoseconds(0))));
  }
  if (outcome.signal != 0) {
    const bool by_kernel = outcome.signal == SIGKILL;
    return fmt::format("was ended by a signal ({}){}", strsignal(outcome.signal),
                       by_kernel ? ", perhaps for want of memory" : "");
  }
  return fmt::format("ended with exit code {}", outcome.exit_code);
}

std::string while_doing(const SubprocessOutcome& outcome) {
  const std::string words = last_line(outcome.errors);
  return words.empty() ? "" : fmt::format(" (while: {})", words);
}

// Facts that are equal in every process are measured only by the first that gives a record.
WorkerPlan plan_of_process(const std::string& device, const Plan& plan, std::int64_t process, bool is_first) {
  const std::uint64_t seed = seed_of_process(shared_options(plan).seed, process);
  WorkerPlan own{.device = device, .device_seed = seed, .parent = ::getpid(), .plan = plan};
  own.plan.ceilings = plan.ceilings && is_first;
  own.plan.verify = plan.verify && is_first;
  own.plan.trace_kernels = plan.trace_kernels && is_first;
  for (std::vector<Trial>& group : own.plan.groups) {
    for (Trial& trial : group) {
      trial.options.seed = seed;
      if (!is_first) trial.options.counters.reset();
    }
  }
  return own;
}

// Engines by `best`: the first process that gives a record has timed all of them, which takes half a minute,
// so the others run its choice. Each process makes its own choice by autotune, as in PyTorch. Records keep
// the request.
class BestEngines {
 public:
  explicit BestEngines(const Plan& asked) : asked_(asked), plan_(asked) {}

  const Plan& plan() const { return plan_; }
  void take(RunRecord& record) {
    std::size_t number = 0;
    for (std::size_t group = 0; group < asked_.groups.size(); ++group) {
      for (std::size_t i = 0; i < asked_.groups[group].size(); ++i, ++number) {
        const Operation& asked = *asked_.groups[group][i].operation();
        if (number >= record.entries.size() || engine_of(asked) != "best") continue;
        Result& result = record.entries[number].result;
        Trial& chosen = plan_.groups[group][i];
        if (*chosen.operation() == asked) chosen.subject = as_measured(asked, result);
        result.subject = asked;
      }
    }
  }

 private:
  const Plan& asked_;
  Plan plan_;
};

CallablePlan plan_of_process(CallablePlan plan, std::int64_t process) {
  plan.parent = ::getpid();
  for (std::vector<CallableRequest>& group : plan.groups) {
    for (CallableRequest& trial : group) trial.options.seed = seed_of_process(trial.options.seed, process);
  }
  return plan;
}

// How one process is started, and the plan it reads.
struct ProcessStart {
  std::vector<std::string> command;
  std::function<std::string(std::int64_t process, bool is_first)> plan;
  std::optional<Nanoseconds> time_limit;
  std::function<void(RunRecord&)> read = {};  ///< called with each record; may be empty
};

class ProcessRunner {
 public:
  ProcessRunner(const ProcessStart& start, const FreshProcesses& processes)
      : start_(start), processes_(processes), limit_(start.time_limit) {}

  ProcessRecords run() {
    constexpr std::size_t kHopeless = 2;
    const Nanoseconds began = host_time_now();
    for (std::int64_t process = 0; process < processes_.count; ++process) {
      const Nanoseconds start = host_time_now();
      // The next one takes about as long as the shortest so far: the first also verifies.
      const Nanoseconds next =
          found_.durations.empty() ? Nanoseconds(0.0) : std::ranges::min(found_.durations);
      if (process > 0 && processes_.budget && start - began + next > *processes_.budget) break;
      try {
        run_one(process);
        found_.interrupted = processes_.interrupted && processes_.interrupted();
      } catch (const InterruptedError&) {
        found_.interrupted = true;
      }
      if (found_.interrupted) return std::move(found_);
      found_.durations.push_back(host_time_now() - start);
      if (found_.records.empty() && found_.lost.size() >= kHopeless) break;
    }
    if (found_.records.empty()) throw FailedError(found_.lost.front());
    return std::move(found_);
  }

 private:
  void run_one(std::int64_t process) {
    const auto number = static_cast<std::size_t>(process) + 1;
    if (processes_.progress) processes_.progress("starting", number);
    // A single process answers an interruption, since its data so far are all there is.
    const SubprocessLimits limits{.interrupted = processes_.interrupted,
                                  .answers_interruption = processes_.count == 1,
                                  .time_limit = limit_,
                                  .input = start_.plan(process, found_.records.empty()),
                                  .error_line = [&](std::string_view line) {
                                    if (processes_.progress) processes_.progress(std::string(line), number);
                                  }};
    const SubprocessOutcome outcome = run_subprocess(start_.command, limits);
    try {
      // After it was told to end, it wrote the record of an interruption that nobody asked for.
      if (outcome.timed_out) return lose(number, ending_of(outcome, limit_) + while_doing(outcome));
      rethrow_written_error(outcome.output);
      if (outcome.exit_code != 0) {
        if (processes_.ended_badly) processes_.ended_badly(outcome);
        return lose(number, ending_of(outcome, limit_) + while_doing(outcome));
      }
      found_.records.push_back(read_run_record(outcome.output, "its output"));
      if (start_.read) start_.read(found_.records.back());
    } catch (const FailedError& error) {
      lose(number, fmt::format("failed: {}", error.what()));
    } catch (const MissingError& error) {
      if (found_.records.empty()) throw;
      lose(number, fmt::format("failed: {}", error.what()));
    } catch (const UsageError& error) {
      // An error in the plan is every process's, and the first one has it; an error in the output is not.
      if (outcome.exit_code != 0 && found_.records.empty()) throw;
      lose(number, fmt::format("wrote no record that can be read ({})", error.what()));
    }
  }

  void lose(std::size_t number, const std::string& reason) {
    found_.lost.push_back(fmt::format("process {} {}", number, reason));
  }

  const ProcessStart& start_;
  const FreshProcesses& processes_;
  std::optional<Nanoseconds> limit_;
  ProcessRecords found_;
};

}  // namespace

Nanoseconds time_limit_of(const Plan& plan) {
  constexpr Nanoseconds kStart = seconds(120), kPreparation = seconds(20), kLaunch = milliseconds(10);
  constexpr double kMargin = 4.0;
  Nanoseconds limit = kStart;
  for (const std::vector<Trial>& group : plan.groups) {
    for (const Trial& trial : group) {
      const MeasureOptions& options = trial.options;
      limit += kPreparation;
      for (const Load load : options.loads) {
        limit += load == Load::burst
                     ? options.time_limit * kMargin
                     : options.sustained_time_limit * (kMargin * static_cast<double>(options.caches.size()));
      }
      for (const std::int64_t count : options.iterations) limit += kLaunch * static_cast<double>(count);
    }
  }
  return limit;
}

std::uint64_t seed_of_process(std::uint64_t seed, std::int64_t process) {
  const std::uint64_t seeds_apart = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(process);
  return Random(seed + seeds_apart).next() >> 11;
}

ProcessRecords with_seed(std::uint64_t seed, ProcessRecords found) {
  for (RunRecord& record : found.records) {
    for (RunEntry& entry : record.entries) {
      for (Measurement& measurement : entry.result.measurements) measurement.conditions.seed = seed;
    }
  }
  return found;
}

ProcessRecords run_in_fresh_processes(const std::string& device, const Plan& plan,
                                      const FreshProcesses& processes) {
  const KernelFolder kernels;
  BestEngines engines(plan);
  const auto write = [&](std::int64_t process, bool is_first) {
    return write_plan(plan_of_process(device, engines.plan(), process, is_first));
  };
  const ProcessStart start{{processes.executable, "worker"},
                           write,
                           processes.time_limit.value_or(time_limit_of(plan)),
                           [&](RunRecord& record) { engines.take(record); }};
  return with_seed(shared_options(plan).seed, ProcessRunner(start, processes).run());
}

ProcessRecords run_in_fresh_processes(const CallablePlan& plan, const FreshProcesses& processes) {
  const auto write = [&](std::int64_t process, bool) { return write_plan(plan_of_process(plan, process)); };
  // env looks up the name on PATH and replaces itself, so the process stays the same.
  const ProcessStart start{
      {"/usr/bin/env", processes.executable, "-m", "jitterscope", "worker"}, write, processes.time_limit};
  return with_seed(plan.groups.front().front().options.seed, ProcessRunner(start, processes).run());
}

Result measure_in_fresh_process(const std::string& executable, const std::string& device, const Trial& trial,
                                const std::function<bool()>& interrupted) {
  Plan plan;
  plan.groups = {{trial}};
  plan.ceilings = false;
  ProcessRecords found = run_in_fresh_processes(
      device, plan, {.executable = executable, .count = 1, .interrupted = interrupted});
  if (found.interrupted || found.records.front().entries.empty()) throw InterruptedError();
  Result result = std::move(found.records.front().entries.front().result);
  if (!result.failure.empty()) throw FailedError(result.failure);
  if (result.measurements.empty()) throw InterruptedError();
  return result;
}

namespace {

// A record says how many took part.
void name_ranks(Plan& plan, std::int64_t ranks) {
  for (std::vector<Trial>& group : plan.groups) {
    for (Trial& trial : group) trial.subject = trial.subject.among(ranks);
  }
}

}  // namespace

RunRecord carry_out(const WorkerPlan& asked, const WorkerListeners& listeners) {
  Plan plan = asked.plan;
  std::optional<AgreedDecisions> agreed;
  std::function<bool()> interrupted = listeners.interrupted;
  if (listeners.agreement != nullptr) {
    agreed.emplace(*listeners.agreement, listeners.interrupted);
    interrupted = [&agreed] { return agreed->has_ended(); };
  }
  for (std::vector<Trial>& group : plan.groups) {
    for (Trial& trial : group) {
      trial.options.interrupted = interrupted;
      if (agreed) trial.options.load_probe = false;  // devices that have no power limit have none
    }
  }
  const std::unique_ptr<Device> device = open_device(asked.device, asked.device_seed);
  if (listeners.ranks != nullptr) require_device_of_its_own(*listeners.ranks, device->describe());
  if (listeners.ranks != nullptr && has_collective(plan)) {
    device->join(*listeners.ranks);
    name_ranks(plan, listeners.ranks->count());
  }
  RunRecord record;
  record.device = device->describe();
  Session session = agreed ? Session(*device, *agreed) : Session(*device);
  record.calibration = session.calibration();
  PlanListeners told{.stage = listeners.stage, .ranks = listeners.ranks};
  // The others wait for this process: it cannot go on without one of its trials.
  if (agreed) told.failed = throw_as_kind;
  run_plan(session, plan, record, told);
  return record;
}

}  // namespace jitterscope
