// A workload in one set of conditions, with the timer that suits it.
#pragma once

#include <memory>

#include "base/random.hpp"
#include "jitterscope/measure.hpp"
#include "measure/decisions.hpp"

namespace jitterscope {

/// One cache state under one load: everything needed to run rounds of it.
class RoundRunner {
 public:
  RoundRunner(const TimedWork& work, const RoundShape& shape, const MeasureOptions& options,
              const Calibration& calibration);

  /// Lets the chip rest. Where the host is timed it does not sleep, and launches for some ms behind it.
  void rest(Nanoseconds idle);
  /// Launches without pause for a time, none of them read.
  void wake(Nanoseconds duration);

  /// rest, then for each part: close the gate -> condition -> stamp -> timed launches -> stamp -> open ->
  /// wait -> read. The clock is the mean between the stamps of all parts. Throws GateTimeoutError where a
  /// launch did not return before the gate gave up, which then is more patient: the round is lost.
  Round run_gated_round(Nanoseconds idle, Nanoseconds epoch);

  /// A round put on the queue without waiting for it.
  struct Pending {
    ClockStamp before, after;
    std::vector<Mark> conditioning_marks;  ///< two for each untimed launch, where calls are watched
    std::vector<Mark> marks;
    Mark end;
    Nanoseconds started;
  };
  Pending enqueue_round(Nanoseconds epoch);
  Round finish_round(const Pending& pending);

  void condition();
  /// A part of a round that is not read: throws GateTimeoutError where it is not in the queue within the
  /// patience.
  void rehearse(Nanoseconds patience) { run_part(Nanoseconds(0), patience); }
  /// Moves the operands, for the other conditions of the same workload, too. False where they stay.
  bool place_anew() { return work_.workload.place_anew(); }
  /// Of the workload that it times: one may have several runners.
  const Workload* workload() const { return &asked_; }
  const RoundTimer& timer() const { return *timer_; }
  CacheState cache() const { return work_.cache; }

 private:
  /// One closing and opening of the gate; all of it is over on return.
  Pending run_part(Nanoseconds epoch, Nanoseconds patience);
  Pending run_patient_part(Nanoseconds epoch);
  std::optional<ClockReading> clock_of(const Pending& pending);
  /// With a mark around each launch where calls are watched.
  void condition(Pending& pending);
  bool watches_calls() const;
  void enqueue_timed(Pending& pending, Nanoseconds epoch);
  /// Adds all calls of a part to `calls`, of which the last ones were `timed`.
  void read_calls(const Pending& pending, const std::vector<Nanoseconds>& timed,
                  std::vector<Nanoseconds>& calls);

  const Workload& asked_;
  /// One launch as a recording, where a graph is timed by its replays: each costs the host what it costs a
  /// program. Null where a recording holds many launches (slopes), and where nothing is recorded.
  std::unique_ptr<Workload> replay_;
  TimedWork work_;
  RoundShape shape_;
  QueueMode queue_mode_;
  std::unique_ptr<RoundTimer> timer_;
  Random lengths_;
};

// What shapes the rounds of a device that is the host.

/// Times launches in a row, or an eviction, for event rounds of a device that is the host: warm launches are
/// grouped where they are short, and cold ones are few where evicting takes long. False where neither
/// matters.
bool look_at_host(const TimedWork& work, const RoundShape& shape, LaunchFacts& facts);

}  // namespace jitterscope
