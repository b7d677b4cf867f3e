#include "physics/sensors.hpp"

#include <algorithm>
#include <cmath>

#include "physics/streams.hpp"

namespace jitterscope::physics {
namespace {

// The host may ask about a time before what the GPU's queue already ran to.
constexpr Nanoseconds kQueueAhead = seconds(2);

/// The last multiple of the update period.
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
  // The second one must be old enough too: the first is one end of its interval.
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

}  // namespace jitterscope::physics
