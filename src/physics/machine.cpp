#include "physics/machine.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numbers>

#include "base/random.hpp"
#include "physics/kernel_time.hpp"
#include "physics/power_and_clocks.hpp"

// The driver's sensors: late and averaged.

namespace jitterscope::physics {

/// The true values at a moment.
struct Sample {
  Nanoseconds time;
  Joules energy;
  Celsius temperature;
  Hertz clock;
  Nanoseconds throttled_power, throttled_thermal;
  bool idle = false, power_capped = false, hot = false;
};

class SensorReader {
 public:
  SensorReader(const Parameters& parameters, std::uint64_t seed);

  void record(const Sample& sample);
  MachineSensors read(Nanoseconds time, const Sample& newest);

 private:
  Sample at(Nanoseconds time, const Sample& newest) const;
  std::optional<Hertz> clock(Nanoseconds time, const Sample& newest);

  Sensors sensors_;
  Governor governor_;
  Nanoseconds kept_;
  Random random_;
  std::deque<Sample> samples_;
};

// All mechanisms of one GPU, and the time that they have reached.

struct Machine::State {
  State(const Parameters& all, std::uint64_t seed);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Execution run(const KernelWork& work, Nanoseconds earliest);
  std::vector<Forecast> forecast(const std::vector<KernelWork>& works) const;
  void rest_until(Nanoseconds time);
  void hold_clock(std::optional<Hertz> clock);
  Hertz clock() const;
  Sample sample() const;

  Parameters parameters;
  ClockTable clocks;
  Cache cache;
  OtherProcess other_process;
  std::uint64_t placement_seed;
  Random placement;
  SensorReader sensors;
  Nanoseconds now;
  Cycles cycles;

 private:
  Load load_of(const KernelWork& work, const Traffic& traffic) const;
  double factor_of(const KernelWork& work);
  void advance_running(const OperatingPoint& point, Nanoseconds until, Nanoseconds dwelt);
  void advance_resting(Nanoseconds until);
  Nanoseconds next_change_at_rest(Nanoseconds until) const;
  void control(Nanoseconds idle_for);
  void settle_averages();
  void choose_clock();
  bool changes_at_rest() const;
  Celsius leaking_temperature() const;

  PowerModel power_;
  WanderingClock wandering_;
  IdleRamp idle_ramp_;
  PowerCap power_cap_;
  ThermalSlowdown slowdown_;
  LaunchNoise noise_;
  Watts idle_power_;  ///< during this control period
  Temperature temperature_;
  PowerAverage average_;
  Celsius first_temperature_;

  int held_, requested_ = 1,
             running_ = 1;  ///< clock indices: the user's limit, the governor's choice, the last kernel's
  Nanoseconds idle_from_, settled_to_, next_control_;
  Joules energy_, unsettled_;  ///< until settled_to_; from loads since then
  Nanoseconds throttled_power_, throttled_thermal_;
};

Machine::Machine(const Parameters& parameters, std::uint64_t seed)
    : state_(std::make_unique<State>(parameters, seed)) {}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;

const Parameters& Machine::parameters() const { return state_->parameters; }

Buffer Machine::allocate(Bytes size) { return state_->cache.allocate(size); }
void Machine::release(Buffer buffer) { state_->cache.release(buffer); }

void Machine::choose_placements(std::uint64_t number) {
  state_->placement = Random(state_->placement_seed ^ Random(number).next());
}

double Machine::draw_placement() {
  const double normal = state_->placement.normal();
  return state_->parameters.has(Mechanism::placement) ? 1.0 + state_->parameters.placement.sd * normal : 1.0;
}

Nanoseconds Machine::free_at() const { return state_->now; }
Execution Machine::run(const KernelWork& work, Nanoseconds earliest) { return state_->run(work, earliest); }
std::vector<Forecast> Machine::forecast(const std::vector<KernelWork>& works) const {
  return state_->forecast(works);
}
void Machine::rest_until(Nanoseconds time) { state_->rest_until(time); }
void Machine::fill_cache(bool with_modified_lines) { state_->cache.fill(with_modified_lines); }
void Machine::hold_clock(std::optional<Hertz> clock) { state_->hold_clock(clock); }

Hertz Machine::clock() const { return state_->clock(); }
Cycles Machine::cycles() const { return state_->cycles; }

MachineSensors Machine::read_sensors(Nanoseconds time) {
  state_->rest_until(time);
  return state_->sensors.read(time, state_->sample());
}

bool Machine::other_process_is_active(Nanoseconds time) const {
  return state_->parameters.contention.visible && state_->other_process.is_active(time);
}

namespace {

constexpr Nanoseconds kNever(std::numeric_limits<double>::infinity());
// At rest, leakage is updated after this share of the time constant: steps of 0.1 °C.
constexpr double kRestPiece = 1.0 / 16;
constexpr Celsius kCooled(0.01);

/// Idle power at the temperature that it causes (a fixed point, by leakage); three turns reach 1e-6 W.
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

/// Without the thermal mechanism, leakage stays as it was at the start.
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
  // A kernel without accesses waits for a clock, as a spin does: nothing disturbs that.
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
  // While the peak limit holds the clock down, power cap and slowdown do not.
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
    // Spends the whole dwell: late in a long simulation times round, and a rest of it might never pass.
    advance_running(point, change, change == wanders ? dwell : change - now);
    if (at_control) control(Nanoseconds(0));
  }
  idle_from_ = now;
  return {.start = start, .end = now, .cycles = cycles - first_cycle, .traffic = traffic};
}

namespace {

// The host may ask about a time that the GPU's queue has already passed.
constexpr Nanoseconds kQueueAhead = seconds(2);

/// Returns the last multiple of the update period.
Nanoseconds updated(Nanoseconds time, Nanoseconds period) {
  return period > Nanoseconds(0) ? period * std::floor(time / period) : time;
}

template <class Value>
Value between(Value a, Value b, double share) {
  return a + (b - a) * share;
}

}  // namespace

SensorReader::SensorReader(const Parameters& parameters, std::uint64_t seed)
    : sensors_(parameters.sensors),
      governor_(parameters.governor),
      kept_(sensors_.power_average + sensors_.power_update + sensors_.clock_update + kQueueAhead),
      random_(stream_of(seed, OtherStream::sensors)) {}

void SensorReader::record(const Sample& sample) {
  samples_.push_back(sample);
  // The second one must be too old as well: the first is one end of its interval.
  while (samples_.size() > 2 && samples_[1].time < sample.time - kept_) samples_.pop_front();
}

Sample SensorReader::at(Nanoseconds time, const Sample& newest) const {
  if (samples_.empty() || time >= newest.time) return newest;
  const auto after =
      std::upper_bound(samples_.begin(), samples_.end(), time,
                       [](Nanoseconds value, const Sample& sample) { return value < sample.time; });
  if (after == samples_.begin()) return samples_.front();
  const Sample& a = *std::prev(after);
  const Sample& b = after == samples_.end() ? newest : *after;
  const double share = b.time > a.time ? (time - a.time) / (b.time - a.time) : 0.0;
  Sample sample = a;  // the clock is that of the control period that began at a
  sample.time = time;
  sample.energy = between(a.energy, b.energy, share);
  sample.temperature = between(a.temperature, b.temperature, share);
  sample.throttled_power = between(a.throttled_power, b.throttled_power, share);
  sample.throttled_thermal = between(a.throttled_thermal, b.throttled_thermal, share);
  return sample;
}

std::optional<Hertz> SensorReader::clock(Nanoseconds time, const Sample& newest) {
  const double error = random_.uniform(-1.0, 1.0);
  if (!sensors_.clock) return std::nullopt;
  const Hertz read = at(updated(time, sensors_.clock_update), newest).clock + sensors_.clock_error * error;
  return std::clamp(read, Hertz(0), governor_.maximum_clock);
}

MachineSensors SensorReader::read(Nanoseconds time, const Sample& newest) {
  const Sample now = at(time, newest);
  MachineSensors read;
  read.clock = clock(time, newest);
  const Nanoseconds power_time = updated(time, sensors_.power_update);
  const Sample end = at(power_time, newest), start = at(power_time - sensors_.power_average, newest);
  if (sensors_.power && end.time > start.time) {
    read.power = Watts((end.energy - start.energy).value() / to_seconds(end.time - start.time));
  }
  if (sensors_.energy) read.energy = end.energy;
  if (sensors_.temperature) read.temperature = Celsius(std::round(now.temperature.value()));
  if (sensors_.throttle_counters) {
    read.throttled_power = now.throttled_power;
    read.throttled_thermal = now.throttled_thermal;
  }
  if (now.idle) read.clock_reasons.emplace_back("idle");
  if (now.power_capped) read.clock_reasons.emplace_back("power_cap");
  if (now.hot) read.clock_reasons.emplace_back("thermal");
  return read;
}

// Host calls: log-normal, and now and then far longer.

namespace {

constexpr double kTailShape = 1.5;
// [50–5000 µs]: the longest delays seen are a hundred times the usual ones.
constexpr double kLongestTail = 100.0;

}  // namespace

HostCosts::HostCosts(const Parameters& parameters, std::uint64_t seed)
    : costs_(parameters.launch),
      varies_(parameters.has(Mechanism::host_gaps)),
      launches_(stream_of(seed, Mechanism::host_gaps)),
      waits_(stream_of(seed, OtherStream::synchronize)) {}

Nanoseconds HostCosts::launch() { return draw(launches_, costs_.host_median); }

Nanoseconds HostCosts::synchronize() { return draw(waits_, costs_.synchronize_cost); }

Nanoseconds HostCosts::draw(Random& random, Nanoseconds median) const {
  const double normal = random.normal(), chance = random.uniform(), size = random.uniform();
  if (!varies_) return median;
  Nanoseconds cost = median * std::exp(costs_.host_sigma * normal);
  if (chance < costs_.tail_probability) {
    cost += costs_.tail_scale * std::min(kLongestTail, std::pow(1.0 - size, -1.0 / kTailShape));
  }
  return cost;
}

namespace {

Nanoseconds grained(Nanoseconds time, Nanoseconds grain, bool has_grain) {
  if (!has_grain || grain <= Nanoseconds(0)) return time;
  return grain * std::floor(time / grain);
}

}  // namespace

Timers::Timers(const Parameters& parameters, std::uint64_t seed)
    : instruments_(parameters.instruments),
      jitters_(parameters.has(Mechanism::instrument)),
      has_grain_(parameters.has(Mechanism::timer_grain)),
      random_(stream_of(seed, Mechanism::instrument)) {}

Nanoseconds Timers::read_mark(Nanoseconds truth) {
  const double normal = random_.normal();
  // mark_jitter is that of a difference of two marks.
  if (jitters_) truth += instruments_.mark_jitter * (normal / std::numbers::sqrt2);
  return grained(truth, instruments_.mark_grain, has_grain_);
}

Nanoseconds Timers::read_stamp(Nanoseconds truth) {
  return grained(truth, instruments_.stamp_grain, has_grain_);
}

}  // namespace jitterscope::physics
