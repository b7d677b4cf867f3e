// Two records that were measured apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "experiment/comparison.hpp"
#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

class DifferenceList {
 public:
  explicit DifferenceList(std::vector<RecordDifference>& all) : all_(all) {}

  void compare(const std::string& name, const std::string& first, const std::string& second,
               bool may_explain) {
    if (first == second) return;
    const auto same = [&](const RecordDifference& known) {
      return known.name == name && known.first == first && known.second == second;
    };
    if (std::ranges::none_of(all_, same)) all_.push_back({name, first, second, may_explain});
  }

 private:
  std::vector<RecordDifference>& all_;
};

std::string library_version(const DeviceDescription& device, const std::string& name) {
  const auto found = std::ranges::find(device.libraries, name, &LibraryInfo::name);
  return found == device.libraries.end() ? "" : found->version;
}

std::string value_of(const std::vector<Property>& properties, const std::string& key) {
  const auto found = std::ranges::find(properties, key, &Property::key);
  return found == properties.end() ? "" : found->value;
}

void compare_machines(const RunRecord& first, const RunRecord& second, DifferenceList& differences) {
  differences.compare("device", first.device.name, second.device.name, true);
  if (first.device.name == second.device.name) {
    differences.compare("device uuid", first.device.uuid, second.device.uuid, true);
  }
  const auto limit = [](const DeviceDescription& device) {
    return device.power_limit ? power_text(*device.power_limit) : std::string();
  };
  differences.compare("power limit", limit(first.device), limit(second.device), true);
  // What only one of them has, too; what both have is listed once.
  for (const DeviceDescription* device : {&first.device, &second.device}) {
    for (const Property& property : device->properties) {
      if (property.key == "seed") continue;  // of a simulated device: the run's own, which conditions hold
      differences.compare(property.key, value_of(first.device.properties, property.key),
                          value_of(second.device.properties, property.key), true);
    }
    for (const LibraryInfo& library : device->libraries) {
      differences.compare(library.name, library_version(first.device, library.name),
                          library_version(second.device, library.name), true);
    }
  }
  differences.compare("jitterscope", first.environment.tool_version, second.environment.tool_version, true);
  differences.compare("host", value_of(first.environment.host, "host_name"),
                      value_of(second.environment.host, "host_name"), false);
}

std::string text_of(const std::optional<Value>& value) {
  if (!value) return "not set";
  struct Text {
    std::string operator()(const std::string& word) const { return word; }
    std::string operator()(bool yes) const { return yes ? "yes" : "no"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return fmt::format("{:g}", number); }
  };
  return std::visit(Text(), *value);
}

// A clock that differs by more than this moves what follows it by more than most intervals are wide.
constexpr double kSameClock = 0.005;

void compare_conditions(const RunEntry& first_entry, const Measurement& first, const RunEntry& second_entry,
                        const Measurement& second, DifferenceList& differences) {
  for (const ConditionDifference& each :
       differing_conditions(first_entry.result, first, second_entry.result, second)) {
    // The seed draws idles and orders; the interval holds what it changes.
    differences.compare(each.name, text_of(each.first), text_of(each.second), each.name != "seed");
  }
  differences.compare("instrument", std::string(to_string(first.instrument)),
                      std::string(to_string(second.instrument)), true);
  if (!first.clock || !second.clock) return;
  if (std::abs(second.clock->median / first.clock->median - 1.0) > kSameClock) {
    differences.compare("clock", clock_text(first.clock->median), clock_text(second.clock->median), true);
  }
}

double relative_half(const TimeEstimate& time) { return (time.high - time.low) / time.median / 2.0; }

// Both intervals hold what processes differ by, so that their errors are independent.
std::optional<Effect> effect_of(const TimeEstimate& first, const TimeEstimate& second) {
  if (!std::isfinite(first.precision()) || !std::isfinite(second.precision())) return std::nullopt;
  constexpr double kNormal95 = 1.959964;
  Effect effect;
  effect.value = std::log(second.median / first.median);
  const double half = std::hypot(relative_half(first), relative_half(second));
  effect.interval = {effect.value - half, effect.value + half};
  effect.processes = 1;
  effect.p_value = half > 0.0 ? std::erfc(std::abs(effect.value) / (half / kNormal95) / std::sqrt(2.0))
                              : (effect.value == 0.0 ? 1.0 : 0.0);
  return effect;
}

bool share_a_layer(const RunEntry& first, const RunEntry& second) {
  return std::ranges::any_of(first.layers, [&](const std::string& name) {
    return std::ranges::find(second.layers, name) != second.layers.end();
  });
}

std::string contents(const RunRecord& record) {
  if (record.entries.empty()) return "nothing that was timed";
  std::string first = to_string(record.entries.front().result.subject);
  if (record.entries.size() == 1) return first;
  return fmt::format("{} and {} more", first, record.entries.size() - 1);
}

class RecordComparer {
 public:
  explicit RecordComparer(ComparisonRecord& record) : record_(record), differences_(record.differences) {}

  void compare(const RunRecord& first, const RunRecord& second) {
    record_.differences = machine_differences(first, second);
    const std::vector<EntryPair> pairs = entries_in_common(first, second);
    for (const EntryPair& pair : pairs) compare_entries(*pair.first, *pair.second);
    if (record_.comparisons.empty()) {
      throw UsageError(fmt::format(
          "the two records have no operation in common that both timed in the same cache state and "
          "under the same load: the first has {}, the second {}",
          contents(first), contents(second)));
    }
    judge(record_.comparisons, effects_, record_.margin);
    add_totals();
    note_what_is_left(first, second, pairs.size());
  }

 private:
  void compare_entries(const RunEntry& first, const RunEntry& second) {
    if (!first.result.failure.empty() || !second.result.failure.empty()) return add_failure(first, second);
    const bool same_subject = first.result.subject == second.result.subject;
    for (const Measurement& a : first.result.measurements) {
      const Measurement* b = measurement_of(second.result, a.conditions.load, a.conditions.cache);
      if (b == nullptr) continue;
      if (!same_subject) {
        differences_.compare("operation", to_string(first.result.subject), to_string(second.result.subject),
                             true);
      }
      compare_conditions(first, a, second, *b, differences_);
      Comparison comparison{.layers = first.layers, .count = first.count};
      comparison.first = side_of(first.result, a);
      comparison.second = side_of(second.result, *b);
      const std::optional<Effect> effect = effect_of(a.time, b->time);
      if (effect) {
        comparison.time = ratio_of(*effect);
        comparison.processes = 1;
        comparison.p_value = effect->p_value;
      } else {
        comparison.failure = "one of the two has too few rounds for an interval";
      }
      effects_.push_back(effect);
      record_.comparisons.push_back(std::move(comparison));
    }
  }

  void add_failure(const RunEntry& first, const RunEntry& second) {
    const bool in_first = !first.result.failure.empty();
    Comparison comparison{.layers = first.layers, .count = first.count};
    comparison.first.subject = first.result.subject;
    comparison.second.subject = second.result.subject;
    comparison.failure = fmt::format("it failed in the {} record: {}", in_first ? "first" : "second",
                                     (in_first ? first : second).result.failure);
    effects_.emplace_back();
    record_.comparisons.push_back(std::move(comparison));
  }

  // Of layers, of which there are several: what was typed makes no whole.
  void add_totals() {
    std::vector<Conditions> known;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      const auto same = [&](const Conditions& other) {
        return other.load == comparison.first.conditions.load &&
               other.cache == comparison.first.conditions.cache;
      };
      if (!effects_[i] || comparison.layers.empty() || std::ranges::any_of(known, same)) continue;
      known.push_back(comparison.first.conditions);
      add_total(known.back());
    }
  }

  void add_total(const Conditions& conditions) {
    TotalComparison total{.load = conditions.load, .cache = conditions.cache};
    std::size_t layers = 0;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      const Conditions& own = comparison.first.conditions;
      if (!effects_[i] || own.load != conditions.load || own.cache != conditions.cache) continue;
      add_times(total.first, comparison.first.time, comparison.count);
      add_times(total.second, comparison.second.time, comparison.count);
      ++layers;
    }
    const std::optional<Effect> effect = effect_of(total.first, total.second);
    if (layers < 2 || !effect) return;
    judge(total, *effect, record_.margin);
    record_.totals.push_back(total);
  }

  // What the layers of one record are off by they may all be off by: half-widths are added.
  static void add_times(TimeEstimate& sum, const TimeEstimate& time, std::int64_t count) {
    const auto times = static_cast<double>(count);
    const bool is_first = sum.rounds == 0;
    sum.median += time.median * times;
    sum.low += time.low * times;
    sum.high += time.high * times;
    sum.rounds = is_first ? time.rounds : std::min(sum.rounds, time.rounds);
  }

  void note_what_is_left(const RunRecord& first, const RunRecord& second, std::size_t pairs) {
    const auto note = [&](const RunRecord& record, const char* which) {
      if (record.entries.size() <= pairs) return;
      record_.notes.push_back(
          fmt::format("{} of the {} operations of the {} record have no partner in the other.",
                      record.entries.size() - pairs, record.entries.size(), which));
    };
    note(first, "first");
    note(second, "second");
  }

  ComparisonRecord& record_;
  DifferenceList differences_;
  std::vector<std::optional<Effect>> effects_;  // of record_.comparisons
};

}  // namespace

std::vector<RecordDifference> machine_differences(const RunRecord& first, const RunRecord& second) {
  std::vector<RecordDifference> all;
  DifferenceList differences(all);
  compare_machines(first, second, differences);
  return all;
}

std::vector<EntryPair> entries_in_common(const RunRecord& first, const RunRecord& second) {
  std::vector<EntryPair> pairs;
  for (const RunEntry& a : first.entries) {
    auto found = std::ranges::find_if(
        second.entries, [&](const RunEntry& b) { return a.result.subject == b.result.subject; });
    if (found == second.entries.end()) {
      found = std::ranges::find_if(second.entries, [&](const RunEntry& b) { return share_a_layer(a, b); });
    }
    if (found != second.entries.end()) pairs.push_back({&a, &*found});
  }
  if (pairs.empty() && first.entries.size() == 1 && second.entries.size() == 1) {
    pairs.push_back({&first.entries.front(), &second.entries.front()});
  }
  return pairs;
}

void compare_records(const RunRecord& first, const RunRecord& second, ComparisonRecord& record) {
  RecordComparer(record).compare(first, second);
}

}  // namespace jitterscope
