#include "physics/kernel_time.hpp"

#include <gtest/gtest.h>

#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

std::vector<double> draws(const Parameters& p, int count, std::uint64_t seed = 11) {
  LaunchNoise noise(p, seed);
  std::vector<double> factors;
  for (int i = 0; i < count; ++i) factors.push_back(noise.draw(microseconds(100.0 * i)));
  return factors;
}

struct Moments {
  double mean = 0, sd = 0, correlation = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) m.mean += value / n;
  double neighbours = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - m.mean) * (values[i] - m.mean);
    if (i > 0) neighbours += (values[i] - m.mean) * (values[i - 1] - m.mean);
  }
  m.sd = std::sqrt(squares / n);
  m.correlation = neighbours / squares;
  return m;
}

TEST(Noise, IsAutocorrelatedWithItsStandardDeviation) {
  Parameters p;
  p.noise.sd = 0.01;
  p.noise.correlation = 0.7;
  const Moments m = moments(draws(p, 100000));
  EXPECT_NEAR(m.mean, 1.0, 3e-4);
  EXPECT_NEAR(m.sd, 0.01, 1.5e-4);
  EXPECT_NEAR(m.correlation, 0.7, 0.01);
}

TEST(Noise, SpikesComeAtTheirRateWithTheirMean) {
  Parameters p;
  p.noise.spike_probability = 0.02;
  p.noise.spike_mean = 0.1;
  int spikes = 0;
  double sum = 0;
  for (const double factor : draws(p, 100000)) {
    spikes += factor > 1.0;
    sum += factor - 1.0;
  }
  EXPECT_NEAR(spikes, 2000, 150);
  EXPECT_NEAR(sum / spikes, 0.1, 0.008);
}

TEST(Noise, DriftApproachesItsTotal) {
  Parameters p;
  p.noise.drift = 0.02;
  p.noise.drift_time = seconds(1);
  LaunchNoise noise(p, 1);
  EXPECT_NEAR(noise.draw(Nanoseconds(0)), 1.0, 1e-12);
  EXPECT_NEAR(noise.draw(seconds(1)), 1 + 0.02 * (1 - std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(noise.draw(seconds(30)), 1.02, 1e-9);
}

TEST(Noise, ADisturbanceHasItsPeriod) {
  Parameters p;
  p.noise.period_amplitude = 0.01;
  p.noise.period = milliseconds(40);
  LaunchNoise noise(p, 1);
  EXPECT_NEAR(noise.draw(milliseconds(10)), 1.01, 1e-9);
  EXPECT_NEAR(noise.draw(milliseconds(20)), 1.00, 1e-9);
  EXPECT_NEAR(noise.draw(milliseconds(70)), 0.99, 1e-9);
}

TEST(Noise, ProcessEffectsDifferBySeedAndDeviceEffectsByDevice) {
  Parameters p;
  p.noise.process_sd = 0.01;
  p.noise.device_sd = 0.02;
  std::vector<double> processes, devices;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    processes.push_back(draws(p.without(Mechanism::device_effect), 1, i).front());
    p.identity.device_number = i;
    devices.push_back(draws(p.without(Mechanism::process_effect), 1, i % 3).front());
    EXPECT_EQ(devices.back(), draws(p.without(Mechanism::process_effect), 1, 77).front());
  }
  EXPECT_NEAR(moments(processes).sd, 0.01, 0.0006);
  EXPECT_NEAR(moments(devices).sd, 0.02, 0.0012);
}

}  // namespace
}  // namespace jitterscope::physics
