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
Property evidence(std::string_view key, Nanoseconds time);
Property evidence(std::string_view key, Hertz clock);
Property evidence(std::string_view key, Watts power);
Property evidence(std::string_view key, Celsius temperature);
Property evidence_ratio(std::string_view key, double ratio);
Property evidence_count(std::string_view key, std::int64_t count);

/// "warm, burst"; the queue is named where it is not the saturated one, fresh data where it is fresh.
std::string conditions_text(const Conditions& conditions);
/// "SM clock" on a GPU, else "clock".
std::string_view clock_word(bool on_gpu);

/// The finding of one measurement, and its effect there: Finding::effect, as far as the record shows it.
struct Candidate {
  double effect = 0.0;
  Conditions conditions;
  Finding finding;
};
/// A cause is said once: where it shows most. The other conditions become evidence, `also_in`.
std::vector<Finding> strongest(std::vector<Candidate> candidates);

}  // namespace jitterscope
