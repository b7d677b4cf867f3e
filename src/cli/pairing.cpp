#include "cli/pairing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {
namespace {

struct PairedLayers {
  std::vector<const Layer*> layers;  // one for each alternative
  std::vector<std::string> names;    // that all have; empty for what was typed
};

// Operations in the order typed: the first of each alternative, the second of each, and so on.
std::vector<PairedLayers> pair_in_order(const std::vector<ComparedAlternative>& alternatives) {
  const std::size_t count = alternatives.front().work.model.layers.size();
  for (const ComparedAlternative& alternative : alternatives) {
    const std::size_t own = alternative.work.model.layers.size();
    if (own == count) continue;
    throw UsageError(fmt::format("{} is {} and {} is {}: compare as many of each", alternatives.front().label,
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

// The network's names decide: what one alternative runs as one operation may be two in another.
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

std::size_t names_in(const WorkList& work) {
  std::size_t count = 0;
  for (const Layer& layer : work.model.layers) count += layer.names.size();
  return count;
}

// "flops" and "bytes" say it where the parameters have other names.
std::string work_note(const Operation& first, const Operation& second, const std::string& first_label,
                      const std::string& second_label) {
  std::vector<std::string> parts;
  if (first.flops() != second.flops()) {
    parts.push_back(
        fmt::format("{} and {}", rate_text(first.flops(), "FLOP"), rate_text(second.flops(), "FLOP")));
  }
  if (first.bytes() != second.bytes()) {
    parts.push_back(fmt::format("{} and {} to move", bytes_text(first.bytes()), bytes_text(second.bytes())));
  }
  if (parts.empty()) return {};
  return fmt::format("{} and {} are unlike work: {}.", first_label, second_label, joined(parts));
}

// Why the device cannot run one of them; empty where it can run all.
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

// What each alternative has beside what is compared, and what was noted when it was read.
void note_what_is_left(const std::vector<ComparedAlternative>& alternatives, std::size_t paired_names,
                       std::vector<std::string>& notes) {
  for (const ComparedAlternative& alternative : alternatives) {
    for (const std::string& note : alternative.work.model.notes) {
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
    const std::size_t names = names_in(alternative.work);
    if (names <= paired_names) continue;
    notes.push_back(fmt::format("{} of {} layers of {} have no partner and are left out.",
                                names - paired_names, names, alternative.label));
  }
}

}  // namespace

ComparedWork pair_alternatives(const std::vector<ComparedAlternative>& alternatives,
                               const MeasureOptions& shared, const DeviceDescription& device) {
  const auto is_model = [](const ComparedAlternative& alternative) { return alternative.work.is_model; };
  const bool all_models = std::ranges::all_of(alternatives, is_model);
  if (!all_models && std::ranges::any_of(alternatives, is_model)) {
    throw UsageError("a network and a single operation have no layer in common; compare two of a kind");
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
  std::size_t paired_names = 0, impossible = 0;
  std::string problem;
  for (const PairedLayers& pair : pairs) {
    paired_names += pair.names.size();
    if (const std::string reason = problem_of(pair, device); !reason.empty()) {
      if (impossible++ == 0) problem = reason;
      continue;
    }
    work.plan.groups.push_back(group_of(pair, alternatives, shared));
    const auto count = std::max<std::int64_t>(1, std::ssize(pair.names));
    work.items.items.push_back({.count = count, .layers = pair.names});
  }
  if (work.plan.groups.empty()) throw UsageError(problem);
  if (impossible > 0) {
    work.notes.push_back(fmt::format("{} of {} cannot run here on all sides and are left out; the first: {}",
                                     impossible, pairs.size(), problem));
  }
  if (all_models) note_what_is_left(alternatives, paired_names, work.notes);
  return work;
}

void note_unlike_work(const std::vector<ComparedAlternative>& alternatives, ComparedWork& work) {
  if (work.plan.groups.size() != 1 || alternatives.front().work.is_model) return;
  const std::vector<Trial>& group = work.plan.groups.front();
  for (std::size_t i = 1; i < group.size(); ++i) {
    const std::string note =
        work_note(group[0].operation, group[i].operation, alternatives[0].label, alternatives[i].label);
    if (!note.empty()) work.notes.push_back(note);
  }
}

}  // namespace jitterscope::cli
