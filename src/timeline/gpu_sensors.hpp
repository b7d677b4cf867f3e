// NVML's readings of one GPU, asked for stretches of time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

class GpuSensors {
 public:
  /// The reading that grows as the clock falls. On some hosts NVML says 1980 MHz and no time held throughout,
  /// while the power is at its cap.
  enum class Sign { held, clock, power };
  static constexpr std::array kSigns = {Sign::held, Sign::clock, Sign::power};

  /// Those of the GPU that is this device of the process; empty if it is not known.
  GpuSensors(const Timeline& timeline, const Process& process, std::uint32_t device);

  bool is_empty() const { return times_.size() < 2; }
  /// Returns whether a sign moves by more than it is read to: a clock that is held throughout is held 0.9999
  /// to 1.0001 of the time.
  static bool varies(Sign what, const std::vector<double>& values);
  /// There must be readings.
  double sign(Sign what, Time from, Time to) const;
  double share_with_others() const;
  bool has_others(Time time) const;

 private:
  double at(const std::vector<double>& values, Time time) const;

  std::vector<Time> times_;
  std::vector<double> throttled_, clocks_, powers_;
  std::vector<std::uint32_t> others_;
};

}  // namespace jitterscope::timeline
