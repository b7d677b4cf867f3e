// Building findings: numbers as evidence, and one finding for a cause that shows in several measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Evidence in SI units; the unit is added to the key: _s, _hz, _w, _celsius, _ratio.
Evidence evidence(std::string_view key, Nanoseconds time);
Evidence evidence(std::string_view key, Hertz clock);
Evidence evidence(std::string_view key, Watts power);
Evidence evidence(std::string_view key, Celsius temperature);
Evidence evidence_ratio(std::string_view key, double ratio);
Evidence evidence_count(std::string_view key, std::int64_t count);

/// "warm, burst"; the queue is named where it is not the saturated one, fresh data where it is fresh.
std::string conditions_text(const Conditions& conditions);
/// "SM clock" on a GPU, else "clock".
std::string_view clock_word(bool on_gpu);

/// " To compare at one clock: --reference-clock 1410." with the clock of these rounds: at the end of a
/// sentence, since remedies that differ in a number are not shown as one. Empty where no clock is known.
std::string reference_clock_text(const Measurement& measurement);

/// The finding of one measurement, and its effect there: Finding::effect, as far as the record shows it.
struct Candidate {
  double effect = 0.0;
  Conditions conditions;
  Finding finding;
};
/// A cause is said once: where it shows most. The other conditions become evidence, `also_in`, and their
/// places its own.
std::vector<Finding> strongest(std::vector<Candidate> candidates);

// Where in its measurements a finding happened, as ranges of rounds.

/// In one measurement of the result's; none for no rounds. `rounds` rise, and those in a row become one
/// range.
std::vector<FindingPlace> places_of(const std::vector<std::size_t>& rounds, const Measurement& measurement,
                                    const Result& result);

/// From a round on, all that there are.
std::vector<std::size_t> rounds_from(std::size_t first, const Measurement& measurement);

/// The first and the last third of what the estimate stands on: a change over the record lies between them.
std::vector<std::size_t> outer_thirds(const Measurement& measurement);

// Rounds as series of numbers, and whether one series moves with another.

/// Below this, a difference between two estimates is not worth a sentence.
inline constexpr double kMaterialChange = 0.005;

/// The rounds that the estimate stands on: all, or the settled part of a sustained record.
std::span<const Round> settled_rounds(const Measurement& measurement);
/// Round medians in nanoseconds.
std::vector<double> round_times(std::span<const Round> rounds);
/// Round clocks in hertz; nothing unless every round has one.
std::optional<std::vector<double>> round_clocks(std::span<const Round> rounds);
/// Standard deviation over median, from the 10th and 90th percentile: one outlier does not move it, and a
/// second mode of a fifth of the values does.
double relative_spread(std::span<const double> values);

/// Relative change of the values from the lowest to the highest x, by a straight line through their
/// logarithms, so that nothing falls by more than all of it. Nothing where the line's slope might be chance:
/// below 99.8 % by Student's t, or fewer than 6 values.
std::optional<double> change_along(std::span<const double> x, std::span<const double> values);

/// Median of the last third over median of the first third, less one.
double change_over_record(std::span<const double> values);
/// A trend over the record that is neither chance nor smaller than the precision of the estimate or 0.5 %.
std::optional<double> drift_of(const Measurement& measurement);

// How much of a record the clock was held down, by cause, from the sensors read after each round.

enum class ThrottleCause { power, heat };

struct Throttling {
  bool readable = false;  ///< a sensor that would tell was read
  Nanoseconds held;       ///< growth of the counter from the first to the last reading
  double share = 0.0;     ///< of the host time between those readings
  double rounds = 0.0;    ///< share of rounds after which the counter had grown or the cause was named
  std::vector<std::size_t> affected;  ///< these rounds, counted from the first of those given
};
Throttling throttling(std::span<const Round> rounds, ThrottleCause cause);

}  // namespace jitterscope
