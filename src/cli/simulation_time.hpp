// How long this program takes to simulate a plan: a simulated GPU's seconds cost little real time.
#pragma once

#include <cstdint>
#include <string>

#include "experiment/run_plan.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cli {

struct TimeRange {
  Nanoseconds least, most;
};

/// Estimates the real time on a free core from the number of simulated launches and rounds: the fewest, if
/// each part ends at its minimum of rounds and launches are as long as on a slow GPU, and the most.
TimeRange simulation_time(const Plan& plan, std::int64_t processes);

/// Returns "3.2 s to 24 s".
std::string range_text(const TimeRange& time);
/// Says both times in a sentence: the device's own and that of this program.
std::string simulated_sentence(const TimeRange& simulated, const TimeRange& real);

/// Returns the duration; of a simulated device with what is said of its seconds.
std::string duration_on(const DeviceDescription& device, Nanoseconds duration);

}  // namespace jitterscope::cli
