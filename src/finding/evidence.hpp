// Helpers of the detectors: evidence, places of findings, series of rounds, throttling.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Evidence in SI units; the key gets the unit: _s, _hz, _w, _celsius, _ratio.
Evidence evidence(std::string_view key, Nanoseconds time);
Evidence evidence(std::string_view key, Hertz clock);
Evidence evidence(std::string_view key, Watts power);
Evidence evidence(std::string_view key, Celsius temperature);
Evidence evidence_ratio(std::string_view key, double ratio);
Evidence evidence_count(std::string_view key, std::int64_t count);

/// Returns "warm, burst"; also names the queue if it is not saturated, and fresh data.
std::string conditions_text(const Conditions& conditions);
/// Returns "SM clock" on a GPU, else "clock".
std::string_view clock_word(bool on_gpu);

/// Returns " To compare at one clock: --reference-clock 1410." with these rounds' clock; empty if unknown. It
/// ends a sentence, since remedies that differ in a number are not merged.
std::string reference_clock_text(const Measurement& measurement);

/// A finding in one measurement; `effect` as in Finding::effect.
struct Candidate {
  double effect = 0.0;
  Conditions conditions;
  Finding finding;
};
/// Keeps each finding once, from the measurement with the largest effect. Its other conditions become the
/// evidence `also_in`, and their places are added.
std::vector<Finding> strongest(std::vector<Candidate> candidates);

/// Returns the place of these ascending rounds in one of the result's measurements, with consecutive rounds
/// merged into ranges; empty for no rounds.
std::vector<FindingPlace> places_of(const std::vector<std::size_t>& rounds, const Measurement& measurement,
                                    const Result& result);

/// Returns all rounds from `first` on.
std::vector<std::size_t> rounds_from(std::size_t first, const Measurement& measurement);

/// Returns the first and last third of the rounds used by the estimate; a change over the record is between
/// them.
std::vector<std::size_t> outer_thirds(const Measurement& measurement);

/// A smaller difference between two estimates is not worth a sentence.
inline constexpr double kMaterialChange = 0.005;

/// Returns the rounds used by the estimate: all, or the settled part of a sustained record.
std::span<const Round> settled_rounds(const Measurement& measurement);
/// Returns round medians in nanoseconds.
std::vector<double> round_times(std::span<const Round> rounds);
/// Returns round clocks in hertz; nullopt unless every round has one.
std::optional<std::vector<double>> round_clocks(std::span<const Round> rounds);
/// Standard deviation over median, from the 10th and 90th percentile: one outlier does not affect it; a
/// second mode with a fifth of the values does.
double relative_spread(std::span<const double> values);

/// Relative change of the values from the lowest to the highest x, by a straight line through their
/// logarithms, so that it never falls below -100 %. nullopt if the slope may be chance (below 99.8 % by
/// Student's t), or for fewer than 6 values.
std::optional<double> change_along(std::span<const double> x, std::span<const double> values);

/// Median of the last third over median of the first third, minus one.
double change_over_record(std::span<const double> values);
/// change_over_record, if the values follow their order beyond chance and by more than 0.5 %.
std::optional<double> drift_along(std::span<const double> values);
/// Returns the drift of a measurement's rounds; nullopt also if it is below the precision.
std::optional<double> drift_of(const Measurement& measurement);

/// Time in which other programs had the measuring thread's core, between the readings of the clock.
struct TakenByOthers {
  Nanoseconds taken = {}, worked = {};

  void add(std::span<const Round> rounds);
  double share() const { return taken > Nanoseconds(0) ? taken / (taken + worked) : 0.0; }
};
/// A smaller share is what any system does beside.
inline constexpr double kTakenWorthSaying = 0.05;

// Time in which the clock was held down, by cause, from the sensors read after each round.

enum class ThrottleCause { power, heat };

struct Throttling {
  bool readable = false;  ///< a sensor that would show it was read
  Nanoseconds held;       ///< growth of the counter from the first to the last reading
  double share = 0.0;     ///< share of the host time between those readings
  double rounds = 0.0;    ///< share of rounds after which the counter had grown or the cause was named
  std::vector<std::size_t> affected;  ///< these rounds, counted from the first given one
};
Throttling throttling(std::span<const Round> rounds, ThrottleCause cause);

}  // namespace jitterscope
