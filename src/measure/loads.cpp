#include "measure/loads.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "jitterscope/error.hpp"
#include "measure/decisions.hpp"
#include "measure/estimate.hpp"
#include "measure/schedule.hpp"
#include "measure/steadiness.hpp"

namespace jitterscope {
namespace {

void report(const OpenMeasurement& one, const MeasureOptions& options, Nanoseconds left) {
  if (!options.progress) return;
  const TimeEstimate time = estimate_time(one.measurement.rounds);
  Progress progress;
  progress.operation = one.name;
  progress.conditions = one.measurement.conditions;
  progress.rounds = time.rounds;
  progress.median = time.median;
  progress.precision = time.precision();
  progress.clock = one.measurement.rounds.back().clock;
  progress.time_left = std::max(left, Nanoseconds(0));
  options.progress(progress);
}

// State shared by all groups of one measurement.
struct BurstContext {
  Device& device;
  Decisions& decisions;
  const MeasureOptions& options;
  Random& random;
  Nanoseconds& wake;
  Nanoseconds epoch;
};

bool is_fixed(const OpenMeasurement* one) { return one->measurement.conditions.placement.has_value(); }

// A clock that still rises is at least 10 % below one that has risen; H200 clock states differ by 2 to 5 %.
constexpr double kAsleep = 1.1;

// True if the newest round's clock is above that of earlier rounds after longer idles: the clock sleeps.
// Limits of power and heat act the other way: they lower the clock after shorter idles. At least two rounds,
// and a third of those after longer idles, must be low: on a CPU other programs cause some low clocks.
bool clock_slept(std::span<const Round> rounds) {
  constexpr std::ptrdiff_t kRoundsThatTell = 2;
  if (rounds.empty() || !rounds.back().clock) return false;
  const Round& newest = rounds.back();
  const auto is_longer = [&](const Round& round) {
    return round.clock && round.idle_before > newest.idle_before;
  };
  const auto is_asleep = [&](const Round& round) {
    return is_longer(round) && *newest.clock > *round.clock * kAsleep;
  };
  const std::ptrdiff_t asleep = std::ranges::count_if(rounds, is_asleep);
  return asleep >= kRoundsThatTell && 3 * asleep >= std::ranges::count_if(rounds, is_longer);
}

// Measures one group block by block, and decides when it has enough rounds.
class OpenGroup final : public BlockVisitor {
 public:
  OpenGroup(MeasuredGroup& group, const BurstContext& context)
      : context_(context),
        paired_operations_(group.paired_operations),
        time_limit_(context.options.time_limit * static_cast<double>(group.paired_operations)) {
    for (OpenMeasurement& one : group.measurements) {
      if (context_.wake > Nanoseconds(0)) one.measurement.sleeping_clock = SleepingClock{context_.wake, {}};
      open_.push_back(&one);
    }
    may_be_placed_ = !std::ranges::all_of(open_, is_fixed);
    is_host_ = context_.device.describe().capabilities.is_host;
  }

  std::size_t visits() const override { return visits_; }

  bool needs_more() override {
    if (open_.empty()) return false;
    if (context_.decisions.is_out_of_time(facts())) close(StopReason::time_limit);
    return !open_.empty();
  }

  // Runs rounds of each open measurement, each in another placement of the operands if they can be placed.
  void visit(const Visit& visit) override {
    if (!visit.rests) time_ += visit.idle;
    idle_ += visit.idle;
    Nanoseconds idle = visit.rests ? visit.idle : Nanoseconds(0);
    Nanoseconds busy = visit.busy;  // since the last idle
    bool is_first = true;
    const Nanoseconds start = context_.device.host_time() - time_;
    const std::size_t sets = context_.decisions.sets_of_visit(facts());
    std::vector<OpenMeasurement*> order = open_;
    shuffle(order, context_.random);
    for (std::size_t i = 0; i < sets && !ends_early(); ++i) {
      ++sets_;
      if (visits_ > 0 || i > 0) place_anew();
      for (OpenMeasurement* one : order) {
        if (ends_early()) break;
        // Other programs disturb a host more than its own power does: its sides take turns without a pause.
        if (!is_first && !is_host_ && !context_.decisions.shares_idle(busy, mean_idle(context_.options))) {
          idle = draw_idle(context_.options, context_.random);
          idle_ += idle;
          busy = Nanoseconds(0);
        }
        const Nanoseconds before = context_.device.host_time() + idle;
        std::optional<Round> round = try_round(*one, idle);
        busy += std::max(context_.device.host_time() - before, Nanoseconds(0));
        idle = Nanoseconds(0);
        is_first = false;
        if (!round) continue;
        round->block = visit.block;
        round->placement = is_fixed(one) ? 0 : placements_;
        one->measurement.rounds.push_back(*std::move(round));
        time_ = context_.device.host_time() - start;
        report(*one, context_.options, time_limit_ - time_);
      }
    }
    ++visits_;
    close_precise();
  }

  bool shows_sleep() const {
    return std::ranges::any_of(open_,
                               [](OpenMeasurement* one) { return clock_slept(one->measurement.rounds); });
  }

  // Discards the rounds so far: the clock was at different stages of waking.
  void begin_again() {
    for (OpenMeasurement* one : open_) {
      Measurement& measurement = one->measurement;
      const bool is_first = !measurement.sleeping_clock && !measurement.rounds.empty();
      SleepingClock clock = measurement.sleeping_clock.value_or(SleepingClock());
      clock.woken_for = context_.wake;
      if (is_first) clock.time_asleep = estimate_time(measurement.rounds).median;
      measurement.sleeping_clock = clock;
      measurement.rounds.clear();
    }
    visits_ = sets_ = 0;
    time_ = idle_ = Nanoseconds(0);  // the discarded rounds do not count against its limit
  }

  void close(StopReason reason) {
    for (OpenMeasurement* one : open_) close(*one, reason);
    open_.clear();
  }

 private:
  bool ends_early() const { return context_.decisions.ends_early(context_.options); }

  GroupFacts facts() const {
    GroupFacts facts{
        context_.options, {}, paired_operations_, visits_, sets_, may_be_placed_, is_host_, time_, idle_,
        time_limit_};
    for (const OpenMeasurement* one : open_) facts.open.push_back(&one->measurement);
    return facts;
  }

  // Returns nullopt if the round was lost: its held queue was released by its time limit.
  std::optional<Round> try_round(OpenMeasurement& one, Nanoseconds idle) {
    std::optional<Round> round;
    std::string why_lost = "another process lost the round";
    try {
      round = run_round(one, idle);
    } catch (const HoldTimeoutError& error) {
      why_lost = error.what();
    }
    const auto lost =
        context_.decisions.judge_round(!round, one.lost_in_a_row + 1, one.measurement.lost_rounds + 1);
    if (!lost) {
      one.lost_in_a_row = 0;
      return round;
    }
    ++one.measurement.lost_rounds;
    ++one.lost_in_a_row;
    if (*lost == LostRound::give_up) throw CannotBeHeldError(why_lost, one.runner.workload());
    return std::nullopt;
  }

  // `idle` is above zero only for a block's first round.
  Round run_round(OpenMeasurement& one, Nanoseconds idle) {
    if (idle > Nanoseconds(0) && context_.wake > Nanoseconds(0)) {
      one.runner.rest(idle);
      one.runner.wake(context_.wake);
      Round round = one.runner.run_held_round(Nanoseconds(0), context_.epoch);
      round.idle_before = idle;
      return round;
    }
    return one.runner.run_held_round(idle, context_.epoch);
  }

  void close_precise() {
    const std::vector<bool> are_precise = context_.decisions.are_precise(facts());
    std::vector<OpenMeasurement*> still_open;
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (are_precise[i]) {
        close(*open_[i], StopReason::precision);
      } else {
        still_open.push_back(open_[i]);
      }
    }
    open_ = std::move(still_open);
  }

  // Moves the operands of each operation once, for all its cache states.
  void place_anew() {
    if (!may_be_placed_) return;
    std::map<const Workload*, bool> placed;
    for (OpenMeasurement* one : open_) {
      if (is_fixed(one)) continue;
      const auto [entry, is_new] = placed.try_emplace(one->runner.workload(), false);
      if (is_new) entry->second = one->runner.place_anew();
      one->measurement.is_placed_anew = entry->second;
    }
    may_be_placed_ = std::ranges::any_of(placed, [](const auto& entry) { return entry.second; });
    if (may_be_placed_) ++placements_;
  }

  void close(OpenMeasurement& one, StopReason reason) {
    one.measurement.stop_reason = reason;
    one.measurement.duration = time_;
    summarise(one.measurement, 0);
  }

  BurstContext context_;
  std::vector<OpenMeasurement*> open_;
  std::size_t paired_operations_;
  Nanoseconds time_limit_;
  bool may_be_placed_ = false;
  bool is_host_ = false;
  std::size_t visits_ = 0;
  std::int64_t placements_ = 0;
  std::size_t sets_ = 0;
  Nanoseconds time_ = {};  // its rounds and the idles before them: the time that it would have taken alone
  Nanoseconds idle_ = {};  // those idles
};

// If a clock was asleep, begins all open measurements again with a clock that is awake. One that is
// interrupted keeps its rounds: no others will come.
void wake_for_longer_where_asleep(Decisions& decisions, const MeasureOptions& options,
                                  std::deque<OpenGroup>& groups, Nanoseconds& wake) {
  const bool was_asleep = std::ranges::any_of(groups, &OpenGroup::shows_sleep);
  const Nanoseconds longer = decisions.time_to_wake(wake, was_asleep);
  if (longer == wake || decisions.ends_early(options)) return;
  wake = longer;
  for (OpenGroup& group : groups) group.begin_again();
}

}  // namespace

void measure_burst(Device& device, Decisions& decisions, std::vector<MeasuredGroup>& groups,
                   const MeasureOptions& options, Nanoseconds& wake) {
  Schedule schedule(device, decisions, options, IdleSharing::by_time);
  const BurstContext context{device, decisions, options, schedule.random(), wake, device.host_time()};
  std::deque<OpenGroup> open;  // a deque keeps its members in place
  std::vector<BlockVisitor*> visitors;
  for (MeasuredGroup& group : groups) visitors.push_back(&open.emplace_back(group, context));
  while (schedule.run_block(visitors)) wake_for_longer_where_asleep(decisions, options, open, wake);
  for (OpenGroup& group : open) group.close(StopReason::interrupted);
}

namespace {

// The power cap was seen to act 0.4 s after the load began; nothing shorter can be called settled.
constexpr Nanoseconds kFirstCheckpoint = seconds(1);
// If most of the time is not the operation's own (short launches, each after an eviction), that second of its
// own does not fit into the limit. The load acts on the clock all the same, and the two quarters are tested
// as strictly: the first look then comes after half the limit, so that two more fit.
constexpr double kFirstLookWithin = 0.5;
constexpr double kCheckpointGrowth = 1.3;
constexpr int kPassesNeeded = 2;
constexpr std::size_t kRoundsInFlight = 2;

class SustainedLoop {
 public:
  SustainedLoop(Device& device, Queue& queue, Decisions& decisions, OpenMeasurement& one,
                const MeasureOptions& options)
      : device_(device),
        queue_(queue),
        decisions_(decisions),
        measurement_(one),
        options_(options),
        slowdown_temperature_(device.describe().slowdown_temperature),
        epoch_(device.host_time()),
        latest_look_(std::max(kFirstCheckpoint, options.sustained_time_limit * kFirstLookWithin)),
        settled_(options.warm_up ? std::nullopt : std::optional<std::size_t>(0)) {}

  void run() {
    measurement_.runner.condition();
    std::optional<StopReason> reason;
    LoadFacts facts;
    while (true) {
      facts.elapsed = elapsed();
      reason = decisions_.end_load(facts, options_);
      if (reason) break;
      run_one_round();
      look();
      facts.has_round = true;
      facts.is_precise = settled_ && is_precise();
    }
    while (!pending_.empty()) finish_oldest();
    queue_.wait();
    conclude(*reason);
  }

 private:
  Nanoseconds elapsed() { return device_.host_time() - epoch_; }
  std::vector<Round>& rounds() { return measurement_.measurement.rounds; }

  // A round that cannot be held has waited for itself. The others overlap with their predecessor, so that the
  // queue never runs empty while the host reads results.
  void run_one_round() {
    pending_.push_back(measurement_.runner.enqueue_round(epoch_));
    const std::size_t in_flight = measurement_.runner.timer().may_be_held() ? kRoundsInFlight : 0;
    while (pending_.size() > in_flight) finish_oldest();
  }

  void finish_oldest() {
    Round round = measurement_.runner.finish_round(pending_.front());
    pending_.pop_front();
    round.sensors = device_.read_sensors();
    for (const Nanoseconds launch : round.launches) {
      watched_ += launch * static_cast<double>(round.launches_per_value);
    }
    rounds().push_back(std::move(round));
    report();
  }

  void look() {
    const Nanoseconds since_start = elapsed();
    if (settled_ || (watched_ < checkpoint_ && since_start < latest_look_)) return;
    checkpoint_ = std::max(kFirstCheckpoint, watched_ * kCheckpointGrowth);
    latest_look_ = std::max(latest_look_, since_start * kCheckpointGrowth);
    const auto since = settled_since(rounds(), slowdown_temperature_);
    passes_ = since ? passes_ + 1 : 0;
    if (passes_ >= kPassesNeeded) settled_ = since;
  }

  // Sorts all settled rounds, so it looks only after each 5 % more of them.
  bool is_precise() {
    const std::size_t count = rounds().size() - *settled_;
    if (count < static_cast<std::size_t>(options_.minimum_rounds)) return false;
    if (count < next_look_) return was_precise_;
    next_look_ = count + 1 + count / 20;
    Measurement& measurement = measurement_.measurement;
    summarise(measurement, *settled_);
    // More rounds never show what another process, in other memory, would add.
    was_precise_ = measurement.repeatability.precision() <= options_.precision;
    return was_precise_;
  }

  void conclude(StopReason reason) {
    Measurement& measurement = measurement_.measurement;
    measurement.stop_reason = reason;
    measurement.duration = elapsed();
    if (rounds().empty()) return;
    // If it has not settled, the last quarter comes nearest; the verdict says that it is not steady.
    const std::size_t first = settled_.value_or(rounds().size() * 3 / 4);
    if (options_.warm_up) {
      Steadiness steadiness;
      steadiness.verdict =
          settled_ ? Steadiness::Verdict::steady : why_not_steady(rounds(), slowdown_temperature_);
      steadiness.watched = watched_;
      steadiness.settled_round = first;
      steadiness.settled_after = rounds()[first].started;
      measurement.steadiness = steadiness;
    }
    summarise(measurement, first);
  }

  void report() {
    if (!options_.progress) return;
    Progress progress;
    progress.operation = measurement_.name;
    progress.conditions = measurement_.measurement.conditions;
    progress.rounds = std::ssize(rounds());
    progress.median = rounds().back().time();
    progress.precision = measurement_.measurement.time.precision();
    progress.clock = rounds().back().clock;
    progress.time_left = std::max(options_.sustained_time_limit - elapsed(), Nanoseconds(0));
    options_.progress(progress);
  }

  Device& device_;
  Queue& queue_;
  Decisions& decisions_;
  OpenMeasurement& measurement_;
  const MeasureOptions& options_;
  std::optional<Celsius> slowdown_temperature_;
  Nanoseconds epoch_;
  std::deque<RoundRunner::Pending> pending_;
  Nanoseconds watched_;
  Nanoseconds checkpoint_ = kFirstCheckpoint;  ///< in the operation's own time
  Nanoseconds latest_look_;                    ///< since the start
  int passes_ = 0;
  std::optional<std::size_t> settled_;
  std::size_t next_look_ = 0;
  bool was_precise_ = false;  ///< at the last look
};

}  // namespace

void measure_sustained(Device& device, Queue& queue, Decisions& decisions, OpenMeasurement& one,
                       const MeasureOptions& options) {
  SustainedLoop(device, queue, decisions, one, options).run();
}

}  // namespace jitterscope
