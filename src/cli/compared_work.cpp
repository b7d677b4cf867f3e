#include "cli/compared_work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/provider_choice.hpp"
#include "cli/run_request.hpp"
#include "cli/simulation_time.hpp"
#include "device/can_run.hpp"
#include "experiment/judgement.hpp"
#include "jitterscope/error.hpp"
#include "operation/samples.hpp"
#include "output/progress.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {
namespace {

struct PairedLayers {
  std::vector<const Layer*> layers;  // one for each alternative
  std::vector<std::string> names;    // that all have; empty for typed operations
};

// Pairs typed operations in order: the first of each alternative, the second of each, and so on.
std::vector<PairedLayers> pair_in_order(const std::vector<ComparedAlternative>& alternatives) {
  const std::size_t count = alternatives.front().work.model.layers.size();
  for (const ComparedAlternative& alternative : alternatives) {
    const std::size_t own = alternative.work.model.layers.size();
    if (own == count) continue;
    throw UsageError(fmt::format("{} is {} and {} is {}; compare the same number on both sides",
                                 alternatives.front().label,
                                 count == 1 ? "one operation" : fmt::format("{} operations", count),
                                 alternative.label, own == 1 ? "one" : std::to_string(own)));
  }
  std::vector<PairedLayers> pairs(count);
  for (const ComparedAlternative& alternative : alternatives) {
    for (std::size_t i = 0; i < count; ++i) pairs[i].layers.push_back(&alternative.work.model.layers[i]);
  }
  return pairs;
}

const Layer* layer_named(const WorkList& work, const std::string& name) {
  const auto found = std::ranges::find_if(work.model.layers, [&](const Layer& layer) {
    return std::ranges::find(layer.names, name) != layer.names.end();
  });
  return found == work.model.layers.end() ? nullptr : &*found;
}

// Pairs by the network's names: two alternatives may run a layer as different numbers of operations.
std::vector<PairedLayers> pair_by_name(const std::vector<ComparedAlternative>& alternatives) {
  std::vector<PairedLayers> pairs;
  for (const Layer& layer : alternatives.front().work.model.layers) {
    for (const std::string& name : layer.names) {
      PairedLayers pair{{&layer}, {name}};
      for (std::size_t i = 1; i < alternatives.size(); ++i) {
        pair.layers.push_back(layer_named(alternatives[i].work, name));
      }
      if (std::ranges::find(pair.layers, nullptr) != pair.layers.end()) continue;
      const auto same = [&](const PairedLayers& known) { return known.layers == pair.layers; };
      if (const auto known = std::ranges::find_if(pairs, same); known != pairs.end()) {
        known->names.push_back(name);
      } else {
        pairs.push_back(std::move(pair));
      }
    }
  }
  return pairs;
}

// Returns why the device cannot run one of them; empty if it can run all.
std::string problem_of(const PairedLayers& pair, const DeviceDescription& device) {
  try {
    for (const Layer* layer : pair.layers) check_can_run(layer->operation, device);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

std::vector<Trial> group_of(const PairedLayers& pair, const std::vector<ComparedAlternative>& alternatives,
                            const MeasureOptions& shared) {
  std::vector<Trial> group;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    MeasureOptions options = alternatives[i].options;
    options.loads = shared.loads;
    options.precision = shared.precision;
    options.time_limit = shared.time_limit;
    options.locked_clock = shared.locked_clock;
    group.push_back({pair.layers[i]->operation, options});
  }
  return group;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Adds the notes of each alternative's model, and notes on its layers without a partner.
void note_what_is_left(const std::vector<ComparedAlternative>& alternatives,
                       const std::vector<std::string>& paired, const std::vector<std::string>& compared,
                       ComparedWork& work) {
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const ComparedAlternative& alternative = alternatives[i];
    for (const std::string& note : alternative.work.model.notes) {
      if (!is_among(work.notes, note)) work.notes.push_back(note);
    }
    LayerNames unpaired;
    std::int64_t of = 0, left = 0;
    for (const Layer& layer : alternative.work.model.layers) {
      std::vector<std::string> names;
      for (const std::string& name : layer.names) {
        ++of;
        left += is_among(compared, name) ? 0 : 1;
        if (!is_among(paired, name)) names.push_back(name);
      }
      unpaired.add(names);
    }
    if (left > 0) work.left_out.push_back({i, left, of});
    if (unpaired.empty()) continue;
    work.notes.push_back(fmt::format("{} of {} layers of {} are not on the other side and are left out: {}.",
                                     unpaired.size(), of, alternative.label, unpaired.some()));
  }
}

}  // namespace

ComparedWork pair_alternatives(const std::vector<ComparedAlternative>& alternatives,
                               const MeasureOptions& shared, const DeviceDescription& device) {
  const auto is_model = [](const ComparedAlternative& alternative) { return alternative.work.is_model; };
  const bool all_models = std::ranges::all_of(alternatives, is_model);
  if (!all_models && std::ranges::any_of(alternatives, is_model)) {
    throw UsageError(
        "a network and a single operation have no layer in common; compare two networks or two operations");
  }
  const std::vector<PairedLayers> pairs =
      all_models ? pair_by_name(alternatives) : pair_in_order(alternatives);
  if (pairs.empty()) {
    throw UsageError(fmt::format("{} and {} have no layer of the same name", alternatives[0].label,
                                 alternatives[1].label));
  }
  ComparedWork work;
  work.items.alternatives = alternatives.size();
  work.plan.ceilings = false;
  std::vector<std::string> paired, compared;
  std::size_t impossible = 0;
  std::string problem;
  for (const PairedLayers& pair : pairs) {
    paired.insert(paired.end(), pair.names.begin(), pair.names.end());
    if (const std::string reason = problem_of(pair, device); !reason.empty()) {
      if (impossible++ == 0) problem = reason;
      continue;
    }
    compared.insert(compared.end(), pair.names.begin(), pair.names.end());
    work.plan.groups.push_back(group_of(pair, alternatives, shared));
    const auto count = std::max<std::int64_t>(1, std::ssize(pair.names));
    work.items.items.push_back({.count = count, .layers = pair.names});
  }
  if (work.plan.groups.empty()) throw UsageError(problem);
  if (impossible > 0) {
    work.notes.push_back(
        fmt::format("{} of {} are left out because they cannot run here on all sides; the first: {}",
                    impossible, pairs.size(), problem));
  }
  if (all_models) note_what_is_left(alternatives, paired, compared, work);
  return work;
}

std::vector<std::int64_t> samples_that_differ(const std::vector<ComparedAlternative>& alternatives,
                                              const ComparedWork& work) {
  const bool are_models = alternatives.front().work.is_model;
  std::int64_t of_first = 0;  // the fewest of any layer that grows: others count rows of each sample
  std::vector<std::optional<double>> times(alternatives.size());
  for (const std::vector<Trial>& group : work.plan.groups) {
    const Operation& first = *group.front().operation();
    Operation::Parameters parameters = first.parameters();
    const std::int64_t* batch = batch_of(parameters);
    if (!are_models && !counts_samples(first)) return {};
    if (batch == nullptr) continue;
    bool grows = false;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::optional<double> own = times_the_samples(first, *group[i].operation());
      if (!own || (*own != 1.0 && times[i] && *times[i] != *own)) return {};
      if (*own != 1.0) times[i] = own;
      grows = grows || *own != 1.0;
    }
    if (grows && counts_samples(first)) of_first = of_first == 0 ? *batch : std::min(of_first, *batch);
  }
  std::vector<std::int64_t> samples;
  if (of_first == 0) return {};
  for (const std::optional<double>& each : times) {
    samples.push_back(std::llround(each.value_or(1.0) * static_cast<double>(of_first)));
  }
  return samples;
}

void note_unlike_work(const std::vector<ComparedAlternative>& alternatives, ComparedWork& work) {
  const bool are_models = alternatives.front().work.is_model;
  if (work.plan.groups.size() != 1 && !are_models) return;
  for (std::size_t i = 1; i < alternatives.size(); ++i) {
    const std::string &first = alternatives[0].label, &second = alternatives[i].label;
    UnlikeWork unlike;
    for (std::size_t item = 0; item < work.plan.groups.size(); ++item) {
      const std::vector<Trial>& group = work.plan.groups[item];
      const RunEntry& entry = work.items.items[item];
      if (are_models) {
        unlike.add(entry.layers.front(), *group[0].operation(), *group[i].operation(), entry.count);
        continue;
      }
      const std::string note =
          unlike_work_sentence(first, *group[0].operation(), second, *group[i].operation());
      if (!note.empty()) work.notes.push_back(note);
    }
    if (const std::string sentence = unlike.sentence(first, second); !sentence.empty())
      work.notes.push_back(sentence);
  }
}

ComparedAlternative apply_arms(const std::string& label, std::span<const AppliedArm> arms, WorkList work,
                               const MeasureOptions& options, const std::string& provider,
                               const DeviceDescription& device) {
  MeasureOptions own = options;
  for (Layer& layer : work.model.layers) {
    study::OperationTrial trial{layer.operation, own};
    for (const AppliedArm& applied : arms) {
      if (applied.study->can_be_asked_of(trial.operation)) applied.arm.apply(trial);
    }
    if (trial.operation != layer.operation) layer.aten.reset();
    layer.operation = std::move(trial.operation);
    own = std::move(trial.options);
  }
  choose_provider(work, parse_provider(provider), device, true);
  return {label, std::move(work), std::move(own)};
}

std::string problem_of(const WorkList& work, const DeviceDescription& device) {
  std::string problem;
  for (const Layer& layer : work.model.layers) {
    try {
      check_can_run(layer.operation, device);
      return {};
    } catch (const UsageError& error) {
      problem = error.what();
    }
  }
  return problem;
}

std::string comparison_plan_text(const ComparedWork& work, const ComparisonRecord& record) {
  std::string text;
  for (std::size_t i = 0; i < record.alternatives.size(); ++i) {
    text += fmt::format("{}{}\n", i == 0 ? "first:   " : "against: ", record.alternatives[i]);
  }
  const MeasureOptions& options = shared_options(work.plan);
  const double least = to_seconds(options.longest_idle + options.shortest_idle) / 2.0 *
                       static_cast<double>(options.minimum_rounds);
  const double most = to_seconds(options.time_limit) * static_cast<double>(record.alternatives.size());
  const auto items = static_cast<double>(work.items.items.size());
  const auto processes = static_cast<double>(record.processes_asked);
  const TimeRange time{seconds(least * items * processes), seconds(most * items * processes)};
  const std::string duration =
      record.device.capabilities.is_simulated
          ? simulated_sentence(time, simulation_time(work.plan, record.processes_asked))
          : fmt::format("This takes {}, and the start of each process.", range_text(time));
  return text + fmt::format("{} on {}, {} to compare. {}\n", counted(record.processes_asked, "fresh process"),
                            record.device.name, counted(std::ssize(work.items.items), "item"), duration);
}

namespace {

void take(const ComparedWork& work, ProcessRecords& found, ComparisonRecord& record) {
  record.interrupted = found.interrupted;
  // The first process verifies and counts. Takes over what it failed to count.
  for (const RunRecord& process : found.records) {
    for (const std::string& note : process.notes) add_once(record.notes, note);
    for (const RunEntry& entry : process.entries) {
      const auto& shortfall = entry.result.without_counters;
      if (shortfall) add_once(record.notes, "DRAM traffic was not counted: " + shortfall->reason);
    }
  }
  record.lost_processes = std::move(found.lost);
  compare_processes(work.items, found.records, record);
}

}  // namespace

std::vector<Nanoseconds> compare_in_processes(const ComparedWork& work, const Invocation& invocation,
                                              ComparisonRecord& record, std::optional<Nanoseconds> budget) {
  ProgressLine line(stderr, host_time_now);
  const auto count = static_cast<std::size_t>(record.processes_asked);
  const FreshProcesses processes{.executable = invocation.executable,
                                 .count = record.processes_asked,
                                 .interrupted = is_interrupted,
                                 .progress =
                                     [&](const std::string& stage, std::size_t process) {
                                       line.show(stage, {process, count});
                                     },
                                 .budget = budget};
  ProcessRecords found = run_in_fresh_processes(record.device.id, work.plan, processes);
  line.clear();
  take(work, found, record);
  return std::move(found.durations);
}

void compare_on_ranks(const ComparedWork& work, const std::vector<std::string>& devices,
                      const Invocation& invocation, ComparisonRecord& record) {
  ProcessRecords found = run_on_ranks(work.plan, devices, record.processes_asked, invocation);
  record.notes.push_back(note_on_ranks(devices.size()));
  take(work, found, record);
}

}  // namespace jitterscope::cli
