// What the driver's sensors say: late and averaged.
#pragma once

#include <deque>

#include "base/random.hpp"
#include "physics/machine.hpp"

namespace jitterscope::physics {

/// What was true at a moment.
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

}  // namespace jitterscope::physics
