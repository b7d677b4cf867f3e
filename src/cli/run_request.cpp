#include "cli/run_request.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/ranks.hpp"
#include "commands/run/table.hpp"
#include "experiment/processes.hpp"
#include "measure/operand_sets.hpp"
#include "measure/schedule.hpp"
#include "measure/steadiness.hpp"
#include "measure/trials.hpp"
#include "output/progress.hpp"
#include "output/text.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {

Plan plan_of(const RunRequest& request) {
  const Model& model = request.work.model;
  Plan plan;
  for (const Layer& layer : model.layers) {
    plan.groups.push_back({{layer.operation, request.options}});
    RunEntry entry{.count = layer.calls(), .layers = layer.names};
    if (const auto time = layer.recorded_time())
      entry.recorded_time = *time / static_cast<double>(entry.count);
    plan.entries.push_back(std::move(entry));
  }
  plan.verify = request.verify;
  plan.ceilings = request.ceilings;
  if (request.in_sequence) plan.in_sequence = model;
  plan.recorded_cudnn = model.recorded_cudnn;
  plan.is_incomplete = model.is_incomplete;
  plan.precision_was_asked = request.precision_was_asked;
  return plan;
}

namespace {

// On an H200, plan building, allocation and first calls take 0.05 to 0.5 s; a sustained measurement of a
// steady operation takes 1.5 to 3 s.
constexpr Nanoseconds kLeastPreparation = milliseconds(50), kMostPreparation = milliseconds(500);
constexpr Nanoseconds kLeastSustained = seconds(1.5);
// Calibration, proof of eviction and ceilings: the least on an H200, the most on a CPU.
constexpr Nanoseconds kLeastBefore = seconds(0.3), kMostBefore = seconds(4);
constexpr Nanoseconds kRound = milliseconds(5);
// 15 launches, and starting and reading a tracer: an allowance, not measured.
constexpr Nanoseconds kMostTracing = milliseconds(500);
// Enabling the profiler, and up to ten passes of a few launches: an allowance, not measured.
constexpr Nanoseconds kMostCounting = seconds(1);

template <class Enum>
std::string words(const std::vector<Enum>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(to_string(value));
  return joined(names);
}

void operator+=(TimeRange& time, const TimeRange& more) {
  time.least += more.least;
  time.most += more.most;
}

TimeRange times(const TimeRange& time, std::int64_t count) {
  return {time.least * static_cast<double>(count), time.most * static_cast<double>(count)};
}

TimeRange loop_time(const MeasureOptions& options) {
  TimeRange time;
  for (const std::int64_t count : options.iterations) {
    time += {kLeastPreparation + kIterationRest,
             kMostPreparation + kIterationRest + kLoopLaunch * static_cast<double>(count)};
  }
  return time;
}

TimeRange round_time(const MeasureOptions& options, std::size_t operations) {
  TimeRange time;
  const auto caches = static_cast<double>(options.caches.size());
  for (const Load load : options.loads) {
    if (load == Load::burst) {
      const auto sharing = static_cast<double>(std::min(measured_at_once(options), operations));
      const Nanoseconds visit = mean_idle(options) / sharing + kRound * caches;
      time += {visit * static_cast<double>(options.minimum_rounds), options.time_limit};
    } else {
      time += {kLeastSustained * caches, options.sustained_time_limit * caches};
    }
  }
  return time;
}

// measure_sequence ends after three times the limit if it then lacks the requested rounds.
TimeRange sequence_time(const RunRequest& request) {
  const MeasureOptions& options = request.options;
  TimeRange time = times({kLeastPreparation, kMostPreparation}, std::ssize(request.work.model.calls));
  time +=
      {mean_idle(options) * static_cast<double>(options.minimum_rounds), options.sustained_time_limit * 3.0};
  return time;
}

std::string extras(const RunRequest& request) {
  std::string text;
  if (!request.options.iterations.empty()) {
    text += fmt::format(" First come loops of {} launches (each assumed to take at most {}).",
                        fmt::join(request.options.iterations, ", "), duration_text(kLoopLaunch));
  }
  if (request.options.fresh_data) text += " Each launch on fresh operands.";
  if (request.options.kernels) text += " Then the kernels of one launch.";
  if (request.options.counters) text += " Then its hardware counters in each cache state.";
  if (request.in_sequence)
    text += fmt::format(" At last all {} calls in sequence.", request.work.model.calls.size());
  if (request.processes > 1) text += fmt::format(" In each of {} fresh processes.", request.processes);
  return text;
}

}  // namespace

TimeRange expected_time(const RunRequest& request) {
  TimeRange each{kLeastPreparation, kMostPreparation};
  each += loop_time(request.options);
  each += round_time(request.options, request.work.model.layers.size());
  if (request.options.kernels) each += {Nanoseconds(0), kMostTracing};
  if (request.options.counters) {
    each += {Nanoseconds(0), kMostCounting * static_cast<double>(request.options.caches.size())};
  }
  if (request.options.load_probe) each += {Nanoseconds(0), kLoadProbeTime};
  TimeRange all = times(each, std::ssize(request.work.model.layers));
  all += {kLeastBefore, kMostBefore};
  if (request.in_sequence) all += sequence_time(request);
  return times(all, request.processes);
}

namespace {

std::string duration_sentence(const RunRequest& request, const DeviceDescription& device) {
  const TimeRange time = expected_time(request);
  if (!device.capabilities.is_simulated) return fmt::format("This takes {}.", range_text(time));
  return simulated_sentence(time, simulation_time(plan_of(request), request.processes));
}

}  // namespace

std::string plan_text(const RunRequest& request, const DeviceDescription& device, std::size_t width) {
  const WorkList& work = request.work;
  const MeasureOptions& options = request.options;
  std::string text = wrapped(fmt::format("{} on {} ({}), each under: cache {}; load {}; queue {}; data {}.",
                                         counted(std::ssize(work.model.layers), "operation"), device.id,
                                         device.name, words(options.caches), words(options.loads),
                                         to_string(options.queue), to_string(options.data)),
                             width);
  text += wrapped(fmt::format("Instrument: {}. Until ±{} %, at least {} rounds.{} {}",
                              options.instrument ? to_string(*options.instrument)
                                                 : "graph for short launches, else events",
                              options.precision * 100, options.minimum_rounds, extras(request),
                              duration_sentence(request, device)),
                  width);
  text += '\n';
  for (const Layer& layer : work.model.layers) {
    text += layer.operation.text();
    if (!layer.names.empty()) text += fmt::format("  ({}× {})", layer.names.size(), layer.names.front());
    text += '\n';
  }
  // PyTorch's untimed operators are the same for every network by name; a file's are not known before.
  const Text untimed = work.model.format.empty()
                           ? Text()
                           : untimed_text(work.model.untimed, work.model.recorded_gpu_time, width);
  if (!untimed.empty()) text += '\n' + untimed;
  for (const std::string& note : work.model.notes) text += "\n" + wrapped(note, width);
  return text;
}

namespace {

// Combines the processes' results with the entries of the plan, which have the layers' names.
void take(const Plan& plan, std::vector<RunRecord> processes, RunRecord& record) {
  RunRecord found = combine_processes(std::move(processes));
  record.calibration = found.calibration;
  record.ceilings = std::move(found.ceilings);
  record.findings = std::move(found.findings);
  record.interrupted = found.interrupted;
  record.notes.insert(record.notes.end(), found.notes.begin(), found.notes.end());
  for (std::size_t i = 0; i < found.entries.size(); ++i) {
    RunEntry entry = plan.entries[i];
    entry.result = std::move(found.entries[i].result);
    record.entries.push_back(std::move(entry));
  }
}

}  // namespace

void note_processes(std::size_t count, const std::vector<std::string>& lost, RunRecord& record) {
  if (count > 1) {
    record.notes.push_back(fmt::format("Each time and its interval are over {} fresh processes.", count));
  }
  for (const std::string& reason : lost) record.notes.push_back("Lost: " + reason + '.');
}

void measure_in_processes(const Plan& plan, std::int64_t processes, const Invocation& invocation,
                          RunRecord& record) {
  ProgressLine line(stderr, host_time_now);
  const auto count = static_cast<std::size_t>(processes);
  ProcessRecords found =
      run_in_fresh_processes(record.device.id, plan,
                             {.executable = invocation.executable,
                              .count = processes,
                              .interrupted = is_interrupted,
                              .progress = [&](const std::string& stage, std::size_t process) {
                                line.show(stage, {process, count});
                              }});
  line.clear();
  const std::size_t done = found.records.size();
  if (done > 0) take(plan, std::move(found.records), record);
  if (done == 1 && processes > 1)
    record.notes.emplace_back("Only one process gave a record, so the times are from it alone.");
  note_processes(done, found.lost, record);
  record.interrupted = record.interrupted || found.interrupted;
}

ProcessRecords run_on_ranks(const Plan& plan, const std::vector<std::string>& devices, std::int64_t processes,
                            const Invocation& invocation) {
  const auto plans_of_group = [&](const StartingGroup& group) {
    Plan own = plan;
    own.entries.clear();
    own.ceilings = false;
    own.verify = plan.verify && group.is_first;
    for (std::vector<Trial>& trials : own.groups) {
      for (Trial& trial : trials) {
        trial.options.seed = group.seed;
        trial.options.load_probe = false;
      }
    }
    return std::vector{std::move(own)};
  };
  GroupsOnRanks done = run_groups_on_ranks(devices, processes, counted(std::ssize(devices), "rank") + ",",
                                           shared_options(plan).seed, plans_of_group, invocation);
  ProcessRecords found;
  found.interrupted = is_interrupted();
  found.durations = std::move(done.durations);
  for (std::vector<RunRecord>& ranks : done.groups) found.records.push_back(std::move(ranks.front()));
  for (const GroupsOnRanks::Lost& lost : done.lost) found.lost.push_back(lost.why);
  if (found.records.empty() && !found.interrupted)
    throw FailedError(found.lost.empty() ? "no rank gave a time" : found.lost.front());
  return with_seed(shared_options(plan).seed, std::move(found));
}

std::string note_on_ranks(std::size_t ranks) {
  return fmt::format("Between {}; the times are those of rank 0.",
                     counted(static_cast<std::int64_t>(ranks), "rank"));
}

void measure_on_ranks(const Plan& plan, const std::vector<std::string>& devices, std::int64_t processes,
                      const Invocation& invocation, RunRecord& record) {
  ProcessRecords found = run_on_ranks(plan, devices, processes, invocation);
  const std::size_t done = found.records.size();
  if (done > 0) take(plan, std::move(found.records), record);
  note_processes(done, found.lost, record);
  record.notes.push_back(note_on_ranks(devices.size()));
  record.interrupted = record.interrupted || found.interrupted;
}

}  // namespace jitterscope::cli
