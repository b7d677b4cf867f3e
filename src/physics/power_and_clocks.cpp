#include "physics/power_and_clocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/kernel_time.hpp"

namespace jitterscope::physics {

PowerModel::PowerModel(const Parameters& parameters, const ClockTable& clocks)
    : power_(parameters.power),
      clocks_(clocks),
      limited_(parameters.has(Mechanism::peak_power) && parameters.power.peak_limit > Watts(0)) {}

Watts PowerModel::idle(Celsius temperature) const {
  return power_.idle * (1.0 + power_.leakage * (temperature.value() - 25.0));
}

OperatingPoint PowerModel::at(const Load& load, int index) const {
  OperatingPoint point;
  point.index = index;
  point.shared = shared_time(load, clocks_.frequency(index));
  point.power = power_.dynamic * (load.activity * clocks_.power_share(index));
  const double time = to_seconds(load.fixed + point.shared);
  if (load.traffic.value() > 0 && time > 0) {
    point.power += Watts(power_.energy_per_byte.value() * static_cast<double>(load.traffic.value()) / time);
  }
  return point;
}

int PowerModel::below_peak(const Load& load, int highest, Watts idle_power) const {
  const auto stays_below = [&](int index) { return idle_power + at(load, index).power <= power_.peak_limit; };
  if (!limited_ || stays_below(highest)) return highest;
  int low = 1, above = highest;  // power grows with the clock
  while (above - low > 1) {
    const int middle = (low + above) / 2;
    (stays_below(middle) ? low : above) = middle;
  }
  return low;
}

const OperatingPoint& PowerModel::run(const Load& load, int highest, const WanderingClock& wandering,
                                      Watts idle_power) {
  if (highest != highest_ || wandering.is_low() != low_ || idle_power != idle_power_ || load != load_) {
    load_ = load;
    highest_ = highest;
    low_ = wandering.is_low();
    idle_power_ = idle_power;
    point_ = at(load, wandering.lowered(below_peak(load, highest, idle_power)));
  }
  return point_;
}

void PowerAverage::advance(Watts power, Nanoseconds time) {
  value_ =
      time_constant_ > Nanoseconds(0) ? power + (value_ - power) * std::exp(-(time / time_constant_)) : power;
}

namespace {

double voltage(const Power& power, double clock, double maximum) {
  const double low = power.clock_low.value();
  if (clock <= low || low >= maximum) return clock <= low ? power.voltage_low : power.voltage_high;
  return power.voltage_low + (power.voltage_high - power.voltage_low) * (clock - low) / (maximum - low);
}

}  // namespace

ClockTable::ClockTable(const Parameters& parameters) : step_(parameters.governor.step.value()) {
  const double maximum = parameters.governor.maximum_clock.value();
  const auto top = std::max(1L, std::lround(maximum / step_));
  const double highest = voltage(parameters.power, maximum, maximum);
  for (long i = 0; i <= top; ++i) {
    const double clock = static_cast<double>(i) * step_;
    const double relative = voltage(parameters.power, clock, maximum) / highest;
    power_share_.push_back(relative * relative * clock / maximum);
  }
  idle_ = at_most(parameters.governor.idle_clock);
}

int ClockTable::at_most(Hertz frequency) const {
  // A multiple of the step except for rounding counts as that multiple.
  const int index = static_cast<int>(std::floor(frequency.value() / step_ + 1e-9));
  return std::clamp(index, 1, top());
}

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
  // Within half a step of the maximum the rise is done: an exponential never reaches it.
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
  if (on_) draw_level();
}

// As if it had wandered for ever: low with that level's share of the time.
void WanderingClock::draw_level() {
  low_ = random_.uniform() < states_.mean_dwell_low / (states_.mean_dwell_low + states_.mean_dwell_high);
  draw_dwell();
}

void WanderingClock::wake(Nanoseconds idle_for) {
  if (on_ && states_.redraw_idle > Nanoseconds(0) && idle_for >= states_.redraw_idle) draw_level();
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
    // From the clock that really ran, else one held low by the peak limit would not fall for long.
    limit_ = std::max(1, std::min(limit_, running) - 1);
    return;
  }
  above_since_ = Nanoseconds(-1);
  if (!acts()) return;
  const int higher = std::min(limit_ + 1 + hysteresis_, clocks_.top());
  const double growth = clocks_.power_share(higher) / clocks_.power_share(limit_);
  if (average * growth <= cap_) ++limit_;
}

namespace {

// Else a GPU at the limit would change its clock each period for ever.
constexpr Celsius kSlowdownHysteresis(1.0);

double approached(double value, double target, Nanoseconds time, Nanoseconds constant) {
  return constant > Nanoseconds(0) ? target + (value - target) * std::exp(-(time / constant)) : target;
}

}  // namespace

Temperature::Temperature(const Thermal& thermal, Watts start)
    : thermal_(thermal),
      fast_(start.value() * thermal.resistance_fast),
      slow_(start.value() * thermal.resistance_slow) {}

void Temperature::advance(Watts power, Nanoseconds time) {
  fast_ = approached(fast_, power.value() * thermal_.resistance_fast, time, thermal_.time_fast);
  slow_ = approached(slow_, power.value() * thermal_.resistance_slow, time, thermal_.time_slow);
}

Celsius Temperature::steady(Watts power) const {
  return thermal_.ambient + Celsius(power.value() * (thermal_.resistance_fast + thermal_.resistance_slow));
}

ThermalSlowdown::ThermalSlowdown(const Parameters& parameters, const ClockTable& clocks)
    : clocks_(clocks),
      on_(parameters.has(Mechanism::thermal) && parameters.thermal.slowdown_temperature > Celsius(0)),
      highest_(parameters.thermal.slowdown_temperature),
      limit_(clocks.top()) {}

void ThermalSlowdown::control(Celsius temperature, int running) {
  if (!on_) return;
  if (temperature > highest_) {
    limit_ = std::max(1, std::min(limit_, running) - 1);
  } else if (temperature < highest_ - kSlowdownHysteresis && acts()) {
    ++limit_;
  }
}

}  // namespace jitterscope::physics
