#include "physics/parameters.hpp"

namespace jitterscope::physics {

std::string_view to_string(Mechanism mechanism) {
  constexpr std::array<std::string_view, kMechanisms> kNames = {
      "idle_ramp",   "clock_states", "peak_power",     "power_cap",     "thermal",    "cache",
      "dirty_lines", "host_gaps",    "one_time_work",  "placement",     "contention", "noise",
      "spikes",      "drift",        "process_effect", "device_effect", "instrument", "timer_grain"};
  return kNames.at(static_cast<std::size_t>(mechanism));
}

Parameters Parameters::without(Mechanism mechanism) const {
  Parameters changed = *this;
  changed.off.at(static_cast<std::size_t>(mechanism)) = true;
  return changed;
}

}  // namespace jitterscope::physics
