// Building findings: numbers as evidence, and one finding for a cause that shows in several measurements.
#pragma once

#include <cstdint>
#include <optional>
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

}  // namespace jitterscope
