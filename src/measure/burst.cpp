#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "jitterscope/error.hpp"
#include "measure/estimate.hpp"
#include "measure/measuring_loops.hpp"
#include "measure/schedule.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// Placing operands costs 1 to 3 ms (H200), so that more of them cost more than another idle.
constexpr std::size_t kMostPlacements = 8;
// After so many visits with one placement each it is known how many placements a visit needs.
constexpr std::size_t kVisitsToLearn = 5;

bool is_precise(const Measurement& measurement, std::size_t visits, const MeasureOptions& options) {
  return std::cmp_greater_equal(visits, options.minimum_rounds) && may_stop(measurement, options.precision);
}

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

// What all groups of one measurement share.
struct BurstContext {
  Device& device;
  const MeasureOptions& options;
  Random& random;
  Nanoseconds& wake;
  Nanoseconds epoch;
};

double relative_deviation(const std::vector<double>& values) {
  return statistics::standard_deviation(values) / statistics::median(values);
}

// Of blocks, relative. A clock that wakes behind an idle moves all rounds of a block, and later ones less:
// more placements would average nothing, and make blocks of unlike numbers of rounds unlike.
double deviation_but_for_the_clock(std::span<const Round> rounds) {
  const double of_times = relative_deviation(block_times(rounds));
  if (!std::ranges::all_of(rounds, [](const Round& round) { return round.clock.has_value(); }))
    return of_times;
  const std::vector<double> cycles =
      block_means(rounds, [](const Round& round) { return cycles_in(round.time(), *round.clock).value(); });
  return std::min(of_times, relative_deviation(cycles));
}

bool is_fixed(const OpenMeasurement* one) { return one->measurement.conditions.placement.has_value(); }

// What a clock that wakes is below one that is awake. Clock states of 2 to 5 % (H200) are far from this.
constexpr double kAsleep = 1.1;
constexpr Nanoseconds kShortestWake = milliseconds(10), kLongestWake = milliseconds(80);

// Whether the newest round's clock is above that of earlier ones behind longer idles: a clock that sleeps.
// What power and heat hold is the lower the shorter the idle is. One low clock tells nothing, as other
// programs on a CPU make some: a third of those behind longer idles must be.
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

// A group in its turns: the rounds of each block, and when it has enough.
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
  }

  std::size_t visits() const override { return visits_; }

  bool needs_more() override {
    if (out_of_time()) close(StopReason::time_limit);
    return !open_.empty();
  }

  // Rounds of each measurement that is open, in one placement of the operands after the other.
  void visit(const Visit& visit) override {
    if (!visit.rests) time_ += visit.idle;
    Nanoseconds idle = visit.rests ? visit.idle : Nanoseconds(0);
    const Nanoseconds start = context_.device.host_time() - time_;
    const std::size_t placements = placements_of_visit();
    std::vector<OpenMeasurement*> order = open_;
    shuffle(order, context_.random);
    for (std::size_t i = 0; i < placements && !is_interrupted(context_.options); ++i) {
      if (visits_ > 0 || i > 0) place_anew();
      for (OpenMeasurement* one : order) {
        if (is_interrupted(context_.options)) break;
        std::optional<Round> round = try_round(*one, idle);
        idle = Nanoseconds(0);
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

  // The rounds so far were of a clock in all stages of its waking.
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
    visits_ = 0;
    time_ = Nanoseconds(0);  // what was learned is not taken off its limit
  }

  void close(StopReason reason) {
    for (OpenMeasurement* one : open_) close(*one, reason);
    open_.clear();
  }

 private:
  bool is_paired() const { return paired_operations_ > 1; }

  // A launch that is longer than the time limit allows for the least number of rounds gets that number less
  // only when the limit has passed twice over: an interval needs 6 rounds.
  bool out_of_time() const {
    constexpr std::size_t kLeastRounds = 6;
    if (time_ < time_limit_) return false;
    return visits_ >= kLeastRounds || time_ > time_limit_ * 2.0;
  }

  // Nothing where the gate gave up: something was loaded, compiled or allocated, and the next round need not
  // be. Launches that lose several in a row, or many, are not to be held at all.
  std::optional<Round> try_round(OpenMeasurement& one, Nanoseconds idle) {
    constexpr std::int64_t kMostInARow = 3, kMostInAll = 10;
    try {
      Round round = run_round(one, idle);
      one.lost_in_a_row = 0;
      return round;
    } catch (const GateTimeoutError& error) {
      ++one.measurement.lost_rounds;
      if (++one.lost_in_a_row < kMostInARow && one.measurement.lost_rounds < kMostInAll) return std::nullopt;
      throw CannotBeHeldError(error.what(), one.runner.workload());
    }
  }

  // Behind the first idle of a block.
  Round run_round(OpenMeasurement& one, Nanoseconds idle) {
    if (idle > Nanoseconds(0) && context_.wake > Nanoseconds(0)) {
      one.runner.rest(idle);
      one.runner.wake(context_.wake);
      Round round = one.runner.run_gated_round(Nanoseconds(0), context_.epoch);
      round.idle_before = idle;
      return round;
    }
    return one.runner.run_gated_round(idle, context_.epoch);
  }

  void close_precise() {
    if (is_paired()) {
      if (is_precise_pair()) close(StopReason::precision);
      return;
    }
    const auto is_open = [&](OpenMeasurement* one) {
      return !is_precise(one->measurement, visits_, context_.options);
    };
    const auto precise = std::stable_partition(open_.begin(), open_.end(), is_open);
    std::for_each(precise, open_.end(), [&](OpenMeasurement* one) { close(*one, StopReason::precision); });
    open_.erase(precise, open_.end());
  }

  bool is_precise_pair() const {
    if (std::cmp_less(visits_, context_.options.minimum_rounds)) return false;
    const std::size_t states = open_.size() / paired_operations_;
    for (std::size_t i = states; i < open_.size(); ++i) {
      const Measurement& first = open_[i % states]->measurement;
      if (!may_stop_paired(first, open_[i]->measurement, context_.options.precision)) return false;
    }
    return true;
  }

  // Each operation once, for all its cache states.
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

  // One, while that will be precise at the least number of visits; else as many as would make it so, and as
  // last no longer together than an idle does on average.
  std::size_t placements_of_visit() const {
    if (!may_be_placed_ || visits_ < kVisitsToLearn) return 1;
    const MeasureOptions& options = context_.options;
    const auto least = static_cast<std::size_t>(std::max<std::int64_t>(1, options.minimum_rounds));
    const std::size_t to_come = least > visits_ ? least - visits_ : 1;
    double needed = 1.0;
    for (const OpenMeasurement* one : open_) {
      if (one->measurement.rounds.size() < 2) continue;  // others were lost
      const double deviation = deviation_but_for_the_clock(one->measurement.rounds);
      // The interval of a median, by normal values.
      const double rounds = std::pow(1.96 * 1.25 * deviation / options.precision, 2.0);
      needed = std::max(needed, (rounds - static_cast<double>(visits_)) / static_cast<double>(to_come));
    }
    const Nanoseconds idle = mean_idle(options);
    // Idles are their mean on average; each placement so far had its rounds.
    const Nanoseconds busy = time_ - idle * static_cast<double>(visits_);
    const Nanoseconds each = busy / static_cast<double>(placements_ + 1);
    const double fit = each > Nanoseconds(0) ? idle / each : static_cast<double>(kMostPlacements);
    return static_cast<std::size_t>(
        std::clamp(std::ceil(std::min(needed, fit)), 1.0, static_cast<double>(kMostPlacements)));
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
  std::size_t visits_ = 0;
  std::int64_t placements_ = 0;
  Nanoseconds time_ = {};  // of its rounds and of the idles before them: what it would have taken alone
};

// Where a clock was asleep, all that is open is measured again behind one that is awake.
void wake_for_longer_where_asleep(std::deque<OpenGroup>& groups, Nanoseconds& wake) {
  if (wake >= kLongestWake || std::ranges::none_of(groups, &OpenGroup::shows_sleep)) return;
  wake = wake > Nanoseconds(0) ? wake * 2.0 : kShortestWake;
  for (OpenGroup& group : groups) group.begin_again();
}

}  // namespace

void measure_burst(Device& device, std::vector<MeasuredGroup>& groups, const MeasureOptions& options,
                   Nanoseconds& wake) {
  Schedule schedule(device, options, IdleSharing::by_time);
  const BurstContext context{device, options, schedule.random(), wake, device.host_time()};
  std::deque<OpenGroup> open;  // whose members stay where they are
  std::vector<BlockVisitor*> visitors;
  for (MeasuredGroup& group : groups) visitors.push_back(&open.emplace_back(group, context));
  while (schedule.run_block(visitors)) wake_for_longer_where_asleep(open, wake);
  for (OpenGroup& group : open) group.close(StopReason::interrupted);
}

}  // namespace jitterscope
