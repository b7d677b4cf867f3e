// The slow power limit.
#pragma once

#include "physics/clock_table.hpp"

namespace jitterscope::physics {

/// Watches the moving average once per control period: above the cap for long enough, it takes the clock down
/// a step each period, and up again as soon as the average would stay below the cap some steps higher.
class PowerCap {
 public:
  PowerCap(const Parameters& parameters, const ClockTable& clocks);

  /// `running` is the clock that the last kernels really ran at.
  void control(Nanoseconds now, Watts average, int running);
  /// The highest clock that it allows.
  int limit() const { return limit_; }
  bool acts() const { return limit_ < clocks_.top(); }
  /// Nothing will change as long as the power falls.
  bool rests(Watts average) const { return !on_ || (!acts() && average <= cap_); }

 private:
  const ClockTable& clocks_;
  bool on_;
  Watts cap_;
  Nanoseconds onset_;
  int hysteresis_;
  int limit_;
  Nanoseconds above_since_{-1};
};

}  // namespace jitterscope::physics
