// Runs rounds of a workload in one set of conditions, with the timer that suits it.
#pragma once

#include <memory>

#include "base/random.hpp"
#include "jitterscope/measure.hpp"
#include "measure/decisions.hpp"

namespace jitterscope {

/// Everything needed to run rounds in one cache state under one load.
class RoundRunner {
 public:
  /// `decisions` outlives the runner; null: this process decides alone.
  RoundRunner(const TimedWork& work, const RoundShape& shape, const MeasureOptions& options,
              const Calibration& calibration, Decisions* decisions = nullptr);

  /// Lets the chip rest. If the host's time counts, the host stays awake and then launches for some ms.
  void rest(Nanoseconds idle);
  /// Launches without pause for this time; none of the launches is read. Processes in step go on until it is
  /// over in each.
  void wake(Nanoseconds duration);

  /// Rests, then for each part: hold the queue -> condition -> stamp -> timed launches -> stamp -> release ->
  /// wait -> read. The clock is the mean between the stamps of all parts. Throws HoldTimeoutError if the time
  /// limit released the queue before all launches returned: the round is lost, and the limit doubles, up to
  /// 10 s.
  Round run_held_round(Nanoseconds idle, Nanoseconds epoch);

  /// A round put on the queue without waiting for it.
  struct Pending {
    ClockStamp before, after;
    std::vector<Mark> conditioning_marks;  ///< two for each untimed launch, if calls are watched
    std::vector<Mark> marks;
    Mark end;
    Nanoseconds started;
  };
  Pending enqueue_round(Nanoseconds epoch);
  Round finish_round(const Pending& pending);

  void condition();
  /// Runs a part of a round without reading it. Throws HoldTimeoutError if it is not enqueued within
  /// `patience`.
  void rehearse(Nanoseconds patience) { run_part(Nanoseconds(0), patience); }
  /// Moves the operands, also for other conditions of the same workload. False if they cannot be moved.
  bool place_anew() { return work_.workload.place_anew(); }
  /// The workload that it times; one may have several runners.
  const Workload* workload() const { return &asked_; }
  const RoundTimer& timer() const { return *timer_; }
  CacheState cache() const { return work_.cache; }

 private:
  /// Holds and releases the queue once; all work is over on return.
  Pending run_part(Nanoseconds epoch, Nanoseconds patience);
  Pending run_patient_part(Nanoseconds epoch);
  bool is_in_step() const { return decisions_ != nullptr && decisions_->are_shared(); }
  std::optional<ClockReading> clock_of(const Pending& pending);
  /// Puts a mark around each launch if calls are watched.
  void condition(Pending& pending);
  bool watches_calls() const;
  void enqueue_timed(Pending& pending, Nanoseconds epoch);
  /// Adds all calls of a part to `calls`; the last ones are `timed`.
  void read_calls(const Pending& pending, const std::vector<Nanoseconds>& timed,
                  std::vector<Nanoseconds>& calls);

  const Workload& asked_;
  /// One launch as a recording, if a graph is timed by its replays: each replay costs the host what it costs
  /// a program. Null if a recording holds many launches (slopes), or if nothing is recorded.
  std::unique_ptr<Workload> replay_;
  TimedWork work_;
  RoundShape shape_;
  QueueMode queue_mode_;
  std::unique_ptr<RoundTimer> timer_;
  Random lengths_;
  Decisions* decisions_;
};

/// On a device that is the host, times launches in a row, or an eviction, for rounds by events: short warm
/// launches are then grouped, and cold ones are few if evicting takes long. False if neither matters.
bool look_at_host(const TimedWork& work, const RoundShape& shape, LaunchFacts& facts);

}  // namespace jitterscope
