// What a round looks like: instrument, number of launches, closings of the queue. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jitterscope/measure.hpp"
#include "measure/round_timer.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// What one round looks like for a workload of a known length.
struct RoundShape {
  Instrument instrument = Instrument::events;
  std::int64_t values = 20;  ///< timed values in a round, over all its parts
  std::int64_t parts = 1;    ///< how often the queue is held and released in a round
  std::int64_t group = 1;    ///< launches per value (events)
  SlopeShape slope;          ///< (graph)
  std::int64_t conditioning_launches = 2;
  bool launches_wait = false;  ///< for their queue (FirstCall): no held queue takes them
  bool host_is_timed = false;  ///< its own time is in what is read
  /// The time after which a held queue is released by itself: longer than the host needs to fill it. Zero:
  /// the queue's usual limit.
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

/// Half as much behind one closing of the queue; launches timed by events where nothing is left to halve.
RoundShape halved(RoundShape shape);

// What is decided while trials are measured: how rounds look, how many there are, and when to stop. All of it
// is asked of one object, so that processes that must do the same (ranks of a collective, several GPUs in
// step) can let one of them decide for all: see AgreedDecisions.

/// What is known of a launch before its first round.
struct LaunchFacts {
  Nanoseconds launch_time;  ///< of one launch on the device, roughly
  Nanoseconds launch_cost;  ///< host time of one launch call
  bool waits = false;       ///< it returns only when its queue has got ahead (FirstCall)
  CacheState cache = CacheState::warm;
  Load load = Load::burst;
  /// On a device that is the host, where they matter: the time of a launch among many in a row, and of an
  /// eviction.
  std::optional<Nanoseconds> time_in_a_row = {}, eviction = {};
};

/// A group between two visits.
struct GroupFacts {
  const MeasureOptions& options;
  /// Those that are still measured; of a pair as many for each operation.
  std::vector<const Measurement*> open;
  std::size_t paired_operations = 1;
  std::size_t visits = 0;
  std::int64_t placements = 0;  ///< number of the newest one
  bool may_be_placed = false;   ///< operands can be moved
  Nanoseconds time;             ///< of its rounds and of the idles before them
  Nanoseconds time_limit;
};

/// What comes of a group's next visit.
struct VisitDecision {
  bool is_over = false;  ///< the group is out of time: there is no visit
  std::size_t placements =
      1;  ///< of the operands, one after the other, each with a round of every measurement
};

/// What to do about a round whose held queue was released by its time limit.
enum class LostRound { skip, give_up };

/// Where a load without pause stands behind a round.
struct LoadFacts {
  bool has_round = false;   ///< one at least was begun
  bool is_precise = false;  ///< steady, and its interval is as narrow as was asked for
  Nanoseconds elapsed;
};

class Decisions {
 public:
  virtual ~Decisions() = default;

  virtual RoundShape shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                                  const Calibration& calibration) = 0;
  /// The shape to try next; nothing where this one stays. `was_held`: a held queue took a round of it.
  virtual std::optional<RoundShape> shape_after_trial(const RoundShape& tried, bool was_held) = 0;

  /// Asked between rounds: the user interrupts.
  virtual bool ends_early(const MeasureOptions& options) = 0;
  /// Whether one more group comes behind the same idle, at this time, where all are to be over by `end`.
  virtual bool shares_idle(Nanoseconds now, Nanoseconds end) = 0;

  virtual VisitDecision decide_visit(const GroupFacts& facts) = 0;
  /// Behind a visit, for each open measurement: whether it is precise enough.
  virtual std::vector<bool> are_precise(const GroupFacts& facts) = 0;
  /// Nothing was lost, or what to do.
  virtual std::optional<LostRound> judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                               std::int64_t lost_in_all) = 0;
  /// For how long a clock is woken behind an idle, after it was woken for `wake`; longer than that: all
  /// begins again.
  virtual Nanoseconds wake_clock(Nanoseconds wake, bool was_asleep) = 0;

  /// Whether a load without pause ends, and why.
  virtual std::optional<StopReason> end_load(const LoadFacts& facts, const MeasureOptions& options) = 0;
};

/// Decides by what this process has seen.
class LocalDecisions : public Decisions {
 public:
  RoundShape shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                          const Calibration& calibration) override;
  std::optional<RoundShape> shape_after_trial(const RoundShape& tried, bool was_held) override;
  bool ends_early(const MeasureOptions& options) override;
  bool shares_idle(Nanoseconds now, Nanoseconds end) override;
  VisitDecision decide_visit(const GroupFacts& facts) override;
  std::vector<bool> are_precise(const GroupFacts& facts) override;
  std::optional<LostRound> judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                       std::int64_t lost_in_all) override;
  Nanoseconds wake_clock(Nanoseconds wake, bool was_asleep) override;
  std::optional<StopReason> end_load(const LoadFacts& facts, const MeasureOptions& options) override;
};

/// One thing that processes in step decide together.
enum class Question {
  was_held,
  ends_early,
  shares_idle,
  visit,
  are_precise,
  lost_round,
  was_asleep,
  end_load
};

/// Several processes in step: each hands over what it would do, in the same order, and gets back what all of
/// them do.
class Agreement {
 public:
  virtual ~Agreement() = default;
  virtual RoundShape agree(const RoundShape& own) = 0;
  /// A decision as whole numbers, as many in every process.
  virtual std::vector<std::int64_t> agree(Question question, const std::vector<std::int64_t>& own) = 0;
};

/// What all do, from what each would do: they stop if one is interrupted or out of time, a round that one
/// lost is lost, and a measurement is precise once it is so in every process. Throws FailedError for
/// proposals of unlike length.
std::vector<std::int64_t> settle(Question question, const std::vector<std::vector<std::int64_t>>& proposals);

/// Decides as this process would, and does what was agreed.
class AgreedDecisions final : public Decisions {
 public:
  explicit AgreedDecisions(Agreement& agreement) : agreement_(agreement) {}

  RoundShape shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                          const Calibration& calibration) override;
  std::optional<RoundShape> shape_after_trial(const RoundShape& tried, bool was_held) override;
  bool ends_early(const MeasureOptions& options) override;
  bool shares_idle(Nanoseconds now, Nanoseconds end) override;
  VisitDecision decide_visit(const GroupFacts& facts) override;
  std::vector<bool> are_precise(const GroupFacts& facts) override;
  std::optional<LostRound> judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                       std::int64_t lost_in_all) override;
  Nanoseconds wake_clock(Nanoseconds wake, bool was_asleep) override;
  std::optional<StopReason> end_load(const LoadFacts& facts, const MeasureOptions& options) override;

 private:
  bool agree(Question question, bool own) { return agreement_.agree(question, {own ? 1 : 0}).front() != 0; }

  Agreement& agreement_;
  LocalDecisions own_;
};

}  // namespace jitterscope
