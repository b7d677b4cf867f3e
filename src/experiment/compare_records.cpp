#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/comparison.hpp"
#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "experiment/times_apart.hpp"
#include "jitterscope/error.hpp"
#include "operation/samples.hpp"
#include "statistics/statistics.hpp"

// Compares two records that were measured at different times, and lists how their circumstances differ.

namespace jitterscope {

/// Collects each difference once, with the layers that have it.
class DifferenceList {
 public:
  explicit DifferenceList(std::vector<RecordDifference>& all) : all_(all) {}

  void compare(const std::string& name, const std::string& first, const std::string& second, bool may_explain,
               const std::string& layer = {}, std::size_t alternative = 1);

 private:
  std::vector<RecordDifference>& all_;
};

/// Adds differences in conditions, instrument and clock of an operation or layer that both records have.
void compare_conditions(const RunEntry& first_entry, const Measurement& first, const RunEntry& second_entry,
                        const Measurement& second, DifferenceList& differences, const std::string& layer,
                        std::size_t alternative);

namespace {

using statistics::Effect;

std::string value_of(const std::vector<Property>& properties, const std::string& key) {
  const auto found = std::ranges::find(properties, key, &Property::key);
  return found == properties.end() ? "" : found->value;
}

// A clock that is read at both ends of a round, by timing known cycles, does not know what others left of a
// core in between. Two such records, apart by hours, differed by -38 % in cycles where the work took 3 %
// more.
bool counts_cycles(const RunRecord& record) {
  return value_of(record.device.properties, "clock_source") != "known_cycles";
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

// Pairs each call of the second network with at most one of the first, so that no total counts it twice.
std::vector<EntryPair> shared_calls(const std::vector<EntryPair>& pairs) {
  std::vector<EntryPair> shared;
  for (EntryPair pair : pairs) {
    if (!pair.first->layers.empty() && !pair.second->layers.empty()) {
      std::int64_t free = pair.second->count;
      for (const EntryPair& before : shared) free -= before.second == pair.second ? before.count : 0;
      pair.count = std::min(pair.count, free);
    }
    if (pair.count > 0) shared.push_back(pair);
  }
  return shared;
}

// The two measurements of a comparison; null if it failed.
struct Sides {
  const Measurement *first = nullptr, *second = nullptr;
};

class RecordComparer {
 public:
  RecordComparer(ComparisonRecord& record, Judging judging)
      : record_(record), differences_(record.differences), judging_(judging) {}

  void compare(const RunRecord& first, std::span<const RunRecord> others) {
    are_on_hosts_ =
        std::ranges::all_of(others, [&](const RunRecord& other) { return are_on_hosts(first, other); });
    if (are_on_hosts_ && judging_ == Judging::gate) judging_ = Judging::gate_on_host;
    has_several_ = others.size() > 1;
    counts_cycles_ = counts_cycles(first) && std::ranges::all_of(others, counts_cycles);
    std::vector<std::vector<EntryPair>> shared;
    for (const RunRecord& other : others) shared.push_back(entries_in_common(first, other));
    find_samples(shared);
    for (const RunRecord& other : others) {
      ++alternative_;
      compare_pair(first, other, shared[alternative_ - 1]);
    }
    note_other_work(first, "the first record", record_.notes);
    for (alternative_ = 1; alternative_ <= others.size(); ++alternative_)
      note_other_work(others[alternative_ - 1], record_named(alternative_), record_.notes);
    if (record_.samples.empty()) note_unlike_layers(record_);
    note_only_moved(record_);
    judge(record_.comparisons, effects_, record_.margin, judging_);
    keep_some_rounds(record_.comparisons);
    for (alternative_ = 1; alternative_ <= others.size(); ++alternative_) add_totals();
  }

 private:
  void compare_pair(const RunRecord& first, const RunRecord& other, const std::vector<EntryPair>& shared) {
    for (RecordDifference& each : machine_differences(first, other)) {
      each.alternative = alternative_;
      record_.differences.push_back(std::move(each));
    }
    const std::size_t before = record_.comparisons.size();
    for (const EntryPair& each : shared) compare_entries(each);
    if (record_.comparisons.size() == before) {
      throw UsageError(
          fmt::format("{} and {} have no operation in common that both timed in the same cache state and "
                      "under the same load: the first has {}, the other {}",
                      record_.alternatives.front(), record_.alternatives[alternative_], contents(first),
                      contents(other)));
    }
    note_what_is_left(first, 0, shared);
    note_what_is_left(other, alternative_, shared);
    note_own_conditions(shared);
  }

  // Cache states and loads that one of the two alone has.
  void note_own_conditions(const std::vector<EntryPair>& shared) {
    std::set<std::pair<Load, CacheState>> first, second;
    for (const EntryPair& each : shared) {
      for (const Measurement& one : each.first->result.measurements)
        first.emplace(one.conditions.load, one.conditions.cache);
      for (const Measurement& one : each.second->result.measurements)
        second.emplace(one.conditions.load, one.conditions.cache);
    }
    const auto note = [&](const auto& own, const auto& others, std::size_t alternative) {
      std::vector<std::string> words;
      for (const auto& each : own) {
        if (!others.contains(each))
          words.push_back(fmt::format("{} {}", to_string(each.second), to_string(each.first)));
      }
      if (words.empty()) return;
      add_once(record_.notes, fmt::format("Only {} has times {}: not compared.",
                                          record_.alternatives[alternative], joined(words)));
    };
    note(first, second, 0);
    note(second, first, alternative_);
  }

  // Returns "the second record"; of several others the record's own name.
  std::string record_named(std::size_t alternative) const {
    if (alternative == 0) return "the first record";
    return has_several_ ? record_.alternatives[alternative] : "the second record";
  }

  void compare_entries(const EntryPair& shared) {
    const RunEntry &first = *shared.first, &second = *shared.second;
    if (!first.result.failure.empty() || !second.result.failure.empty()) {
      const bool in_first = !first.result.failure.empty();
      return add_failure(shared, fmt::format("it failed in {}: {}", record_named(in_first ? 0 : alternative_),
                                             (in_first ? first : second).result.failure));
    }
    const std::string ignored = ignored_engine(first.result, second.result);
    if (!ignored.empty()) return add_failure(shared, ignored);
    const bool same_subject = first.result.subject == second.result.subject;
    const std::string name = first.layers.empty() ? to_string(first.result.subject) : first.layers.front();
    for (const Measurement& a : first.result.measurements) {
      const Measurement* b = measurement_of(second.result, a.conditions.load, a.conditions.cache);
      if (b == nullptr) continue;
      if (!same_subject) {
        differences_.compare(kOperationDifference, to_string(first.result.subject),
                             to_string(second.result.subject), true, name, alternative_);
      }
      compare_conditions(first, a, second, *b, differences_, name, alternative_);
      Comparison comparison{.layers = first.layers, .count = shared.count, .alternative = alternative_};
      comparison.first = side_of(first.result, a);
      comparison.second = side_of(second.result, *b);
      comparison.resolution = resolution_of(a, *b, Beside::apart);
      const std::optional<TimesApart> apart = times_apart(a, *b, are_on_hosts_, work());
      if (apart) {
        fill(comparison, *apart);
        const std::optional<Effect> cycles = effect_apart(cycles_of(a), per_work(cycles_of(*b), work()));
        if (cycles && counts_cycles_) comparison.cycles = ratio_of(*cycles);
      } else {
        comparison.failure = "one of the two has too few rounds for an interval";
      }
      add(std::move(comparison), apart ? std::optional(apart->effect) : std::nullopt, {&a, b});
    }
  }

  double work() const { return work_of(record_, alternative_); }

  // Judges per sample where the records differ in their samples alone.
  void find_samples(std::span<const std::vector<EntryPair>> shared) {
    if (judging_ != Judging::comparison) return;  // a gate measures what its baseline did
    std::int64_t of_first = 0;
    bool differ = false;
    std::vector<double> times = {1.0};
    for (const std::vector<EntryPair>& pairs : shared) {
      std::vector<std::pair<const Operation*, const Operation*>> operations;
      for (const EntryPair& each : pairs) {
        operations.emplace_back(operation_of(each.first->result.subject),
                                operation_of(each.second->result.subject));
        if (operations.back().first == nullptr || operations.back().second == nullptr) return;
      }
      const std::optional<SampleChange> change = sample_change(operations);
      if (!change) return;
      times.push_back(change->times);
      differ = differ || change->differs();
      if (change->of_first > 0)
        of_first = of_first == 0 ? change->of_first : std::min(of_first, change->of_first);
    }
    if (of_first == 0 || !differ) return;
    for (const double each : times)
      record_.samples.push_back(std::llround(each * static_cast<double>(of_first)));
    record_.works = recorded_works({record_.samples.begin(), record_.samples.end()});
  }

  void fill(Comparison& comparison, const TimesApart& apart) {
    comparison.first.time = apart.first;
    comparison.second.time = apart.second;
    comparison.first.per_sample = per_sample(record_, 0, apart.first.median);
    comparison.second.per_sample = per_sample(record_, alternative_, apart.second.median);
    comparison.time = ratio_of(apart.effect);
    comparison.processes = apart.effect.processes;
    comparison.p_value = apart.effect.p_value;
    comparison.process_ratios = apart.process_ratios;
    if (apart.is_least_disturbed) add_once(record_.notes, kLeastDisturbedNote);
  }

  void add(Comparison comparison, const std::optional<Effect>& effect, const Sides& sides) {
    effects_.push_back(effect);
    sides_.push_back(sides);
    record_.comparisons.push_back(std::move(comparison));
  }

  void add_failure(const EntryPair& shared, const std::string& failure) {
    Comparison comparison{.layers = shared.first->layers, .count = shared.count, .alternative = alternative_};
    comparison.first.subject = shared.first->result.subject;
    comparison.second.subject = shared.second->result.subject;
    comparison.failure = failure;
    add(std::move(comparison), std::nullopt, {});
  }

  // Totals exist only for networks with several calls: operations that were typed one by one form no whole.
  void add_totals() {
    std::vector<Conditions> known;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      const auto same = [&](const Conditions& other) {
        return other.load == comparison.first.conditions.load &&
               other.cache == comparison.first.conditions.cache;
      };
      if (!effects_[i] || comparison.alternative != alternative_ || comparison.layers.empty() ||
          std::ranges::any_of(known, same))
        continue;
      known.push_back(comparison.first.conditions);
      add_total(known.back());
    }
  }

  void add_total(const Conditions& conditions) {
    TotalComparison total{.alternative = alternative_, .load = conditions.load, .cache = conditions.cache};
    SumsApart times;
    ProcessSums first_cycles, second_cycles;
    std::int64_t calls = 0;
    for (std::size_t i = 0; i < effects_.size(); ++i) {
      const Comparison& comparison = record_.comparisons[i];
      const Conditions& own = comparison.first.conditions;
      const bool is_in = own.load == conditions.load && own.cache == conditions.cache;
      if (!effects_[i] || comparison.alternative != alternative_ || !is_in) continue;
      const Measurement &first = *sides_[i].first, &second = *sides_[i].second;
      times.add(comparison.first.time, times_of(first), comparison.second.time, times_of(second),
                comparison.count);
      first_cycles.add(cycles_of(first), comparison.count);
      second_cycles.add(cycles_of(second), comparison.count);
      add_calls(calls, comparison.count);
    }
    if (calls < 2) return;
    const std::optional<TimesApart> apart = times.times(work());
    if (!apart) return;
    total.first = apart->first;
    total.second = apart->second;
    total.first_per_sample = per_sample(record_, 0, total.first.median);
    total.second_per_sample = per_sample(record_, alternative_, total.second.median);
    judge(total, apart->effect, record_, judging_);
    const std::optional<Effect> cycles =
        effect_apart(first_cycles.values(), per_work(second_cycles.values(), work()));
    if (times.have_processes() && cycles && counts_cycles_) {
      total.cycles = ratio_of(*cycles);
      total.first_clock = clock_of(*first_cycles.values(), total.first.median);
      total.second_clock = clock_of(*second_cycles.values(), total.second.median);
    }
    record_.totals.push_back(total);
  }

  static Hertz clock_of(const std::vector<double>& cycles, Nanoseconds time) {
    return Hertz(statistics::mean_interval(cycles).mean / to_seconds(time));
  }

  // Notes what the first record or the other holds that has no partner.
  void note_what_is_left(const RunRecord& own, std::size_t alternative,
                         const std::vector<EntryPair>& shared) {
    std::int64_t layers = 0, of = 0, operations = 0;
    LayerNames names_left;
    const std::string other = !has_several_ ? "the other" : record_named(alternative == 0 ? alternative_ : 0);
    for (const RunEntry& entry : own.entries) {
      std::int64_t compared = 0;
      std::vector<std::string> others;
      for (const EntryPair& each : shared) {
        if ((alternative == 0 ? each.first : each.second) != &entry) continue;
        const std::vector<std::string>& names = (alternative == 0 ? each.second : each.first)->layers;
        add_calls(compared, each.count);
        others.insert(others.end(), names.begin(), names.end());
      }
      if (entry.layers.empty()) {
        operations += compared == 0 ? 1 : 0;
        continue;
      }
      add_calls(of, entry.count);
      const std::int64_t left = std::max<std::int64_t>(0, entry.count - compared);
      layers += left;
      names_left.add(left_of(entry.layers, others, left));
    }
    if (operations > 0) {
      record_.notes.push_back(fmt::format("{} of the {} operations of {} are not in {}.", operations,
                                          own.entries.size(), record_named(alternative), other));
    }
    if (layers == 0) return;
    const bool is_beside_one = alternative == 0 && has_several_;
    record_.left_out.push_back({alternative, layers, of, is_beside_one ? alternative_ : 0});
    record_.notes.push_back(fmt::format("{} of {} layers of {} are not in {}: {}.", layers, of,
                                        record_named(alternative), other, names_left.some()));
  }

  // Returns at most `count` of the names, those first that the other record does not have.
  static std::vector<std::string> left_of(std::vector<std::string> own,
                                          const std::vector<std::string>& others, std::int64_t count) {
    // Not std::ranges::stable_partition: clang 14 cannot compile its return type.
    std::stable_partition(own.begin(), own.end(), [&](const std::string& name) {
      return std::ranges::find(others, name) == others.end();
    });
    own.resize(std::min(own.size(), static_cast<std::size_t>(count)));
    return own;
  }

  ComparisonRecord& record_;
  DifferenceList differences_;
  Judging judging_;
  bool are_on_hosts_ = false, counts_cycles_ = true;
  std::size_t alternative_ = 0;  // the record that is compared with the first
  bool has_several_ = false;
  std::vector<std::optional<Effect>> effects_;  // one for each of record_.comparisons
  std::vector<Sides> sides_;                    // one for each of record_.comparisons
};

}  // namespace

namespace {

using EntryOfName = std::map<std::string, const RunEntry*>;

// Returns the entry of each name; nullopt if an entry has none, or two have the same.
std::optional<EntryOfName> entries_by_name(const RunRecord& record) {
  EntryOfName entries;
  for (const RunEntry& entry : record.entries) {
    if (entry.layers.empty()) return std::nullopt;
    for (const std::string& name : entry.layers) {
      const auto [known, is_new] = entries.try_emplace(name, &entry);
      if (!is_new && known->second != &entry) return std::nullopt;
    }
  }
  return entries;
}

// Pairs what two records of one network have, by the calls' names: with another batch a call may be what a
// larger one was before. nullopt if neither has all names of the other.
std::optional<std::vector<EntryPair>> pairs_of_one_network(const RunRecord& first, const RunRecord& second) {
  const std::optional<EntryOfName> of_first = entries_by_name(first), of_second = entries_by_name(second);
  if (!of_first || !of_second) return std::nullopt;
  std::map<std::pair<const RunEntry*, const RunEntry*>, std::size_t> shared;
  std::size_t names = 0;
  for (const auto& [name, entry] : *of_first) {
    const auto other = of_second->find(name);
    if (other == of_second->end()) continue;
    ++names;
    ++shared[{entry, other->second}];
  }
  if (names == 0 || names < std::min(of_first->size(), of_second->size())) return std::nullopt;
  std::vector<EntryPair> pairs;
  for (const auto& [entries, count] : shared) {  // in the first record's order: its entries lie in a row
    const auto calls_of = [names_shared = count](const RunEntry& entry) {
      const std::set<std::string> own(entry.layers.begin(), entry.layers.end());
      return static_cast<double>(entry.count) * static_cast<double>(names_shared) /
             static_cast<double>(own.size());
    };
    const auto& [a, b] = entries;
    pairs.push_back({a, b, std::llround(std::min(calls_of(*a), calls_of(*b)))});
  }
  return pairs;
}

}  // namespace

std::vector<EntryPair> entries_in_common(const RunRecord& first, const RunRecord& second) {
  if (auto pairs = pairs_of_one_network(first, second)) return shared_calls(*pairs);
  std::vector<EntryPair> pairs;
  for (const RunEntry& a : first.entries) {
    auto found = std::ranges::find_if(
        second.entries, [&](const RunEntry& b) { return a.result.subject == b.result.subject; });
    if (found == second.entries.end()) {
      found = std::ranges::find_if(second.entries, [&](const RunEntry& b) { return share_a_layer(a, b); });
    }
    if (found != second.entries.end()) pairs.push_back({&a, &*found, a.count});
  }
  if (pairs.empty() && first.entries.size() == 1 && second.entries.size() == 1) {
    pairs.push_back({&first.entries.front(), &second.entries.front(), first.entries.front().count});
  }
  return shared_calls(pairs);
}

std::vector<EntryPair> equal_entries(const RunRecord& first, const RunRecord& second) {
  std::vector<EntryPair> pairs;
  for (const RunEntry& a : first.entries) {
    const auto found = std::ranges::find_if(
        second.entries, [&](const RunEntry& b) { return a.result.subject == b.result.subject; });
    if (found != second.entries.end()) pairs.push_back({&a, &*found, a.count});
  }
  return shared_calls(pairs);
}

void compare_records(const RunRecord& first, std::span<const RunRecord> others, ComparisonRecord& record,
                     Judging judging) {
  RecordComparer(record, judging).compare(first, others);
}

namespace {

std::string library_version(const DeviceDescription& device, const std::string& name) {
  const auto found = std::ranges::find(device.libraries, name, &LibraryInfo::name);
  return found == device.libraries.end() ? "" : found->version;
}

// True if a device's model decides the property. Where models differ, the model is the cause, and not what it
// decides.
bool follows_from_the_model(std::string_view property) {
  constexpr std::string_view kFacts[] = {"simulated",       "preset",    "compute_capability",
                                         "memory_bus_bits", "cpu_model", "isa"};
  return std::ranges::find(kFacts, property) != std::end(kFacts);
}

void compare_machines(const RunRecord& first, const RunRecord& second, DifferenceList& differences) {
  const bool is_same_model = first.device.name == second.device.name;
  differences.compare("device", first.device.name, second.device.name, true);
  if (is_same_model) differences.compare("device uuid", first.device.uuid, second.device.uuid, true);
  const auto limit = [](const DeviceDescription& device) {
    return device.power_limit ? power_text(*device.power_limit) : std::string();
  };
  const auto maximum = [](const DeviceDescription& device) {
    return device.maximum_clock ? clock_text(*device.maximum_clock) : std::string();
  };
  differences.compare(kMaximumClockDifference, maximum(first.device), maximum(second.device), is_same_model);
  differences.compare(kPowerLimitDifference, limit(first.device), limit(second.device), is_same_model);
  // Includes properties that only one device has; a property of both is listed once.
  for (const DeviceDescription* device : {&first.device, &second.device}) {
    for (const Property& property : device->properties) {
      // The simulated device's own seed, which conditions hold, what is listed above, and a device's slot.
      if (property.key == "seed" || property.key == "maximum_sm_clock_mhz" ||
          property.key == "power_limit_watts" || property.key == "pci_bus_id")
        continue;
      differences.compare(property.key, value_of(first.device.properties, property.key),
                          value_of(second.device.properties, property.key),
                          is_same_model || !follows_from_the_model(property.key));
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

std::string text_of(const std::optional<Value>& value) { return value ? to_string(*value) : "not set"; }

}  // namespace

void DifferenceList::compare(const std::string& name, const std::string& first, const std::string& second,
                             bool may_explain, const std::string& layer, std::size_t alternative) {
  if (first == second) return;
  const auto same = [&](const RecordDifference& known) {
    return known.alternative == alternative && known.name == name && known.first == first &&
           known.second == second;
  };
  auto found = std::ranges::find_if(all_, same);
  if (found == all_.end())
    found = all_.insert(all_.end(), {name, first, second, may_explain, {}, alternative});
  const bool is_named = std::ranges::find(found->of, layer) != found->of.end();
  if (!layer.empty() && !is_named) found->of.push_back(layer);
}

void compare_conditions(const RunEntry& first_entry, const Measurement& first, const RunEntry& second_entry,
                        const Measurement& second, DifferenceList& differences, const std::string& layer,
                        std::size_t alternative) {
  for (const ConditionDifference& each :
       differing_conditions(first_entry.result, first, second_entry.result, second)) {
    // The seed sets idles and orders only; the interval includes their effect.
    differences.compare(each.name, text_of(each.first), text_of(each.second), each.name != "seed", layer,
                        alternative);
  }
  differences.compare("instrument", std::string(to_string(first.instrument)),
                      std::string(to_string(second.instrument)), true, layer, alternative);
  if (!first.clock || !second.clock) return;
  if (std::abs(second.clock->median / first.clock->median - 1.0) > kSameClock) {
    differences.compare("clock", clock_text(first.clock->median), clock_text(second.clock->median), true,
                        layer, alternative);
  }
}

std::vector<RecordDifference> machine_differences(const RunRecord& first, const RunRecord& second) {
  std::vector<RecordDifference> all;
  DifferenceList differences(all);
  compare_machines(first, second, differences);
  return all;
}

}  // namespace jitterscope
