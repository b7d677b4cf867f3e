// A workload in one set of conditions, with the timer that suits it.
#pragma once

#include <memory>

#include "base/random.hpp"
#include "jitterscope/measure.hpp"
#include "measure/round_timer.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// What one round looks like for a workload of a known length.
struct RoundShape {
  Instrument instrument = Instrument::events;
  std::int64_t values = 20;  ///< timed values in a round, over all its parts
  std::int64_t parts = 1;    ///< how often the gate is closed and opened in a round
  std::int64_t group = 1;    ///< launches per value (events)
  SlopeShape slope;          ///< (graph)
  std::int64_t conditioning_launches = 2;
  bool launches_wait = false;  ///< for their queue (FirstCall): no gate may hold them
  bool host_is_timed = false;  ///< its own time is in what is read
  /// The time after which a closed queue opens by itself: longer than the host needs to fill it. Zero: the
  /// queue's usual limit.
  Nanoseconds patience = {};
};

/// Picks instrument and lengths: rounds of 5 ms or 20 launches, slopes for warm launches under 20 us, groups
/// where the timer's grain is coarse against the precision asked.
RoundShape shape_round(Nanoseconds launch_time, CacheState cache, Load load, const MeasureOptions& options,
                       const Calibration& calibration);

/// Short launches on a host, whose queue costs nothing, in groups: as many between two marks as bring what is
/// not known of these below a third of the precision, in rounds of 5 ms.
void group_launches(RoundShape& shape, Nanoseconds launch_time, const MeasureOptions& options,
                    const Calibration& calibration);

/// As few launches as are behind evictions of 0.1 s together, 3 at least: `eviction` is the time of one. A
/// number that was asked for stays.
void limit_evictions(RoundShape& shape, Nanoseconds eviction, const MeasureOptions& options);

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

}  // namespace jitterscope
