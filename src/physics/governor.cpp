#include "physics/governor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/streams.hpp"

namespace jitterscope::physics {
IdleRamp::IdleRamp(const Parameters& parameters, const ClockTable& clocks)
    : governor_(parameters.governor), clocks_(clocks), on_(parameters.has(Mechanism::idle_ramp)) {
  if (!on_) phase_ = Phase::high;
  limit_ = on_ ? clocks.idle() : clocks.top();
}

void IdleRamp::start_work(Nanoseconds now) {
  if (phase_ != Phase::idle) return;
  phase_ = Phase::rising;
  rise_from_ = now + governor_.ramp_delay;
  if (governor_.ramp_delay == Nanoseconds(0) && governor_.ramp_time == Nanoseconds(0)) {
    phase_ = Phase::high;
    limit_ = clocks_.top();
  }
}

void IdleRamp::control(Nanoseconds now, Nanoseconds idle_for) {
  if (!on_) return;
  if (phase_ != Phase::idle && idle_for > Nanoseconds(0) && idle_for >= governor_.idle_timeout) {
    phase_ = Phase::idle;
    limit_ = clocks_.idle();
  }
  if (phase_ != Phase::rising || now < rise_from_) return;
  const double low = governor_.idle_clock.value(), high = governor_.maximum_clock.value();
  const double left =
      governor_.ramp_time > Nanoseconds(0) ? std::exp(-((now - rise_from_) / governor_.ramp_time)) : 0.0;
  // Within half a step of the maximum the exponential is done; it would never reach it.
  limit_ = clocks_.at_most(Hertz(high - (high - low) * left + governor_.step.value() / 2));
  if (limit_ == clocks_.top()) phase_ = Phase::high;
}

WanderingClock::WanderingClock(const Parameters& parameters, std::uint64_t seed)
    : on_(parameters.has(Mechanism::clock_states) && parameters.clock_states.depth > 0 &&
          parameters.clock_states.mean_dwell_high > Nanoseconds(0) &&
          parameters.clock_states.mean_dwell_low > Nanoseconds(0)),
      states_(parameters.clock_states),
      random_(stream_of(seed, Mechanism::clock_states)) {
  left_ = Nanoseconds(std::numeric_limits<double>::infinity());
  if (!on_) return;
  low_ = random_.uniform() < states_.mean_dwell_low / (states_.mean_dwell_low + states_.mean_dwell_high);
  draw_dwell();
}

void WanderingClock::draw_dwell() {
  left_ =
      Nanoseconds(exponential(random_, (low_ ? states_.mean_dwell_low : states_.mean_dwell_high).value()));
}

void WanderingClock::spend(Nanoseconds time) {
  if (!on_) return;
  if (time < left_) {
    left_ -= time;
    return;
  }
  low_ = !low_;
  draw_dwell();
}

int WanderingClock::lowered(int index) const {
  if (!low_) return index;
  const int steps = std::max(1, static_cast<int>(std::lround(states_.depth * index)));
  return std::max(1, index - steps);
}

}  // namespace jitterscope::physics
