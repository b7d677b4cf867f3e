// What makes two launches of the same kernel differ, at the same clock and with the same cache.
#pragma once

#include "base/random.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

class LaunchNoise {
 public:
  LaunchNoise(const Parameters& parameters, std::uint64_t seed);
  /// The factor on the time of a kernel that starts now; draws anew for each.
  double draw(Nanoseconds now);

 private:
  double next_normal();
  double next_correlated();
  double next_spike();

  Noise noise_;
  bool varies_, spikes_, drifts_;
  double lasting_ = 1.0;  ///< process and device effects
  Random random_, spike_random_;
  double innovation_;  ///< keeps the variance at sd²
  double correlated_ = 0.0, spare_normal_ = 0.0;
  bool has_spare_ = false;
};

}  // namespace jitterscope::physics
