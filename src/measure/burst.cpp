#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.hpp"
#include "measure/estimate.hpp"
#include "measure/measuring_loops.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

bool is_interrupted(const MeasureOptions& options) { return options.interrupted && options.interrupted(); }

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

// What is still open of one group.
struct OpenGroup {
  std::vector<OpenMeasurement*> measurements;
  std::size_t paired_operations;
  Nanoseconds time_limit;
  bool may_be_placed;
  std::size_t visits = 0;
  std::int64_t placements = 0;
  Nanoseconds time = {};  // of its rounds and of the idles before them: what it would have taken alone

  bool is_paired() const { return paired_operations > 1; }
};

// A launch that is longer than the time limit allows for the least number of rounds gets that number less
// only when the limit has passed twice over: an interval needs 6 rounds.
bool out_of_time(const OpenGroup& group) {
  constexpr std::size_t kLeastRounds = 6;
  if (group.time < group.time_limit) return false;
  return group.visits >= kLeastRounds || group.time > group.time_limit * 2.0;
}

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
bool shows_sleep(std::span<const Round> rounds) {
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

class BurstLoop {
 public:
  BurstLoop(Device& device, std::vector<MeasuredGroup>& groups, const MeasureOptions& options,
            Nanoseconds& wake)
      : device_(device), options_(options), random_(options.seed), wake_(wake), epoch_(device.host_time()) {
    for (MeasuredGroup& group : groups) {
      std::vector<OpenMeasurement*> measurements;
      for (OpenMeasurement& one : group.measurements) {
        if (wake_ > Nanoseconds(0)) one.measurement.sleeping_clock = SleepingClock{wake_, {}};
        measurements.push_back(&one);
      }
      const bool may_be_placed = !std::ranges::all_of(measurements, is_fixed);
      const Nanoseconds limit = options.time_limit * static_cast<double>(group.paired_operations);
      open_.push_back({std::move(measurements), group.paired_operations, limit, may_be_placed});
    }
  }

  void run() {
    while (true) {
      if (is_interrupted(options_)) return close_all(StopReason::interrupted);
      for (OpenGroup& group : open_) {
        if (out_of_time(group)) close(group, StopReason::time_limit);
      }
      std::erase_if(open_, [](const OpenGroup& group) { return group.measurements.empty(); });
      if (open_.empty()) return;
      share_idle();
      wake_for_longer_where_asleep();
    }
  }

 private:
  // An idle lets the chip rest, and its random length keeps rounds exchangeable. As many groups share it as
  // keep the chip busy no longer than it rests on average. The order is drawn anew each time, the least
  // visited first, so that none always follows the same other.
  void share_idle() {
    shuffle(open_, random_);
    std::ranges::stable_sort(open_, {}, &OpenGroup::visits);
    ++block_;
    const Nanoseconds idle = draw_idle(options_, random_);
    const Nanoseconds mean_idle = (options_.shortest_idle + options_.longest_idle) / 2.0;
    const Nanoseconds end = device_.host_time() + idle + mean_idle;
    visit(open_.front(), idle);
    for (std::size_t i = 1; i < open_.size() && device_.host_time() < end; ++i) {
      if (is_interrupted(options_)) return;
      open_[i].time += idle;
      visit(open_[i], Nanoseconds(0));
    }
  }

  // Behind the same idle rounds of each open one, in one placement of the operands after the other.
  void visit(OpenGroup& group, Nanoseconds idle) {
    const Nanoseconds start = device_.host_time() - group.time;
    const std::size_t placements = placements_for(group);
    std::vector<OpenMeasurement*> order = group.measurements;
    shuffle(order, random_);
    for (std::size_t i = 0; i < placements && !is_interrupted(options_); ++i) {
      if (group.visits > 0 || i > 0) place_anew(group);
      for (OpenMeasurement* one : order) {
        if (is_interrupted(options_)) break;
        Round round = run_round(*one, idle);
        round.block = block_;
        round.placement = is_fixed(one) ? 0 : group.placements;
        one->measurement.rounds.push_back(std::move(round));
        group.time = device_.host_time() - start;
        report(*one, options_, group.time_limit - group.time);
        idle = Nanoseconds(0);
      }
    }
    ++group.visits;
    close_precise(group);
  }

  // Behind the first idle of a block.
  Round run_round(OpenMeasurement& one, Nanoseconds idle) {
    if (idle > Nanoseconds(0) && wake_ > Nanoseconds(0)) {
      one.runner.rest(idle);
      one.runner.wake(wake_);
      Round round = one.runner.run_gated_round(Nanoseconds(0), epoch_);
      round.idle_before = idle;
      return round;
    }
    return one.runner.run_gated_round(idle, epoch_);
  }

  // The rounds so far were of a clock in all stages of its waking: they are measured again behind one that is
  // awake, of all that is open.
  void wake_for_longer_where_asleep() {
    if (wake_ >= kLongestWake) return;
    const bool any = std::ranges::any_of(open_, [](const OpenGroup& group) {
      return std::ranges::any_of(group.measurements,
                                 [](OpenMeasurement* one) { return shows_sleep(one->measurement.rounds); });
    });
    if (!any) return;
    wake_ = wake_ > Nanoseconds(0) ? wake_ * 2.0 : kShortestWake;
    for (OpenGroup& group : open_) {
      for (OpenMeasurement* one : group.measurements) {
        Measurement& measurement = one->measurement;
        const bool is_first = !measurement.sleeping_clock && !measurement.rounds.empty();
        SleepingClock clock = measurement.sleeping_clock.value_or(SleepingClock());
        clock.woken_for = wake_;
        if (is_first) clock.time_asleep = estimate_time(measurement.rounds).median;
        measurement.sleeping_clock = clock;
        measurement.rounds.clear();
      }
      group.visits = 0;
      group.time = Nanoseconds(0);  // what was learned is not taken off its limit
    }
  }

  void close_precise(OpenGroup& group) {
    if (group.is_paired()) {
      if (is_precise_pair(group)) close(group, StopReason::precision);
      return;
    }
    const auto is_open = [&](OpenMeasurement* one) {
      return !is_precise(one->measurement, group.visits, options_);
    };
    const auto precise = std::stable_partition(group.measurements.begin(), group.measurements.end(), is_open);
    std::for_each(precise, group.measurements.end(),
                  [&](OpenMeasurement* one) { close(*one, group, StopReason::precision); });
    group.measurements.erase(precise, group.measurements.end());
  }

  bool is_precise_pair(const OpenGroup& group) const {
    if (std::cmp_less(group.visits, options_.minimum_rounds)) return false;
    const std::size_t states = group.measurements.size() / group.paired_operations;
    for (std::size_t i = states; i < group.measurements.size(); ++i) {
      const Measurement& first = group.measurements[i % states]->measurement;
      if (!may_stop_paired(first, group.measurements[i]->measurement, options_.precision)) return false;
    }
    return true;
  }

  // Each operation once, for all its cache states.
  void place_anew(OpenGroup& group) {
    if (!group.may_be_placed) return;
    std::map<const Workload*, bool> placed;
    for (OpenMeasurement* one : group.measurements) {
      if (is_fixed(one)) continue;
      const auto [entry, is_new] = placed.try_emplace(one->runner.workload(), false);
      if (is_new) entry->second = one->runner.place_anew();
      one->measurement.is_placed_anew = entry->second;
    }
    group.may_be_placed = std::ranges::any_of(placed, [](const auto& entry) { return entry.second; });
    if (group.may_be_placed) ++group.placements;
  }

  // One, while that will be precise at the least number of visits; else as many as would make it so, and as
  // last no longer together than an idle does on average.
  std::size_t placements_for(const OpenGroup& group) const {
    if (!group.may_be_placed || group.visits < kVisitsToLearn) return 1;
    const auto least = static_cast<std::size_t>(std::max<std::int64_t>(1, options_.minimum_rounds));
    const std::size_t to_come = least > group.visits ? least - group.visits : 1;
    double needed = 1.0;
    for (const OpenMeasurement* one : group.measurements) {
      const double deviation = deviation_but_for_the_clock(one->measurement.rounds);
      // The interval of a median, by normal values.
      const double rounds = std::pow(1.96 * 1.25 * deviation / options_.precision, 2.0);
      needed = std::max(needed, (rounds - static_cast<double>(group.visits)) / static_cast<double>(to_come));
    }
    const Nanoseconds idle = (options_.shortest_idle + options_.longest_idle) / 2.0;
    // Idles are their mean on average; each placement so far had its rounds.
    const Nanoseconds busy = group.time - idle * static_cast<double>(group.visits);
    const Nanoseconds each = busy / static_cast<double>(group.placements + 1);
    const double fit = each > Nanoseconds(0) ? idle / each : static_cast<double>(kMostPlacements);
    return static_cast<std::size_t>(
        std::clamp(std::ceil(std::min(needed, fit)), 1.0, static_cast<double>(kMostPlacements)));
  }

  void close(OpenMeasurement& one, const OpenGroup& group, StopReason reason) {
    one.measurement.stop_reason = reason;
    one.measurement.duration = group.time;
    summarise(one.measurement, 0);
  }

  void close(OpenGroup& group, StopReason reason) {
    for (OpenMeasurement* one : group.measurements) close(*one, group, reason);
    group.measurements.clear();
  }

  void close_all(StopReason reason) {
    for (OpenGroup& group : open_) close(group, reason);
  }

  Device& device_;
  const MeasureOptions& options_;
  Random random_;
  Nanoseconds& wake_;
  Nanoseconds epoch_;
  std::int64_t block_ = -1;
  std::vector<OpenGroup> open_;
};

}  // namespace

void measure_burst(Device& device, std::vector<MeasuredGroup>& groups, const MeasureOptions& options,
                   Nanoseconds& wake) {
  BurstLoop(device, groups, options, wake).run();
}

}  // namespace jitterscope
