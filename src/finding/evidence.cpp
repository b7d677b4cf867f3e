#include "finding/evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

Evidence number_in(std::string_view unit, std::string_view key, double value) {
  return {fmt::format("{}_{}", key, unit), value};
}

}  // namespace

Evidence evidence(std::string_view key, Nanoseconds time) { return number_in("s", key, time.value() / 1e9); }
Evidence evidence(std::string_view key, Hertz clock) { return number_in("hz", key, clock.value()); }
Evidence evidence(std::string_view key, Watts power) { return number_in("w", key, power.value()); }
Evidence evidence(std::string_view key, Celsius temperature) {
  return number_in("celsius", key, temperature.value());
}
Evidence evidence_ratio(std::string_view key, double ratio) { return number_in("ratio", key, ratio); }
Evidence evidence_count(std::string_view key, std::int64_t count) { return {std::string(key), count}; }

std::string conditions_text(const Conditions& conditions) {
  std::string text = fmt::format("{}, {}", to_string(conditions.cache), to_string(conditions.load));
  if (conditions.queue != QueueMode::saturated) text += fmt::format(", {}", to_string(conditions.queue));
  if (conditions.fresh_data) text += ", fresh data";
  return text;
}

std::string_view clock_word(bool on_gpu) { return on_gpu ? "SM clock" : "clock"; }

std::string reference_clock_text(const Measurement& measurement) {
  if (!measurement.clock) return {};
  return fmt::format(" To compare at one clock: --reference-clock {:.0f}.",
                     measurement.clock->median.value() * 1e-6);
}

std::vector<Finding> strongest(std::vector<Candidate> candidates) {
  if (candidates.empty()) return {};
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::effect);
  Finding finding = std::move(candidates.front().finding);
  if (std::isfinite(candidates.front().effect)) finding.effect = candidates.front().effect;
  finding.evidence.push_back({"conditions", conditions_text(candidates.front().conditions)});
  std::string others;
  for (auto other = candidates.begin() + 1; other != candidates.end(); ++other) {
    others += (others.empty() ? "" : "; ") + conditions_text(other->conditions);
    const std::vector<FindingPlace>& places = other->finding.places;
    finding.places.insert(finding.places.end(), places.begin(), places.end());
  }
  if (!others.empty()) finding.evidence.push_back({"also_in", others});
  return {std::move(finding)};
}

std::vector<FindingPlace> places_of(const std::vector<std::size_t>& rounds, const Measurement& measurement,
                                    const Result& result) {
  if (rounds.empty()) return {};
  FindingPlace place{.measurement = static_cast<std::size_t>(&measurement - result.measurements.data()),
                     .rounds = {}};
  for (const std::size_t round : rounds) {
    if (!place.rounds.empty() && place.rounds.back().last + 1 == round) {
      place.rounds.back().last = round;
    } else {
      place.rounds.push_back({round, round});
    }
  }
  return {place};
}

std::vector<std::size_t> rounds_from(std::size_t first, const Measurement& measurement) {
  std::vector<std::size_t> rounds;
  for (std::size_t round = first; round < measurement.rounds.size(); ++round) rounds.push_back(round);
  return rounds;
}

std::vector<std::size_t> outer_thirds(const Measurement& measurement) {
  const std::size_t count = settled_rounds(measurement).size(), third = count / 3;
  const std::size_t begin = measurement.rounds.size() - count;
  std::vector<std::size_t> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    if (i < third || i >= count - third) rounds.push_back(begin + i);
  }
  return rounds;
}

namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::span<const Round> settled_rounds(const Measurement& measurement) {
  const std::span<const Round> rounds = measurement.rounds;
  if (!measurement.steadiness) return rounds;
  return rounds.subspan(std::min(measurement.steadiness->settled_round, rounds.size()));
}

std::vector<double> round_times(std::span<const Round> rounds) {
  std::vector<double> times;
  for (const Round& round : rounds) {
    if (!round.launches.empty()) times.push_back(round.time().value());
  }
  return times;
}

std::optional<std::vector<double>> round_clocks(std::span<const Round> rounds) {
  std::vector<double> clocks;
  for (const Round& round : rounds) {
    if (!round.clock) return std::nullopt;
    clocks.push_back(round.clock->value());
  }
  return clocks;
}

double relative_spread(std::span<const double> values) {
  if (values.size() < 2) return 0.0;
  const std::vector<double> q = statistics::quantiles(values, std::array{0.1, 0.5, 0.9});
  // A normal distribution has 2.563 standard deviations between its 10th and its 90th percentile.
  return (q[2] - q[0]) / 2.563 / q[1];
}

std::optional<double> change_along(std::span<const double> x, std::span<const double> values) {
  constexpr std::size_t kFewest = 6;
  const bool positive = std::ranges::all_of(values, [](double value) { return value > 0; });
  if (x.size() != values.size() || x.size() < kFewest || !positive) return std::nullopt;
  std::vector<double> y;
  for (const double value : values) y.push_back(std::log(value));
  const double mean_x = mean(x), mean_y = mean(y);
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  if (xx <= 0 || yy <= 0) return std::nullopt;
  const double freedom = static_cast<double>(x.size() - 2);
  const double unexplained = std::max(0.0, 1.0 - xy * xy / (xx * yy));
  // Two-sided 99.8 %: an operation has up to four series, which together may give one false alarm in a
  // hundred.
  const double critical = boost::math::quantile(boost::math::students_t(freedom), 0.999);
  const bool significant = xy * xy / (xx * yy) * freedom > critical * critical * unexplained;
  if (!significant) return std::nullopt;
  const auto [lowest, highest] = std::ranges::minmax(x);
  return std::expm1(xy / xx * (highest - lowest));
}

double change_over_record(std::span<const double> values) {
  const std::size_t third = values.size() / 3;
  if (third == 0) return 0.0;
  return statistics::median(values.last(third)) / statistics::median(values.first(third)) - 1.0;
}

std::optional<double> drift_along(std::span<const double> values) {
  std::vector<double> order(values.size());
  std::iota(order.begin(), order.end(), 0.0);
  if (!change_along(order, values)) return std::nullopt;
  const double change = change_over_record(values);
  return std::abs(change) > kMaterialChange ? std::optional(change) : std::nullopt;
}

std::optional<double> drift_of(const Measurement& measurement) {
  const std::optional<double> change = drift_along(round_times(settled_rounds(measurement)));
  return change && std::abs(*change) > measurement.repeatability.precision() ? change : std::nullopt;
}

void TakenByOthers::add(std::span<const Round> rounds) {
  for (const Round& round : rounds) {
    if (!round.taken_by_others) continue;
    taken += *round.taken_by_others;
    for (const Nanoseconds launch : round.launches)
      worked += launch * static_cast<double>(round.launches_per_value);
  }
}

namespace {

std::optional<Nanoseconds> counter(const SensorReading& reading, ThrottleCause cause) {
  if (cause == ThrottleCause::power) return reading.throttled_power;
  if (!reading.throttled_thermal && !reading.throttled_brake) return std::nullopt;
  return reading.throttled_thermal.value_or(Nanoseconds()) + reading.throttled_brake.value_or(Nanoseconds());
}

// A driver distinguishes software and hardware slowdown; both count as heat (or the hardware's brake).
bool is_named(const SensorReading& reading, ThrottleCause cause) {
  constexpr std::array<std::string_view, 5> kHeat = {"thermal", "hardware", "software_thermal",
                                                     "hardware_thermal", "hardware_brake"};
  return std::ranges::any_of(reading.clock_reasons, [&](const std::string& reason) {
    if (cause == ThrottleCause::power) return reason == "power_cap";
    return std::ranges::find(kHeat, reason) != kHeat.end();
  });
}

}  // namespace

Throttling throttling(std::span<const Round> rounds, ThrottleCause cause) {
  Throttling result;
  struct Reading {
    Nanoseconds at, held;
  };
  std::optional<Reading> first, last;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Round& round = rounds[i];
    if (!round.sensors) continue;
    result.readable |= !round.sensors->clock_reasons.empty();
    bool active = is_named(*round.sensors, cause);
    if (const std::optional<Nanoseconds> held = counter(*round.sensors, cause)) {
      active |= last && *held > last->held;
      last = Reading{round.started, *held};
      if (!first) first = last;
    }
    if (active) result.affected.push_back(i);
  }
  result.readable |= first.has_value();
  if (first && last->at > first->at) {
    result.held = last->held - first->held;
    result.share = result.held / (last->at - first->at);
  }
  if (!rounds.empty()) {
    result.rounds = static_cast<double>(result.affected.size()) / static_cast<double>(rounds.size());
  }
  return result;
}

}  // namespace jitterscope
