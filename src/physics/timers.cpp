// Timers count in steps and jitter; what a mark takes on the queue is the device's affair.
#include <cmath>
#include <numbers>

#include "physics/machine.hpp"
#include "physics/streams.hpp"

namespace jitterscope::physics {
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
