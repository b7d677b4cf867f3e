#include "experiment/times_apart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

double relative_half_of(const TimeEstimate& time) { return (time.high - time.low) / time.median / 2.0; }

// Combines half-widths as independent errors: both intervals include the variation between processes.
std::optional<Effect> effect_of_intervals(const TimeEstimate& first, const TimeEstimate& second,
                                          double work) {
  if (!std::isfinite(first.precision()) || !std::isfinite(second.precision())) return std::nullopt;
  return statistics::effect_with_half_width(std::log(second.median / work / first.median),
                                            std::hypot(relative_half_of(first), relative_half_of(second)));
}

// Other programs only add to a host's times. Beside 14 busy programs on two cores medians of processes
// differed by 2 to 25 %, and the rounds that others disturbed least by 2 to 3 %.
ProcessValues least_disturbed_times_of(const Measurement& measurement) {
  constexpr std::array kTenth = {0.1};
  std::map<std::int64_t, std::vector<double>> times;
  for (const Round& round : measurement.rounds) times[round.process].push_back(round.time().value());
  if (times.size() < 2) return std::nullopt;
  std::vector<double> values;
  for (const auto& [process, own] : times) values.push_back(statistics::quantiles(own, kTenth).front());
  return values;
}

// One process of ten on a busy host reads 5 to 30 % more than the others, and now and then one reads less.
// Beside a loop on the core's other thread 3 of 36 gates called the same code slower by 6 to 60 %, by what
// its processes of one minute told; three times that holds them
// (docs/notebook/2026-11-28-three-percent-on-a-busy-cpu.md).
constexpr double kBetweenTimes = 3.0;
constexpr statistics::Trim kOnHost{.low = 1.0 / 6.0, .high = 1.0 / 3.0};

TimeEstimate estimate_without_ends(const std::vector<double>& values, std::int64_t rounds) {
  const auto mean = statistics::trimmed_mean(values, kOnHost).value();
  return {Nanoseconds(mean.value), Nanoseconds(mean.interval.low), Nanoseconds(mean.interval.high), rounds};
}

bool are_positive(const ProcessValues& values) {
  return values && std::ranges::all_of(*values, [](double value) { return value > 0.0; });
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

std::vector<double> ratios_of(const ProcessValues& first, const ProcessValues& second) {
  if (!first || !second) return {};
  const double mean = statistics::mean_interval(*first).mean;
  if (!(mean > 0.0)) return {};
  std::vector<double> ratios;
  for (const double value : *second) ratios.push_back(value / mean);
  return ratios;
}

// Returns the times of the rounds that were disturbed least; nullopt if a record has one process.
std::optional<TimesApart> least_disturbed_apart(const Measurement& first, const Measurement& second,
                                                double work) {
  const ProcessValues before = least_disturbed_times_of(first), now = least_disturbed_times_of(second);
  if (!are_positive(before) || !are_positive(now)) return std::nullopt;
  const ProcessValues equal = per_work(now, work);
  const std::optional<Effect> effect =
      statistics::effect_between_groups(logarithms(*before), logarithms(*equal), kOnHost, kBetweenTimes);
  if (!effect) return std::nullopt;
  return TimesApart{.first = estimate_without_ends(*before, first.time.rounds),
                    .second = estimate_without_ends(*now, second.time.rounds),
                    .effect = *effect,
                    .process_ratios = ratios_of(before, equal),
                    .is_least_disturbed = true};
}

TimeEstimate interval_of(const std::vector<double>& sums, std::int64_t rounds) {
  std::vector<ProcessTime> processes;
  for (const double sum : sums) processes.push_back({Nanoseconds(sum), {}, {}});
  return estimate_over_processes(processes, rounds);
}

}  // namespace

ProcessValues times_of(const Measurement& measurement) {
  if (measurement.processes.size() < 2) return std::nullopt;
  std::vector<double> values;
  for (const ProcessTime& process : measurement.processes) values.push_back(process.median.value());
  return values;
}

ProcessValues cycles_of(const Measurement& measurement) {
  if (measurement.processes.size() < 2) return std::nullopt;
  std::vector<double> values;
  for (const ProcessTime& process : measurement.processes) {
    if (!process.cycles) return std::nullopt;
    values.push_back(process.cycles->value());
  }
  return values;
}

ProcessValues per_work(ProcessValues values, double work) {
  if (values) {
    for (double& value : *values) value /= work;
  }
  return values;
}

std::optional<Effect> effect_apart(const ProcessValues& first, const ProcessValues& second) {
  if (!are_positive(first) || !are_positive(second)) return std::nullopt;
  return statistics::effect_between_groups(logarithms(*first), logarithms(*second));
}

bool are_on_hosts(const RunRecord& first, const RunRecord& second) {
  return first.device.capabilities.is_host && second.device.capabilities.is_host;
}

std::optional<TimesApart> times_apart(const Measurement& first, const Measurement& second, bool on_hosts,
                                      double work) {
  const ProcessValues before = times_of(first), now = per_work(times_of(second), work);
  if (on_hosts && before && now) {
    if (auto least = least_disturbed_apart(first, second, work)) return least;
  }
  const std::optional<Effect> over_processes = effect_apart(before, now);
  const std::optional<Effect> effect =
      over_processes ? over_processes : effect_of_intervals(first.time, second.time, work);
  if (!effect) return std::nullopt;
  return TimesApart{first.time, second.time, *effect, ratios_of(before, now)};
}

void ProcessSums::add(const ProcessValues& values, std::int64_t count) {
  if (is_first_ && values) sums_.emplace(values->size(), 0.0);
  is_first_ = false;
  if (!sums_ || !values || sums_->size() != values->size()) return sums_.reset();
  for (std::size_t i = 0; i < sums_->size(); ++i) (*sums_)[i] += (*values)[i] * static_cast<double>(count);
}

void SumsApart::add(const TimeEstimate& first, const ProcessValues& first_processes,
                    const TimeEstimate& second, const ProcessValues& second_processes, std::int64_t count) {
  add_times(first_, first, count);
  add_times(second_, second, count);
  first_processes_.add(first_processes, count);
  second_processes_.add(second_processes, count);
}

bool SumsApart::have_processes() const {
  return effect_apart(first_processes_.values(), second_processes_.values()).has_value();
}

std::optional<TimesApart> SumsApart::times(double work) const {
  const ProcessValues &first = first_processes_.values(), &second = second_processes_.values();
  const ProcessValues equal = per_work(second, work);
  if (const std::optional<Effect> over_processes = effect_apart(first, equal)) {
    return TimesApart{interval_of(*first, first_.rounds), interval_of(*second, second_.rounds),
                      *over_processes, ratios_of(first, equal)};
  }
  const std::optional<Effect> effect = effect_of_intervals(first_, second_, work);
  if (!effect) return std::nullopt;
  return TimesApart{first_, second_, *effect, {}};
}

}  // namespace jitterscope
