#include "physics/power_cap.hpp"

#include <algorithm>

namespace jitterscope::physics {

PowerCap::PowerCap(const Parameters& parameters, const ClockTable& clocks)
    : clocks_(clocks),
      on_(parameters.has(Mechanism::power_cap) && parameters.power.cap > Watts(0)),
      cap_(parameters.power.cap),
      onset_(parameters.power.cap_onset),
      hysteresis_(parameters.power.hysteresis_steps),
      limit_(clocks.top()) {}

void PowerCap::control(Nanoseconds now, Watts average, int running) {
  if (!on_) return;
  if (average > cap_) {
    if (above_since_ < Nanoseconds(0)) above_since_ = now;
    if (!acts() && now - above_since_ < onset_) return;
    // From where the clock really is, else a clock held low by the peak limit would not fall for long.
    limit_ = std::max(1, std::min(limit_, running) - 1);
    return;
  }
  above_since_ = Nanoseconds(-1);
  if (!acts()) return;
  const int higher = std::min(limit_ + 1 + hysteresis_, clocks_.top());
  const double growth = clocks_.power_share(higher) / clocks_.power_share(limit_);
  if (average * growth <= cap_) ++limit_;
}

}  // namespace jitterscope::physics
