// The shape of rounds, and the decisions while trials are measured: how many rounds, and when to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "jitterscope/measure.hpp"
#include "measure/round_timer.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// The shape of one round of a workload of known length.
struct RoundShape {
  Instrument instrument = Instrument::events;
  std::int64_t values = 20;  ///< timed values in a round, over all its parts
  std::int64_t parts = 1;    ///< how often the queue is held and released in a round
  std::int64_t group = 1;    ///< launches per value (events)
  SlopeShape slope;          ///< for the graph instrument
  std::int64_t conditioning_launches = 2;
  bool launches_wait = false;  ///< a launch waits for its queue (FirstCall), so no held queue can take it
  bool host_is_timed = false;  ///< readings include the host's time
  /// Time after which a held queue is released by itself, longer than the host needs to fill it; above zero.
  Nanoseconds patience = seconds(1);
};

/// Chooses instrument and lengths: rounds of 5 ms or 40 launches (sustained: 200), slopes for launches under
/// 20 us, groups if the timer's grain is coarse against the precision asked.
RoundShape shape_round(Nanoseconds launch_time, CacheState cache, Load load, const MeasureOptions& options,
                       const Calibration& calibration);

/// Groups short launches on a host, whose queue costs nothing: as many between two marks as bring the marks'
/// uncertainty below a third of the precision, in rounds of 5 ms.
void group_launches(RoundShape& shape, Nanoseconds launch_time, const MeasureOptions& options,
                    const Calibration& calibration);

/// Reduces the launches to those whose evictions take 0.1 s together, but at least 3; `eviction` is the time
/// of one. Keeps a number that the user asked for.
void limit_evictions(RoundShape& shape, Nanoseconds eviction, const MeasureOptions& options);

/// Returns half as many launches for each held queue; launches timed by events if nothing can be halved.
RoundShape halved(RoundShape shape);

/// Known facts about a launch before its first round.
struct LaunchFacts {
  Nanoseconds launch_time;  ///< approximate time of one launch on the device
  Nanoseconds launch_cost;  ///< host time of one launch call
  bool waits = false;       ///< it returns only once its queue has got ahead (FirstCall)
  CacheState cache = CacheState::warm;
  Load load = Load::burst;
  /// Only on a device that is the host, where they matter: time of a launch among many in a row, and of an
  /// eviction.
  std::optional<Nanoseconds> time_in_a_row = {}, eviction = {};
};

/// The state of a group between two visits.
struct GroupFacts {
  const MeasureOptions& options;
  /// Measurements still open; if paired, as many for each operation.
  std::vector<const Measurement*> open;
  std::size_t paired_operations = 1;
  std::size_t visits = 0;
  std::size_t sets = 0;        ///< of rounds so far, each with one round of every measurement
  bool may_be_placed = false;  ///< operands can be moved, and are between sets
  bool is_host = false;        ///< the device is the host: other programs disturb single rounds
  Nanoseconds time;            ///< its rounds and the idles before them
  Nanoseconds idle;            ///< those idles
  Nanoseconds time_limit;
};

/// The reaction to a round whose held queue was released by its time limit.
enum class LostRound { skip, give_up };

/// The state of a sustained load after a round.
struct LoadFacts {
  bool has_round = false;   ///< at least one round was begun
  bool is_precise = false;  ///< steady, with an interval as narrow as asked
  Nanoseconds elapsed;
};

/// A question that processes in step decide together.
enum class Question {
  launches_wait,
  is_long,
  was_held,
  was_recorded,
  can_trace,
  has_woken,
  ends_early,
  shares_idle,
  out_of_time,
  sets,
  are_precise,
  lost_round,
  was_asleep,
  needs_passes,
  end_load
};

/// Decides how rounds look, how many there are, and when to stop. One object makes all decisions, so that it
/// can decide for several processes that must do the same (ranks of a collective, several GPUs in step):
/// AgreedDecisions.
class Decisions {
 public:
  virtual ~Decisions() = default;
  /// True if other processes do the same: groups are then measured one by one.
  virtual bool are_shared() const { return false; }

  /// Returns what is true for all, as settle() says, if `here` is true in this process. Asked wherever the
  /// answer changes how often the workload is launched: a launch more or less leaves the other ranks of a
  /// collective waiting.
  virtual bool of_all(Question question, bool here) = 0;

  virtual RoundShape shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                                  const Calibration& calibration) = 0;
  /// Returns the shape to try next, or nullopt to keep this one. `was_held`: nothing shows that a held queue
  /// cannot take a round of it.
  virtual std::optional<RoundShape> shape_after_trial(const RoundShape& tried, bool was_held) = 0;

  /// Asked between rounds: true if the user interrupts.
  virtual bool ends_early(const MeasureOptions& options) = 0;
  /// Asked where the device has been busy for so long since it last rested: true if the next group, or the
  /// next round of a group, goes on without a rest, which needs less than `most`.
  virtual bool shares_idle(Nanoseconds busy, Nanoseconds most) = 0;

  /// Asked before a visit: true if the group has had its time.
  virtual bool is_out_of_time(const GroupFacts& facts) = 0;
  /// Returns how many sets of rounds a visit has.
  virtual std::size_t sets_of_visit(const GroupFacts& facts) = 0;
  /// Asked after a visit: tells for each open measurement whether it is precise enough.
  virtual std::vector<bool> are_precise(const GroupFacts& facts) = 0;
  /// Returns nullopt if the round was not lost, else what to do.
  virtual std::optional<LostRound> judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                               std::int64_t lost_in_all) = 0;
  /// Returns for how long to wake a clock after an idle, given that it was woken for `wake`. If the result is
  /// longer, all measurements begin again.
  virtual Nanoseconds time_to_wake(Nanoseconds wake, bool was_asleep) = 0;

  /// Returns why a sustained load ends, or nullopt to go on.
  virtual std::optional<StopReason> end_load(const LoadFacts& facts, const MeasureOptions& options) = 0;
};

/// Decides by what this process has measured.
class LocalDecisions final : public Decisions {
 public:
  bool of_all(Question, bool here) override { return here; }
  RoundShape shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                          const Calibration& calibration) override;
  std::optional<RoundShape> shape_after_trial(const RoundShape& tried, bool was_held) override;
  bool ends_early(const MeasureOptions& options) override;
  bool shares_idle(Nanoseconds busy, Nanoseconds most) override;
  bool is_out_of_time(const GroupFacts& facts) override;
  std::size_t sets_of_visit(const GroupFacts& facts) override;
  std::vector<bool> are_precise(const GroupFacts& facts) override;
  std::optional<LostRound> judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                       std::int64_t lost_in_all) override;
  Nanoseconds time_to_wake(Nanoseconds wake, bool was_asleep) override;
  std::optional<StopReason> end_load(const LoadFacts& facts, const MeasureOptions& options) override;
};

/// The connection between processes in step: each passes its own decision, in the same order, and gets the
/// common one.
class Agreement {
 public:
  virtual ~Agreement() = default;
  virtual RoundShape agree(const RoundShape& own) = 0;
  /// Takes and returns a decision as whole numbers, the same count in every process.
  virtual std::vector<std::int64_t> agree(Question question, const std::vector<std::int64_t>& own) = 0;
};

/// Returns what all do, from what each would do. They stop if one is interrupted or out of time; a round that
/// one lost is lost; a measurement is precise, a clock woken, and work held, recorded or traced once it is so
/// in every process; the most sets of rounds are taken. The first process decides who shares an idle. Throws
/// FailedError for proposals of unlike length; there is at least one.
std::vector<std::int64_t> settle(Question question, const std::vector<std::vector<std::int64_t>>& proposals);

/// Proposes what this process would do, and does what was agreed.
class AgreedDecisions final : public Decisions {
 public:
  /// `asks_to_end` is this process's wish to stop, as of a user; it may be empty.
  explicit AgreedDecisions(Agreement& agreement, std::function<bool()> asks_to_end = {})
      : agreement_(agreement), asks_to_end_(std::move(asks_to_end)) {}

  /// True once all have agreed to end: the same in every process, at the same place. Nothing is asked any
  /// more then.
  bool has_ended() const { return has_ended_; }

  bool are_shared() const override { return true; }
  bool of_all(Question question, bool here) override { return agree(question, here); }
  RoundShape shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                          const Calibration& calibration) override;
  std::optional<RoundShape> shape_after_trial(const RoundShape& tried, bool was_held) override;
  bool ends_early(const MeasureOptions& options) override;
  bool shares_idle(Nanoseconds busy, Nanoseconds most) override;
  bool is_out_of_time(const GroupFacts& facts) override;
  std::size_t sets_of_visit(const GroupFacts& facts) override;
  std::vector<bool> are_precise(const GroupFacts& facts) override;
  std::optional<LostRound> judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                       std::int64_t lost_in_all) override;
  Nanoseconds time_to_wake(Nanoseconds wake, bool was_asleep) override;
  std::optional<StopReason> end_load(const LoadFacts& facts, const MeasureOptions& options) override;

 private:
  bool agree(Question question, bool own) { return agreement_.agree(question, {own ? 1 : 0}).front() != 0; }

  bool wants_to_end() const { return asks_to_end_ && asks_to_end_(); }

  Agreement& agreement_;
  std::function<bool()> asks_to_end_;
  LocalDecisions own_;
  bool has_ended_ = false;
};

}  // namespace jitterscope
