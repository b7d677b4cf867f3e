#include "cli/alternatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/model_target.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope::cli {
namespace {

struct Factor {
  std::string name;
  std::vector<std::string> values;
};

const std::vector<std::string> kConditionNames = {"cache", "data", "queue", "instrument", "provider"};

Factor read_factor(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(
        fmt::format("--vary {}: write NAME=VALUE,VALUE, as engine=pytorch,best", printable(text, 60)));
  }
  Factor factor{text.substr(0, equals), {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    factor.values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::ranges::find(factor.values, "") != factor.values.end()) {
    throw UsageError(fmt::format("--vary {}: a value is empty", text));
  }
  const std::set<std::string> different(factor.values.begin(), factor.values.end());
  if (different.size() != factor.values.size())
    throw UsageError(fmt::format("--vary {}: a value stands twice", text));
  return factor;
}

// The target with another value of one of its parameters, which it may name or not.
std::string with_parameter(const std::string& target, const Factor& factor, const std::string& value) {
  if (target.starts_with("aten::")) {
    throw UsageError(
        fmt::format("--vary {}: an operator of PyTorch has no parameters by name; write the two "
                    "operators to compare",
                    factor.name));
  }
  const std::string setting = factor.name + '=' + value;
  const std::size_t colon = target.find(':');
  if (colon == std::string::npos) return target + ':' + setting;
  std::string text = target.substr(0, colon + 1);
  bool is_there = false;
  for (std::size_t begin = colon + 1; begin < target.size();) {
    const std::size_t end = std::min(target.find(',', begin), target.size());
    const std::string part = target.substr(begin, end - begin);
    const bool is_this = part.starts_with(factor.name + '=');
    if (text.back() != ':') text += ',';
    text += is_this ? setting : part;
    is_there = is_there || is_this;
    begin = end + 1;
  }
  if (is_there) return text;
  return text + (text.back() == ':' ? "" : ",") + setting;
}

Alternative with_value(Alternative alternative, const Factor& factor, const std::string& value) {
  alternative.label += (alternative.label.empty() ? "" : ", ") + factor.name + '=' + value;
  if (factor.name == "cache") {
    alternative.conditions.caches = {value};
  } else if (factor.name == "data") {
    alternative.conditions.data = value;
  } else if (factor.name == "queue") {
    alternative.conditions.queue = value;
  } else if (factor.name == "instrument") {
    alternative.conditions.instrument = value;
  } else if (factor.name == "provider") {
    alternative.provider = value;
  } else {
    alternative.target = with_parameter(alternative.target, factor, value);
  }
  return alternative;
}

// Reads the alternative's target, so that what cannot be varied is said with the flag that asked for it.
void check_alternative(const Alternative& alternative, const Factor& factor) {
  const bool is_condition = std::ranges::find(kConditionNames, factor.name) != kConditionNames.end();
  try {
    if (is_condition) {
      alternative.conditions.options();
      parse_provider(alternative.provider);
    } else {
      read_targets({alternative.target});
    }
  } catch (const UsageError& error) {
    const std::string known = fmt::format(" (conditions that can be varied: {})", joined(kConditionNames));
    throw UsageError(
        fmt::format("--vary {}: {}{}", factor.name, error.what(), is_condition ? std::string() : known));
  }
}

std::vector<Alternative> varied(const Alternative& base, const std::vector<Factor>& factors) {
  std::vector<Alternative> alternatives = {base};
  for (const Factor& factor : factors) {
    std::vector<Alternative> more;
    for (const Alternative& alternative : alternatives) {
      for (const std::string& value : factor.values) {
        more.push_back(with_value(alternative, factor, value));
        check_alternative(more.back(), factor);
      }
    }
    alternatives = std::move(more);
  }
  return alternatives;
}

struct PairedLayers {
  std::vector<const Layer*> layers;  // one for each alternative
  std::vector<std::string> names;    // that all have; empty for what was typed
};

// Operations in the order typed: the first of each alternative, the second of each, and so on.
std::vector<PairedLayers> pair_in_order(const std::vector<WorkList>& works,
                                        const std::vector<Alternative>& alternatives) {
  const std::size_t count = works.front().model.layers.size();
  for (std::size_t i = 1; i < works.size(); ++i) {
    if (works[i].model.layers.size() == count) continue;
    throw UsageError(fmt::format(
        "{} is {} and {} is {}: compare as many of each", alternatives.front().target,
        count == 1 ? "one operation" : fmt::format("{} operations", count), alternatives[i].target,
        works[i].model.layers.size() == 1 ? "one" : std::to_string(works[i].model.layers.size())));
  }
  std::vector<PairedLayers> pairs(count);
  for (const WorkList& work : works) {
    for (std::size_t i = 0; i < count; ++i) pairs[i].layers.push_back(&work.model.layers[i]);
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
std::vector<PairedLayers> pair_by_name(const std::vector<WorkList>& works) {
  std::vector<PairedLayers> pairs;
  for (const Layer& layer : works.front().model.layers) {
    for (const std::string& name : layer.names) {
      PairedLayers pair{{&layer}, {name}};
      for (std::size_t i = 1; i < works.size(); ++i) pair.layers.push_back(layer_named(works[i], name));
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

}  // namespace

std::vector<Alternative> read_alternatives(const std::vector<std::string>& targets,
                                           const std::vector<std::string>& vary,
                                           const MeasureFlags& conditions, const std::string& provider) {
  if (vary.empty()) {
    if (targets.size() < 2) {
      throw UsageError(
          "compare takes two or more operations, models or records, or one with --vary NAME=VALUE,VALUE");
    }
    std::vector<Alternative> alternatives;
    for (const std::string& target : targets) alternatives.push_back({target, target, conditions, provider});
    return alternatives;
  }
  if (targets.size() != 1) {
    throw UsageError("--vary varies one operation or model: leave the others out, or leave out --vary");
  }
  std::vector<Factor> factors;
  for (const std::string& text : vary) factors.push_back(read_factor(text));
  std::vector<Alternative> alternatives = varied({"", targets.front(), conditions, provider}, factors);
  constexpr std::size_t kMost = 32;
  if (alternatives.size() > kMost) {
    throw UsageError(
        fmt::format("--vary: {} combinations; at most {} are compared at once", alternatives.size(), kMost));
  }
  if (alternatives.size() < 2)
    throw UsageError("--vary: one value leaves nothing to compare; name two or more");
  return alternatives;
}

namespace {

std::vector<WorkList> read_works(const std::vector<Alternative>& alternatives, const std::string& only,
                                 const DeviceDescription& device) {
  std::vector<WorkList> works;
  for (const Alternative& alternative : alternatives) {
    works.push_back(read_targets({alternative.target}, only));
    fit_to_device(works.back(), device);
    choose_provider(works.back(), parse_provider(alternative.provider), device, false);
  }
  return works;
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

std::vector<Trial> group_of(const PairedLayers& pair, const std::vector<Alternative>& alternatives,
                            const MeasureOptions& shared) {
  std::vector<Trial> group;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    MeasureOptions options = alternatives[i].conditions.options();
    if (alternatives[i].conditions.caches.empty()) options.caches = {CacheState::warm};
    options.loads = shared.loads;
    options.precision = shared.precision;
    options.time_limit = shared.time_limit;
    options.locked_clock = shared.locked_clock;
    group.push_back({pair.layers[i]->operation, options});
  }
  return group;
}

// What each alternative has beside what is compared, and what was noted when it was read.
void note_what_is_left(const std::vector<WorkList>& works, const std::vector<Alternative>& alternatives,
                       std::size_t paired_names, std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < works.size(); ++i) {
    for (const std::string& note : works[i].model.notes) {
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    }
    const std::size_t names = names_in(works[i]);
    if (names <= paired_names) continue;
    notes.push_back(fmt::format("{} of {} layers of {} have no partner and are left out.",
                                names - paired_names, names, alternatives[i].label));
  }
}

}  // namespace

ComparedWork pair_alternatives(const std::vector<Alternative>& alternatives, const std::string& only,
                               const MeasureOptions& shared, const DeviceDescription& device) {
  const std::vector<WorkList> works = read_works(alternatives, only, device);
  const bool any_model = std::ranges::any_of(works, &WorkList::is_model);
  const bool all_models = std::ranges::all_of(works, &WorkList::is_model);
  if (any_model != all_models) {
    throw UsageError("a network and a single operation have no layer in common; compare two of a kind");
  }
  const std::vector<PairedLayers> pairs =
      all_models ? pair_by_name(works) : pair_in_order(works, alternatives);
  if (pairs.empty()) {
    throw UsageError(fmt::format("{} and {} have no layer of the same name", alternatives[0].target,
                                 alternatives[1].target));
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
  if (all_models) note_what_is_left(works, alternatives, paired_names, work.notes);
  for (std::size_t i = 1; !all_models && pairs.size() == 1 && i < alternatives.size(); ++i) {
    const std::string note = work_note(pairs.front().layers[0]->operation, pairs.front().layers[i]->operation,
                                       alternatives[0].label, alternatives[i].label);
    if (!note.empty()) work.notes.push_back(note);
  }
  return work;
}

}  // namespace jitterscope::cli
