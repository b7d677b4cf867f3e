#include "experiment/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "base/quantity_text.hpp"
#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "finding/finding.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;
using statistics::EffectVerdict;

using Records = std::span<const std::vector<RunRecord>>;

// Where a measurement stands in all records, which are of one plan.
struct Place {
  std::size_t entry = 0, measurement = 0;
};

const Measurement* measurement_at(const RunRecord& record, const Place& place) {
  if (place.entry >= record.entries.size()) return nullptr;
  const std::vector<Measurement>& all = record.entries[place.entry].result.measurements;
  return place.measurement < all.size() ? &all[place.measurement] : nullptr;
}

// Share of a measurement's time in which a counter of held time grew.
std::optional<double> held_share(const Measurement& measurement,
                                 std::optional<Nanoseconds> SensorReading::*counter) {
  const Round *first = nullptr, *last = nullptr;
  for (const Round& round : measurement.rounds) {
    if (!round.sensors || !((*round.sensors).*counter)) continue;
    if (first == nullptr) first = &round;
    last = &round;
  }
  if (first == nullptr || !(last->started > first->started)) return std::nullopt;
  return *((*last->sensors).*counter) / (last->started - first->started) -
         *((*first->sensors).*counter) / (last->started - first->started);
}

template <class Value>
std::optional<double> mean_reading(const Measurement& measurement,
                                   std::optional<Value> SensorReading::*value) {
  double sum = 0.0, count = 0.0;
  for (const Round& round : measurement.rounds) {
    if (!round.sensors || !((*round.sensors).*value)) continue;
    sum += ((*round.sensors).*value)->value();
    count += 1.0;
  }
  return count > 0.0 ? std::optional(sum / count) : std::nullopt;
}

template <class Value = double, class Get>
std::optional<Value> mean_over(const std::vector<RunRecord>& records, const Place& place, Get&& get) {
  double sum = 0.0, count = 0.0;
  for (const RunRecord& record : records) {
    const Measurement* measurement = measurement_at(record, place);
    const std::optional<double> value = measurement ? get(*measurement) : std::nullopt;
    if (!value) continue;
    sum += *value;
    count += 1.0;
  }
  return count > 0.0 ? std::optional(Value(sum / count)) : std::nullopt;
}

DeviceState state_of(const std::vector<RunRecord>& records, const Place& place) {
  DeviceState state;
  state.clock = mean_over<Hertz>(records, place, [](const Measurement& each) {
    const ProcessTime time = process_time(each);
    return time.clock ? std::optional(time.clock->value()) : std::nullopt;
  });
  state.cycles = mean_over<Cycles>(records, place, [](const Measurement& each) {
    const ProcessTime time = process_time(each);
    return time.cycles ? std::optional(time.cycles->value()) : std::nullopt;
  });
  state.held_by_power = mean_over(records, place, [](const Measurement& each) {
    return held_share(each, &SensorReading::throttled_power);
  });
  state.held_by_heat = mean_over(records, place, [](const Measurement& each) {
    return held_share(each, &SensorReading::throttled_thermal);
  });
  state.power = mean_over<Watts>(
      records, place, [](const Measurement& each) { return mean_reading(each, &SensorReading::power); });
  state.temperature = mean_over<Celsius>(records, place, [](const Measurement& each) {
    return mean_reading(each, &SensorReading::temperature);
  });
  const auto with_others = std::ranges::count_if(records, [](const RunRecord& record) {
    return std::ranges::any_of(record.findings,
                               [](const Finding& each) { return each.id == kOtherProcessFinding; });
  });
  state.has_other_process = 2 * with_others >= std::ssize(records);
  return state;
}

// True if the power limit held the clock; without a counter of held time, if the power came near it.
bool reached_power_limit(const DeviceState& state, Hertz /*clock_of_others*/, double watts) {
  constexpr double kNear = 0.95;
  if (state.held_by_power) return is_held(state.held_by_power);
  return state.power && state.power->value() > kNear * watts;
}

// True if it ran at its highest clock, or others at one that it does not have.
bool reached_highest_clock(const DeviceState& state, Hertz clock_of_others, double megahertz) {
  constexpr double kNear = 0.99;
  const bool is_there = state.clock && state.clock->value() * 1e-6 > kNear * megahertz;
  return is_there || clock_of_others.value() * 1e-6 > megahertz;
}

// A setting of a GPU that lowers its clock or its memory's rate.
struct Setting {
  std::string text;
  std::optional<double> limit = {};  ///< of one that only a lower value of makes a GPU slow
  const char* unit = "";
  bool (*is_reached)(const DeviceState&, Hertz clock_of_others, double limit) = nullptr;  ///< of a limit
};

std::map<std::string, Setting> settings_of(const DeviceDescription& device) {
  std::map<std::string, Setting> settings;
  const auto add_limit = [&](const char* name, double value, const char* unit, auto is_reached) {
    settings[name] = {fmt::format("{:.0f} {}", value, unit), value, unit, is_reached};
  };
  if (device.power_limit) add_limit("power limit", device.power_limit->value(), "W", &reached_power_limit);
  if (device.maximum_clock)
    add_limit("highest clock", device.maximum_clock->value() * 1e-6, "MHz", &reached_highest_clock);
  settings["processors"] = {std::to_string(device.processors)};
  settings["memory"] = {bytes_text(device.memory_total)};
  for (const Property& property : device.properties) {
    for (const char* const name :
         {"driver_version", "ecc", "mig_mode", "persistence", "maximum_memory_clock_mhz"}) {
      if (property.key == name) settings[name] = {property.value};
    }
  }
  return settings;
}

// The mean of the logarithms of its processes' times.
double level_of(const DeviceBesideOthers& device) {
  double sum = 0.0;
  for (const Nanoseconds time : device.processes) sum += std::log(time.value());
  return sum / static_cast<double>(device.processes.size());
}

// The GPUs that one is compared with, by their mean times: all others, but of an even number not the
// farthest. The median of two others would be their mean, and one slow GPU of three make both others fast.
std::vector<std::size_t> peers_of(const std::vector<DeviceBesideOthers>& devices, std::size_t own) {
  std::vector<std::size_t> peers;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i != own) peers.push_back(i);
  }
  if (peers.empty() || peers.size() % 2 == 1) return peers;
  peers.erase(std::ranges::max_element(peers, {}, [&](std::size_t device) {
    return std::abs(level_of(devices[device]) - level_of(devices[own]));
  }));
  return peers;
}

double median_of(std::span<const double> values, std::span<const std::size_t> which) {
  std::vector<double> chosen;
  for (const std::size_t i : which) chosen.push_back(values[i]);
  return statistics::median(chosen);
}

// A value of all GPUs; nullopt if one has none.
template <class Get>
std::optional<std::vector<double>> values_of(const std::vector<DeviceBesideOthers>& devices, Get&& get) {
  std::vector<double> values;
  for (const DeviceBesideOthers& device : devices) {
    const auto value = get(device.state);
    if (!value) return std::nullopt;
    values.push_back(static_cast<double>(*value));
  }
  return values;
}

class Causes {
 public:
  Causes(const std::vector<DeviceBesideOthers>& devices, Records records) : devices_(devices) {
    for (const std::vector<RunRecord>& each : records) settings_.push_back(settings_of(each.front().device));
  }

  WhySlow of(std::size_t device) const {
    const double longer = std::log(devices_[device].against_others.ratio);
    const auto clocks = values_of(devices_, [](const DeviceState& state) {
      return state.clock ? std::optional(state.clock->value()) : std::nullopt;
    });
    double of_clock = 0.0, clock_of_others = 0.0;
    if (clocks) {
      clock_of_others = median_of(*clocks, peers_of(devices_, device));
      of_clock = std::log(clock_of_others / (*clocks)[device]);
    }
    const bool is_clock = clocks && of_clock >= 0.5 * longer;
    for (const auto& [name, setting] : settings_[device]) {
      const std::optional<std::string> others =
          setting.limit ? (is_clock && setting.is_reached(devices_[device].state, Hertz(clock_of_others),
                                                          *setting.limit)
                               ? higher_limits(device, name)
                               : std::nullopt)
                        : setting_of_others(device, name);
      if (others && *others != setting.text) return {DeviceCause::setting, name, setting.text, *others};
    }
    if (devices_[device].state.has_other_process &&
        std::ranges::count_if(devices_, [](const auto& each) { return each.state.has_other_process; }) == 1)
      return {DeviceCause::other_process};
    if (!clocks) return {};
    if (!is_clock) return {DeviceCause::cycles, {}, {}, {}};
    const std::string own_clock = clock_text((*clocks)[device]), others_clock = clock_text(clock_of_others);
    if (is_held_more(device, &DeviceState::held_by_heat))
      return {DeviceCause::heat, {}, own_clock, others_clock};
    if (is_held_more(device, &DeviceState::held_by_power))
      return {DeviceCause::power_cap, {}, own_clock, others_clock};
    return {DeviceCause::clock, {}, own_clock, others_clock};
  }

 private:
  static std::string clock_text(double hertz) { return fmt::format("{:.0f} MHz", hertz * 1e-6); }

  bool is_held_more(std::size_t device, std::optional<double> DeviceState::*share) const {
    constexpr double kMore = 0.1;
    const auto shares = values_of(devices_, [&](const DeviceState& state) { return state.*share; });
    return shares && (*shares)[device] > median_of(*shares, peers_of(devices_, device)) + kMore;
  }

  // The value that most of the others have, if most have one.
  std::optional<std::string> setting_of_others(std::size_t device, const std::string& name) const {
    std::map<std::string, std::size_t> counts;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const auto found = settings_[i].find(name);
      if (i != device && found != settings_[i].end()) ++counts[found->second.text];
    }
    for (const auto& [value, count] : counts) {
      if (2 * count > settings_.size() - 1) return value;
    }
    return std::nullopt;
  }

  // The limits of the faster GPUs, if all are higher and so much that they may explain the most of it: a
  // clock or a power limit that is higher by 2 % makes nothing faster by more. Each GPU may have its own.
  std::optional<std::string> higher_limits(std::size_t device, const std::string& name) const {
    constexpr double kHigher = 1.01;
    const Setting& own = settings_[device].at(name);
    std::vector<double> limits;
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if (i == device || level_of(devices_[i]) >= level_of(devices_[device])) continue;
      const auto found = settings_[i].find(name);
      if (found == settings_[i].end() || !found->second.limit) return std::nullopt;
      limits.push_back(*found->second.limit);
    }
    if (limits.empty()) return std::nullopt;
    const double longer = std::log(devices_[device].against_others.ratio);
    const auto [lowest, highest] = std::ranges::minmax(limits);
    if (lowest < *own.limit * kHigher || std::log(statistics::median(limits) / *own.limit) < 0.5 * longer)
      return std::nullopt;
    const std::string low = fmt::format("{:.0f}", lowest), high = fmt::format("{:.0f}", highest);
    return fmt::format("{} {}{}", low == high ? low : low + " to " + high, own.unit,
                       limits.size() + 1 < settings_.size() ? " where they are faster" : "");
  }

  const std::vector<DeviceBesideOthers>& devices_;
  std::vector<std::map<std::string, Setting>> settings_;
};

// From one value for each process; one process alone has no interval.
Effect effect_of(const std::vector<double>& values) {
  std::vector<std::vector<double>> processes;
  for (const double value : values) processes.push_back({value});
  return statistics::effect_over_processes(processes).value_or(
      statistics::effect_with_half_width(values.front(), std::numeric_limits<double>::infinity()));
}

struct DevicesWithEffects {
  DevicesBeside result;
  std::vector<Effect> effects;  // one for each GPU
};

// Each beside the others of the same process.
DevicesWithEffects with_effects(DevicesBeside result) {
  DevicesWithEffects all{std::move(result), {}};
  std::vector<DeviceBesideOthers>& devices = all.result.devices;
  const std::size_t processes = devices.front().processes.size();
  std::vector<double> means;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::vector<std::size_t> peers = peers_of(devices, d);
    std::vector<double> beyond;
    for (std::size_t p = 0; p < processes; ++p) {
      std::vector<double> of_process;
      for (const DeviceBesideOthers& each : devices)
        of_process.push_back(std::log(each.processes[p].value()));
      beyond.push_back(of_process[d] - median_of(of_process, peers));
    }
    means.push_back(level_of(devices[d]));
    all.effects.push_back(effect_of(beyond));
    devices[d].against_others = ratio_of(all.effects.back());
  }
  all.result.spread = means.size() > 1 ? statistics::standard_deviation(means) : 0.0;
  return all;
}

// nullopt unless each GPU was timed in a process.
std::optional<DevicesWithEffects> beside(Records records, const Place& place, bool at_once) {
  std::size_t processes = records.empty() ? 0 : records.front().size();
  for (const std::vector<RunRecord>& each : records) processes = std::min(processes, each.size());
  DevicesBeside result{.at_once = at_once, .devices = {}};  // of those processes that all GPUs have
  for (const std::vector<RunRecord>& of_device : records) {
    std::vector<ProcessTime> times;
    DeviceBesideOthers device;
    std::int64_t rounds = 0;
    for (std::size_t p = 0; p < processes; ++p) {
      const Measurement* measurement = measurement_at(of_device[p], place);
      if (measurement == nullptr || measurement->time.rounds == 0) return std::nullopt;
      times.push_back(process_time(*measurement));
      rounds += measurement->time.rounds;
      device.processes.push_back(times.back().median);
    }
    if (times.empty()) return std::nullopt;
    device.time = estimate_over_processes(times, rounds);
    device.state = state_of(of_device, place);
    result.devices.push_back(std::move(device));
  }
  if (result.devices.empty()) return std::nullopt;
  return with_effects(std::move(result));
}

std::vector<RatioEstimate> ratios_at_once(const DevicesBeside& alone, const DevicesBeside& at_once) {
  std::vector<RatioEstimate> all;
  for (std::size_t d = 0; d < alone.devices.size(); ++d) {
    const auto &first = alone.devices[d].processes, &second = at_once.devices[d].processes;
    std::vector<double> ratios;
    for (std::size_t p = 0; p < std::min(first.size(), second.size()); ++p)
      ratios.push_back(std::log(second[p] / first[p]));
    all.push_back(ratio_of(effect_of(ratios)));
  }
  return all;
}

// `effects`: of each DevicesBeside, in order. All are tested together.
void judge(std::vector<DevicesComparison>& comparisons, const std::vector<std::vector<Effect>>& effects,
           double margin) {
  std::vector<double> p_values;
  for (const std::vector<Effect>& of_all : effects) {
    for (const Effect& effect : of_all) p_values.push_back(effect.p_value);
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values);
  std::size_t next = 0, group = 0;
  for (DevicesComparison& comparison : comparisons) {
    for (DevicesBeside& each : comparison.beside) {
      for (std::size_t d = 0; d < each.devices.size(); ++d, ++next)
        each.devices[d].verdict = statistics::verdict_on(effects[group][d], margin, shown[next]);
      ++group;
    }
  }
}

// The sum over all operations; nullopt if one was not timed on all GPUs.
std::optional<DevicesWithEffects> total_of(std::span<const DevicesComparison* const> operations,
                                           bool at_once) {
  DevicesBeside total{.at_once = at_once, .devices = {}};
  std::vector<std::vector<double>> sums;  // by GPU, then process
  std::int64_t rounds = 0;
  for (const DevicesComparison* operation : operations) {
    const auto found = std::ranges::find(operation->beside, at_once, &DevicesBeside::at_once);
    if (found == operation->beside.end() || found->devices.empty()) return std::nullopt;
    sums.resize(found->devices.size());
    for (std::size_t d = 0; d < sums.size(); ++d) {
      const std::vector<Nanoseconds>& processes = found->devices[d].processes;
      sums[d].resize(operation == operations.front() ? processes.size()
                                                     : std::min(sums[d].size(), processes.size()));
      for (std::size_t p = 0; p < sums[d].size(); ++p)
        sums[d][p] += processes[p].value() * static_cast<double>(operation->calls);
    }
    rounds += found->devices.front().time.rounds;
  }
  for (const std::vector<double>& of_device : sums) {
    if (of_device.empty() || of_device.size() != sums.front().size()) return std::nullopt;
    if (!std::ranges::all_of(of_device, [](double sum) { return sum > 0.0; })) return std::nullopt;
    DeviceBesideOthers& device = total.devices.emplace_back();
    device.time = estimate_over_groups(of_device, rounds);
    for (const double sum : of_device) device.processes.emplace_back(sum);
  }
  return with_effects(std::move(total));
}

}  // namespace

std::vector<DevicesComparison> compare_devices(Records alone, Records at_once, double margin,
                                               std::span<const std::int64_t> calls) {
  std::vector<DevicesComparison> comparisons;
  std::vector<std::vector<Effect>> effects;  // of each DevicesBeside, in order
  const RunRecord& pattern = (alone.empty() ? at_once : alone).front().front();
  for (std::size_t entry = 0; entry < pattern.entries.size(); ++entry) {
    const Result& result = pattern.entries[entry].result;
    for (std::size_t m = 0; m < result.measurements.size(); ++m) {
      DevicesComparison comparison{.operation = to_string(result.subject),
                                   .cache = result.measurements[m].conditions.cache,
                                   .load = result.measurements[m].conditions.load,
                                   .calls = entry < calls.size() ? calls[entry] : 1,
                                   .beside = {},
                                   .at_once_ratios = {}};
      const auto add = [&](Records records, bool are_at_once) {
        std::optional<DevicesWithEffects> found = beside(records, {entry, m}, are_at_once);
        if (!found) return;
        comparison.beside.push_back(std::move(found->result));
        effects.push_back(std::move(found->effects));
      };
      add(alone, false);
      add(at_once, true);
      if (comparison.beside.size() == 2)
        comparison.at_once_ratios = ratios_at_once(comparison.beside[0], comparison.beside[1]);
      if (!comparison.beside.empty()) comparisons.push_back(std::move(comparison));
    }
  }
  judge(comparisons, effects, margin);
  for (DevicesComparison& comparison : comparisons) {
    for (DevicesBeside& each : comparison.beside) {
      const Causes causes(each.devices, each.at_once ? at_once : alone);
      for (std::size_t d = 0; d < each.devices.size(); ++d) {
        if (each.devices[d].verdict == EffectVerdict::slower) each.devices[d].why = causes.of(d);
      }
    }
  }
  return comparisons;
}

std::vector<DevicesComparison> compare_totals(std::span<const DevicesComparison> comparisons, double margin) {
  std::vector<DevicesComparison> totals;
  std::vector<std::vector<Effect>> effects;
  std::vector<const DevicesComparison*> done;
  for (const DevicesComparison& first : comparisons) {
    const auto is_alike = [&](const DevicesComparison* each) {
      return each->cache == first.cache && each->load == first.load;
    };
    if (std::ranges::any_of(done, is_alike)) continue;
    done.push_back(&first);
    std::vector<const DevicesComparison*> operations;
    DevicesComparison total{
        .operation = {}, .cache = first.cache, .load = first.load, .calls = 0, .beside = {}};
    for (const DevicesComparison& each : comparisons) {
      if (!is_alike(&each)) continue;
      operations.push_back(&each);
      total.calls += each.calls;
    }
    if (operations.size() < 2) continue;
    total.operation = fmt::format("all {} calls of {} operations", total.calls, operations.size());
    for (const bool at_once : {false, true}) {
      std::optional<DevicesWithEffects> found = total_of(operations, at_once);
      if (!found) continue;
      total.beside.push_back(std::move(found->result));
      effects.push_back(std::move(found->effects));
    }
    if (total.beside.size() == 2) total.at_once_ratios = ratios_at_once(total.beside[0], total.beside[1]);
    if (!total.beside.empty()) totals.push_back(std::move(total));
  }
  judge(totals, effects, margin);
  return totals;
}

}  // namespace jitterscope
