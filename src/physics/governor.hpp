// Which clock the GPU asks for: rising with work and falling without it, and wandering by itself.
#pragma once

#include "base/random.hpp"
#include "physics/clock_table.hpp"

namespace jitterscope::physics {

/// The clock falls when nothing ran for long, and rises again after a delay.
class IdleRamp {
 public:
  IdleRamp(const Parameters& parameters, const ClockTable& clocks);

  void start_work(Nanoseconds now);
  /// At a multiple of the control period; `idle_for` is zero while work runs.
  void control(Nanoseconds now, Nanoseconds idle_for);
  int limit() const { return limit_; }
  bool is_idle() const { return phase_ == Phase::idle; }
  /// Nothing changes at the next control period, but for falling after the timeout.
  bool rests() const { return phase_ != Phase::rising; }
  Nanoseconds timeout() const { return governor_.idle_timeout; }

 private:
  enum class Phase { idle, rising, high };
  Governor governor_;
  const ClockTable& clocks_;
  bool on_;
  Phase phase_ = Phase::idle;
  int limit_;
  Nanoseconds rise_from_;
};

/// Two neighbouring levels, each kept for a random busy time.
class WanderingClock {
 public:
  WanderingClock(const Parameters& parameters, std::uint64_t seed);

  Nanoseconds busy_time_left() const { return left_; }
  /// Work begins after an idle of this length.
  void wake(Nanoseconds idle_for);
  /// Work ran for `time`, at most busy_time_left().
  void spend(Nanoseconds time);
  int lowered(int index) const;
  bool is_low() const { return low_; }

 private:
  void draw_level();
  void draw_dwell();

  bool on_;
  ClockStates states_;
  Random random_;
  bool low_ = false;
  Nanoseconds left_;
};

}  // namespace jitterscope::physics
