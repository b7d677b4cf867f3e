#include "physics/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "physics/streams.hpp"

namespace jitterscope::physics {
namespace {

// A normal deviate has no bound, a kernel's time has.
constexpr double kSmallestFactor = 0.5;

}  // namespace

LaunchNoise::LaunchNoise(const Parameters& parameters, std::uint64_t seed)
    : noise_(parameters.noise),
      varies_(parameters.has(Mechanism::noise)),
      spikes_(parameters.has(Mechanism::spikes)),
      drifts_(parameters.has(Mechanism::drift) && parameters.noise.drift != 0),
      random_(stream_of(seed, Mechanism::noise)),
      spike_random_(stream_of(seed, Mechanism::spikes)),
      innovation_(noise_.sd * std::sqrt(1.0 - noise_.correlation * noise_.correlation)) {
  correlated_ = noise_.sd * next_normal();  // from the start as later on
  if (parameters.has(Mechanism::process_effect)) {
    lasting_ *= 1.0 + noise_.process_sd * stream_of(seed, Mechanism::process_effect).normal();
  }
  if (parameters.has(Mechanism::device_effect)) {
    const std::uint64_t identity = parameters.identity.device_number;
    lasting_ *= 1.0 + noise_.device_sd * stream_of(identity, Mechanism::device_effect).normal();
  }
  lasting_ = std::max(lasting_, kSmallestFactor);
}

double LaunchNoise::draw(Nanoseconds now) {
  const double correlated = next_correlated(), spike = next_spike();
  double factor = lasting_;
  if (varies_) {
    double variation = correlated;
    if (noise_.period_amplitude != 0) {
      variation += noise_.period_amplitude * std::sin(2.0 * std::numbers::pi * (now / noise_.period));
    }
    factor *= std::max(1.0 + variation, kSmallestFactor);
  }
  if (spikes_) factor *= 1.0 + spike;
  if (drifts_) factor *= 1.0 + noise_.drift * -std::expm1(-(now / noise_.drift_time));
  return factor;
}

/// Box-Muller gives two at a time; the second is kept, since this is the dearest part of a launch.
double LaunchNoise::next_normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random_.uniform()));
  const double angle = 2.0 * std::numbers::pi * random_.uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

double LaunchNoise::next_correlated() {
  const double now = correlated_;
  correlated_ = noise_.correlation * correlated_ + innovation_ * next_normal();
  return now;
}

double LaunchNoise::next_spike() {
  const bool is_spike = spike_random_.uniform() < noise_.spike_probability;
  const double size = spike_random_.uniform();
  return is_spike ? -noise_.spike_mean * std::log(1.0 - size) : 0.0;
}

}  // namespace jitterscope::physics
