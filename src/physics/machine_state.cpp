#include "physics/machine_state.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "physics/streams.hpp"

namespace jitterscope::physics {
namespace {

constexpr Nanoseconds kNever(std::numeric_limits<double>::infinity());
// At rest a stage's leakage follows its cooling in pieces of this share of its time constant: 0.1 °C.
constexpr double kRestPiece = 1.0 / 16;
constexpr Celsius kCooled(0.01);

/// The idle power that its own heat settles at; leakage makes it a fixed point, three turns reach 1e-6 W.
Watts settled_idle_power(const PowerModel& power, const Thermal& thermal) {
  Watts idle = power.idle(thermal.ambient);
  for (int turn = 0; turn < 3; ++turn) idle = power.idle(Temperature(thermal, idle).value());
  return idle;
}

}  // namespace

Machine::State::State(const Parameters& all, std::uint64_t seed)
    : parameters(all),
      clocks(all),
      cache(all),
      other_process(all, seed),
      placement_seed(stream_of(seed, Mechanism::placement).next()),
      placement(placement_seed),
      sensors(all, seed),
      power_(all, clocks),
      wandering_(all, seed),
      idle_ramp_(all, clocks),
      power_cap_(all, clocks),
      slowdown_(all, clocks),
      noise_(all, seed),
      idle_power_(settled_idle_power(power_, all.thermal)),
      temperature_(all.thermal, idle_power_),
      average_(all.power.averaging_time, idle_power_),
      first_temperature_(temperature_.value()),
      held_(clocks.top()),
      next_control_(all.governor.control_period) {
  choose_clock();
  running_ = requested_;
  sensors.record(sample());
}

void Machine::State::hold_clock(std::optional<Hertz> clock) {
  held_ = clock ? clocks.at_most(*clock) : clocks.top();
  choose_clock();
}

void Machine::State::choose_clock() {
  requested_ = std::min({held_, idle_ramp_.limit(), power_cap_.limit(), slowdown_.limit()});
}

Hertz Machine::State::clock() const {
  return clocks.frequency(now > idle_from_ ? wandering_.lowered(requested_) : running_);
}

/// Without the mechanism, leakage stays as it was when the GPU was at rest.
Celsius Machine::State::leaking_temperature() const {
  return parameters.has(Mechanism::thermal) ? temperature_.value() : first_temperature_;
}

void Machine::State::settle_averages() {
  const Nanoseconds time = now - settled_to_;
  if (time <= Nanoseconds(0)) return;
  const Watts mean = idle_power_ + Watts(unsettled_.value() / to_seconds(time));
  energy_ += Joules(mean.value() * to_seconds(time));
  average_.advance(mean, time);
  temperature_.advance(mean, time);
  settled_to_ = now;
  unsettled_ = Joules(0);
  idle_power_ = power_.idle(leaking_temperature());
}

void Machine::State::control(Nanoseconds idle_for) {
  settle_averages();
  idle_ramp_.control(now, idle_for);
  power_cap_.control(now, average_.value(), running_);
  slowdown_.control(temperature_.value(), running_);
  choose_clock();
  sensors.record(sample());
  const Nanoseconds period = parameters.governor.control_period;
  next_control_ = period * (std::floor(now / period) + 1.0);
  if (next_control_ <= now) next_control_ += period;  // the quotient of a multiple may round down
}

Sample Machine::State::sample() const {
  const double time = to_seconds(now - settled_to_);
  Sample sample;
  sample.time = now;
  sample.energy = energy_ + unsettled_ + Joules(idle_power_.value() * time);
  sample.temperature = temperature_.value();
  sample.clock = clocks.frequency(wandering_.lowered(requested_));
  sample.throttled_power = throttled_power_;
  sample.throttled_thermal = throttled_thermal_;
  sample.idle = idle_ramp_.is_idle();
  sample.power_capped = power_cap_.acts() && requested_ == power_cap_.limit();
  sample.hot = slowdown_.acts() && requested_ == slowdown_.limit();
  return sample;
}

bool Machine::State::changes_at_rest() const {
  return !idle_ramp_.rests() || !power_cap_.rests(average_.value()) || !slowdown_.rests(temperature_.value());
}

Nanoseconds Machine::State::next_change_at_rest(Nanoseconds until) const {
  if (until <= next_control_ || changes_at_rest()) return std::min(until, next_control_);
  const Nanoseconds period = parameters.governor.control_period;
  if (!idle_ramp_.is_idle() && parameters.has(Mechanism::idle_ramp)) {
    const Nanoseconds falls = idle_from_ + idle_ramp_.timeout();
    until = std::min(until, std::max(next_control_, period * std::ceil(falls / period)));
  }
  const Celsius far = temperature_.steady(idle_power_) - temperature_.value();
  if (std::abs(far.value()) < kCooled.value()) return until;
  const Nanoseconds piece = std::max(period, parameters.thermal.time_fast * kRestPiece);
  return std::min(until, period * std::ceil((now + piece) / period));
}

void Machine::State::advance_resting(Nanoseconds until) {
  cycles += cycles_in(until - now, clocks.frequency(wandering_.lowered(requested_)));
  now = until;
}

void Machine::State::rest_until(Nanoseconds time) {
  while (now < time) {
    advance_resting(next_change_at_rest(time));
    if (now >= next_control_) control(now - idle_from_);
  }
}

double Machine::State::factor_of(const KernelWork& work) {
  if (work.helper) return 1.0;
  const double factor = noise_.draw(now);
  // What reads and writes nothing waits for a clock, as a spin does: nothing disturbs that.
  return work.accesses.empty() ? 1.0 : factor * work.placement;
}

std::vector<Forecast> Machine::State::forecast(const std::vector<KernelWork>& works) const {
  Cache later = cache;
  PowerModel power = power_;
  std::vector<Forecast> all;
  for (const KernelWork& work : works) {
    const Traffic traffic = later.access(work.accesses);
    const Load load = load_of(work, traffic);
    const OperatingPoint& point = power.run(load, requested_, wandering_, idle_power_);
    const Nanoseconds latency = memory_latency(parameters.memory, traffic);
    all.push_back({load.fixed + point.shared, std::max(Nanoseconds(0), load.memory - latency)});
  }
  return all;
}

Load Machine::State::load_of(const KernelWork& work, const Traffic& traffic) const {
  Load load;
  load.compute = work.compute;
  load.fixed = work.fixed;
  load.activity = work.activity / work.stretch;
  load.overlap = work.overlap > 0 ? work.overlap : parameters.compute.overlap;
  if (work.accesses.empty()) return load;
  const Celsius refresh = parameters.memory.refresh_temperature;
  const bool hot =
      parameters.has(Mechanism::thermal) && refresh > Celsius(0) && temperature_.value() > refresh;
  double read = 0;
  for (const Access& access : work.accesses)
    read += access.writes ? 0.0 : static_cast<double>(access.bytes.value());
  if (read > 0)
    load.fixed += work.stalls * std::min(1.0, static_cast<double>(traffic.read_misses.value()) / read);
  load.memory = memory_time(parameters.memory, traffic, hot);
  const Bytes traffic_of_dram = traffic.read_misses + traffic.write_backs;
  load.traffic = Bytes(std::llround(static_cast<double>(traffic_of_dram.value()) / work.stretch));
  return load;
}

void Machine::State::advance_running(const OperatingPoint& point, Nanoseconds until, Nanoseconds dwelt) {
  const Nanoseconds time = until - now;
  now = until;
  cycles += cycles_in(time, clocks.frequency(point.index));
  unsettled_ += Joules(point.power.value() * to_seconds(time));
  running_ = point.index;
  // Where the peak limit holds the clock down, those two do not.
  const bool peak_limited = point.index < wandering_.lowered(requested_);
  wandering_.spend(dwelt);
  if (peak_limited) return;
  if (power_cap_.acts() && requested_ == power_cap_.limit()) throttled_power_ += time;
  if (slowdown_.acts() && requested_ == slowdown_.limit()) throttled_thermal_ += time;
}

Execution Machine::State::run(const KernelWork& work, Nanoseconds earliest) {
  rest_until(earliest);
  wandering_.wake(now - idle_from_);
  idle_ramp_.start_work(now);
  choose_clock();
  const Traffic traffic = cache.access(work.accesses);
  Load load = load_of(work, traffic);
  const double factor = factor_of(work);
  const Nanoseconds memory = load.memory, start = now;
  const Cycles first_cycle = cycles;
  for (double left = 1.0;;) {
    const OtherProcess::Share share = other_process.share_at(now);
    load.memory = memory / share.bandwidth;
    const OperatingPoint& point = power_.run(load, requested_, wandering_, idle_power_);
    const Nanoseconds whole = (load.fixed + point.shared * factor) * work.stretch;
    const Nanoseconds end = share.ours ? now + whole * left : kNever;
    const Nanoseconds dwell = wandering_.busy_time_left(), wanders = now + dwell;
    const Nanoseconds change = std::min({next_control_, share.until, wanders});
    if (end < change) {
      advance_running(point, end, end - now);
      break;
    }
    if (share.ours) left = std::max(0.0, left - (change - now) / whole);
    const bool at_control = change == next_control_;
    // All of the dwell: late in a long simulation a sum of times rounds, and a rest of it might never pass.
    advance_running(point, change, change == wanders ? dwell : change - now);
    if (at_control) control(Nanoseconds(0));
  }
  idle_from_ = now;
  return {.start = start, .end = now, .cycles = cycles - first_cycle, .traffic = traffic};
}

}  // namespace jitterscope::physics
