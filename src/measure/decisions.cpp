#include "measure/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "jitterscope/error.hpp"
#include "measure/estimate.hpp"
#include "measure/schedule.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// Placing operands costs 1 to 3 ms (H200), so more placements than this cost more than another idle.
constexpr std::size_t kMostSets = 8;
// Beside two busy programs on two cores ratios of processes scattered by 0.5 % with 1-ms rounds of both sides
// by turns, by 1 to 3 % with 5-ms rounds, one of each behind an idle
// (docs/notebook/2026-11-28-three-percent-on-a-busy-cpu.md).
constexpr std::size_t kMostSetsOnHost = 20;
// After this many visits with one set each, the number of sets that a visit needs is known.
constexpr std::size_t kVisitsToLearn = 5;

double relative_deviation(const std::vector<double>& values) {
  return statistics::standard_deviation(values) / statistics::median(values);
}

// Returns the blocks' relative deviation in time or cycles, the smaller one. A clock that wakes after an idle
// moves all rounds of a block: more placements would average nothing, and make blocks unlike.
double deviation_but_for_the_clock(std::span<const Round> rounds) {
  const double of_times = relative_deviation(block_times(rounds));
  if (!std::ranges::all_of(rounds, [](const Round& round) { return round.clock.has_value(); }))
    return of_times;
  const std::vector<double> cycles =
      block_means(rounds, [](const Round& round) { return cycles_in(round.time(), *round.clock).value(); });
  return std::min(of_times, relative_deviation(cycles));
}

bool is_precise_pair(const GroupFacts& facts) {
  const std::size_t states = facts.open.size() / facts.paired_operations;
  for (std::size_t i = states; i < facts.open.size(); ++i) {
    if (!may_stop_paired(*facts.open[i % states], *facts.open[i], facts.options.precision)) return false;
  }
  return true;
}

}  // namespace

RoundShape LocalDecisions::shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                                        const Calibration& calibration) {
  // Limits how long a round's queue is held: a function that loads a kernel late lost ten seconds with each
  // round.
  constexpr Nanoseconds kMostPatience = seconds(10);
  RoundShape shape = shape_round(facts.launch_time, facts.cache, facts.load, options, calibration);
  shape.launches_wait = facts.waits;
  const auto launches = static_cast<double>(shape.values * shape.group + shape.conditioning_launches);
  shape.patience = std::clamp(facts.launch_cost * (4.0 * launches), shape.patience, kMostPatience);
  if (facts.time_in_a_row) group_launches(shape, *facts.time_in_a_row, options, calibration);
  if (facts.eviction) limit_evictions(shape, *facts.eviction, options);
  return shape;
}

std::optional<RoundShape> LocalDecisions::shape_after_trial(const RoundShape& tried, bool was_held) {
  if (was_held) return std::nullopt;
  return halved(tried);
}

bool LocalDecisions::ends_early(const MeasureOptions& options) { return is_interrupted(options); }

bool LocalDecisions::shares_idle(Nanoseconds busy, Nanoseconds most) { return busy < most; }

namespace {

// Returns how many sets of rounds would make all open measurements precise at the least number of visits.
double sets_needed(const GroupFacts& facts) {
  const auto least = static_cast<std::size_t>(std::max<std::int64_t>(1, facts.options.minimum_rounds));
  const std::size_t to_come = least > facts.visits ? least - facts.visits : 1;
  double needed = 1.0;
  for (const Measurement* one : facts.open) {
    if (one->rounds.size() < 2) continue;  // its other rounds were lost
    const double deviation = deviation_but_for_the_clock(one->rounds);
    // Half-width of a median's interval for normal values.
    const double rounds = std::pow(1.96 * 1.25 * deviation / facts.options.precision, 2.0);
    needed = std::max(needed, (rounds - static_cast<double>(facts.visits)) / static_cast<double>(to_come));
  }
  return needed;
}

}  // namespace

// Returns 1 if that is enough, else as many as needed, but no more than keep the device busy for a mean idle.
// On a host, sides that are compared take turns for as long: what other programs do then meets both.
std::size_t LocalDecisions::sets_of_visit(const GroupFacts& facts) {
  const bool takes_turns = facts.is_host && facts.paired_operations > 1;
  if (!facts.may_be_placed && !facts.is_host) return 1;
  if (facts.visits < (takes_turns ? 1 : kVisitsToLearn)) return 1;
  const double most = static_cast<double>(facts.is_host ? kMostSetsOnHost : kMostSets);
  const Nanoseconds each =
      (facts.time - facts.idle) / static_cast<double>(std::max<std::size_t>(1, facts.sets));
  const double fit = each > Nanoseconds(0) ? std::floor(mean_idle(facts.options) / each) : most;
  const double needed = takes_turns ? most : std::ceil(sets_needed(facts));
  return static_cast<std::size_t>(std::clamp(std::min(needed, fit), 1.0, most));
}

// If launches are so long that the least number of rounds does not fit into the limit, they get that number,
// or twice the limit: an interval needs 6 rounds.
bool LocalDecisions::is_out_of_time(const GroupFacts& facts) {
  constexpr std::size_t kLeastRounds = 6;
  if (facts.time < facts.time_limit) return false;
  return facts.visits >= kLeastRounds || facts.time > facts.time_limit * 2.0;
}

std::vector<bool> LocalDecisions::are_precise(const GroupFacts& facts) {
  std::vector<bool> precise(facts.open.size(), false);
  if (std::cmp_less(facts.visits, facts.options.minimum_rounds)) return precise;
  if (facts.paired_operations > 1) {
    precise.assign(facts.open.size(), is_precise_pair(facts));
    return precise;
  }
  for (std::size_t i = 0; i < facts.open.size(); ++i) {
    precise[i] = may_stop(*facts.open[i], facts.options.precision);
  }
  return precise;
}

// Work loaded, compiled or allocated in one held queue may be absent in the next, so a lost round is skipped.
// Launches that lose several rounds in a row, or many, cannot be held at all.
std::optional<LostRound> LocalDecisions::judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                                     std::int64_t lost_in_all) {
  constexpr std::int64_t kMostInARow = 3, kMostInAll = 10;
  if (!was_lost) return std::nullopt;
  return lost_in_a_row < kMostInARow && lost_in_all < kMostInAll ? LostRound::skip : LostRound::give_up;
}

Nanoseconds LocalDecisions::time_to_wake(Nanoseconds wake, bool was_asleep) {
  constexpr Nanoseconds kShortest = milliseconds(10), kLongest = milliseconds(80);
  if (!was_asleep || wake >= kLongest) return wake;
  return wake > Nanoseconds(0) ? wake * 2.0 : kShortest;
}

std::optional<StopReason> LocalDecisions::end_load(const LoadFacts& facts, const MeasureOptions& options) {
  if (facts.is_precise) return StopReason::precision;
  if (is_interrupted(options)) return StopReason::interrupted;
  // One round at least: filling or evicting a large cache alone may use up a short limit.
  if (facts.has_round && facts.elapsed >= options.sustained_time_limit) return StopReason::time_limit;
  return std::nullopt;
}

namespace {

// Returns 0 for nullopt, else the value plus one.
template <class Choice>
std::int64_t number_of(const std::optional<Choice>& choice) {
  return choice ? 1 + static_cast<std::int64_t>(*choice) : 0;
}

// The choice with this number, where `last` is the last one that there is.
template <class Choice>
std::optional<Choice> choice_of(std::int64_t number, Choice last) {
  if (number < 0 || number > 1 + static_cast<std::int64_t>(last)) {
    throw FailedError(fmt::format("processes in step agreed on {}, which is not a choice", number));
  }
  if (number == 0) return std::nullopt;
  return static_cast<Choice>(number - 1);
}
static_assert(LostRound::skip < LostRound::give_up, "settle() takes the larger one");

// A load ends as precise once all processes say so, and at once for an interruption or the end of its time.
std::int64_t settle_end(std::int64_t first, std::int64_t second) {
  const std::int64_t precise = number_of(std::optional(StopReason::precision));
  for (const std::int64_t one : {first, second}) {
    if (one != 0 && one != precise) return one;
  }
  return std::min(first, second);
}

std::int64_t settle_two(Question question, std::int64_t first, std::int64_t second) {
  switch (question) {
    case Question::was_held:
    case Question::was_recorded:
    case Question::can_trace:
    case Question::has_woken:
    case Question::are_precise: return std::min(first, second);
    case Question::end_load: return settle_end(first, second);
    case Question::shares_idle: return first;  // the first process decides
    case Question::launches_wait:
    case Question::is_long:
    case Question::ends_early:
    case Question::out_of_time:
    case Question::sets:
    case Question::lost_round:
    case Question::was_asleep:
    case Question::needs_passes: return std::max(first, second);
  }
  return first;
}

}  // namespace

std::vector<std::int64_t> settle(Question question, const std::vector<std::vector<std::int64_t>>& proposals) {
  std::vector<std::int64_t> settled = proposals.front();
  for (const std::vector<std::int64_t>& proposal : proposals) {
    if (proposal.size() != settled.size())
      throw FailedError("processes in step decide about unlike numbers of measurements");
    for (std::size_t i = 0; i < settled.size(); ++i)
      settled[i] = settle_two(question, settled[i], proposal[i]);
  }
  return settled;
}

RoundShape AgreedDecisions::shape_rounds(const LaunchFacts& facts, const MeasureOptions& options,
                                         const Calibration& calibration) {
  return agreement_.agree(own_.shape_rounds(facts, options, calibration));
}

std::optional<RoundShape> AgreedDecisions::shape_after_trial(const RoundShape& tried, bool was_held) {
  return own_.shape_after_trial(tried, agree(Question::was_held, was_held));
}

bool AgreedDecisions::ends_early(const MeasureOptions& options) {
  if (!has_ended_) has_ended_ = agree(Question::ends_early, wants_to_end() || own_.ends_early(options));
  return has_ended_;
}

bool AgreedDecisions::shares_idle(Nanoseconds busy, Nanoseconds most) {
  return agree(Question::shares_idle, own_.shares_idle(busy, most));
}

bool AgreedDecisions::is_out_of_time(const GroupFacts& facts) {
  return agree(Question::out_of_time, own_.is_out_of_time(facts));
}

std::size_t AgreedDecisions::sets_of_visit(const GroupFacts& facts) {
  const auto own = static_cast<std::int64_t>(own_.sets_of_visit(facts));
  return static_cast<std::size_t>(agreement_.agree(Question::sets, {own}).front());
}

std::vector<bool> AgreedDecisions::are_precise(const GroupFacts& facts) {
  const std::vector<bool> own = own_.are_precise(facts);
  const std::vector<std::int64_t> all =
      agreement_.agree(Question::are_precise, std::vector<std::int64_t>(own.begin(), own.end()));
  std::vector<bool> precise;
  for (const std::int64_t one : all) precise.push_back(one != 0);
  return precise;
}

std::optional<LostRound> AgreedDecisions::judge_round(bool was_lost, std::int64_t lost_in_a_row,
                                                      std::int64_t lost_in_all) {
  const auto own = own_.judge_round(was_lost, lost_in_a_row, lost_in_all);
  return choice_of(agreement_.agree(Question::lost_round, {number_of(own)}).front(), LostRound::give_up);
}

Nanoseconds AgreedDecisions::time_to_wake(Nanoseconds wake, bool was_asleep) {
  return own_.time_to_wake(wake, agree(Question::was_asleep, was_asleep));
}

std::optional<StopReason> AgreedDecisions::end_load(const LoadFacts& facts, const MeasureOptions& options) {
  auto own = own_.end_load(facts, options);
  if (has_ended_ || wants_to_end()) own = StopReason::interrupted;
  if (has_ended_) return own;
  const auto all =
      choice_of(agreement_.agree(Question::end_load, {number_of(own)}).front(), StopReason::interrupted);
  has_ended_ = all == StopReason::interrupted;
  return all;
}

namespace {

// Event pairs are accurate to ± 0.15 us after calibration, over 0.5 % of 20 us: slopes time shorter launches.
// After an eviction event pairs read 0.15 to 0.35 us too much for launches of 0.6 to 6 us, and slopes are
// within 0.1 us (0.16 for one) of CUPTI's kernel times (H200, docs/evidence/benchmarks.md).
constexpr Nanoseconds kShortLaunch = microseconds(20);
// A pair of marks that costs less than this (a CPU: 25 ns) is exact enough for the shortest launch, and a
// slope would only add the noise of one recording to that of another.
constexpr Nanoseconds kCheapMarks = Nanoseconds(100);
constexpr Nanoseconds kRoundLength = milliseconds(5);
// On a host another program is given the core after some milliseconds: most rounds of one are over by then.
constexpr Nanoseconds kRoundLengthOnHost = milliseconds(1);
// 40 rather than 20: for launches of 10 to 100 us the longer round costs 2 ms beside an idle of 40 ms, and
// halves the number of rounds that ResNet-50's small layers need.
constexpr std::int64_t kMostLaunches = 40;
// A sustained round needs no held queue, but two of them must fit the queue (1,024 entries).
constexpr std::int64_t kMostSustainedLaunches = 200;
// Limit for all groups of a round on a CPU, whose queue holds launches in a row as one entry.
constexpr std::int64_t kMostGroupedLaunches = 1'000'000;
constexpr std::int64_t kMostPairs = 10, kEvictingPairs = 4;
// Event pairs on an H200 read up to 1 us more or less for all launches of one held queue, in a pattern that
// repeats every four (cold launches; warm ones 0.4 us). Holding the queue four times in each round puts all
// of the pattern into every round: it then widens no interval, and favours no round.
constexpr std::int64_t kMostParts = 4, kLaunchesPerPart = 5;

std::int64_t launches_in(Nanoseconds length, Nanoseconds launch_time) {
  const double count = length / std::max(launch_time, Nanoseconds(1));
  return static_cast<std::int64_t>(std::clamp(std::ceil(count), 1.0, 1e9));
}

SlopeShape shape_slope(Nanoseconds launch_time, CacheState cache) {
  SlopeShape slope;
  if (cache != CacheState::warm) {
    const std::int64_t launches = std::min(kMostLaunches, launches_in(kRoundLength, launch_time));
    // The evictions of one recording last 0.2 % more or less than those of the other, 0.15 us for each
    // launch: only many pairs reduce that.
    return {.short_launches = 0, .long_launches = launches, .pairs = kEvictingPairs};
  }
  // Both recordings together last about 0.5 ms: then the timer's grain, 32 ns on Hopper and 0.5 us on older
  // GPUs, is under 0.1 % of a slope. Long launches need fewer than 40 for that; 40 of them would make a round
  // of minutes.
  const std::int64_t least = std::min<std::int64_t>(40, launches_in(kRoundLength / 4.0, launch_time));
  slope.short_launches = std::clamp<std::int64_t>(launches_in(microseconds(125), launch_time), least, 400);
  slope.long_launches = 3 * slope.short_launches;
  const Nanoseconds pair = launch_time * static_cast<double>(slope.short_launches + slope.long_launches);
  slope.pairs = std::min(kMostPairs, launches_in(kRoundLength, pair));
  return slope;
}

}  // namespace

RoundShape shape_round(Nanoseconds launch_time, CacheState cache, Load load, const MeasureOptions& options,
                       const Calibration& calibration) {
  RoundShape shape;
  const bool marks_are_cheap = calibration.events.value <= kCheapMarks;
  const bool is_short = launch_time < kShortLaunch && !marks_are_cheap;
  // A recording launches on the same operands each time, so fresh data is timed by events.
  const bool by_slope = options.queue == QueueMode::graph ||
                        (options.queue == QueueMode::saturated && is_short && !options.fresh_data);
  shape.instrument = options.instrument.value_or(by_slope ? Instrument::graph : Instrument::events);
  const std::int64_t most = load == Load::sustained ? kMostSustainedLaunches : kMostLaunches;
  const bool is_short_round =
      calibration.marks_are_of_host && cache == CacheState::warm && load == Load::burst;
  const Nanoseconds length = is_short_round ? kRoundLengthOnHost : kRoundLength;
  shape.values = options.launches_per_round.value_or(std::min(launches_in(length, launch_time), most));
  shape.slope = shape_slope(launch_time, cache);
  // One launch sets the caches; the second only lets a short launch's clock settle after the release.
  shape.conditioning_launches = options.conditioning_launches;
  if (launch_time >= length)
    shape.conditioning_launches = std::min<std::int64_t>(1, shape.conditioning_launches);
  // If the device is the host (cheap marks), the host may sleep: its rest is the device's.
  const bool replays = options.queue == QueueMode::graph && shape.instrument == Instrument::events;
  const bool holds_host = options.queue == QueueMode::eager || replays;
  shape.host_is_timed = !marks_are_cheap && (holds_host || shape.instrument == Instrument::host);
  const double grain_share = calibration.events.grain / std::max(launch_time, Nanoseconds(1));
  // Groups only if a launch costs as little as a mark. On an H200 a plain launch follows its predecessor 0.7
  // us later than in a recording, and a group includes that for each launch: there, slopes time short
  // launches.
  if (cache == CacheState::warm && marks_are_cheap && grain_share > options.precision / 3.0) {
    const auto group = static_cast<std::int64_t>(std::ceil(grain_share / (options.precision / 3.0)));
    shape.group = std::min(group, shape.values);
    shape.values = std::max<std::int64_t>(1, shape.values / shape.group);
  }
  if (load == Load::burst && shape.instrument == Instrument::events &&
      options.queue == QueueMode::saturated && !marks_are_cheap) {
    shape.parts = std::clamp<std::int64_t>(shape.values / kLaunchesPerPart, 1, kMostParts);
    // As many values as were asked for, or as many as the parts hold evenly.
    if (!options.launches_per_round) shape.values = shape.values / shape.parts * shape.parts;
    while (shape.values % shape.parts != 0) --shape.parts;
  }
  return shape;
}

void group_launches(RoundShape& shape, Nanoseconds launch_time, const MeasureOptions& options,
                    const Calibration& calibration) {
  const std::int64_t in_all = shape.values * shape.group;
  const std::int64_t launches = options.launches_per_round.value_or(
      std::clamp(launches_in(calibration.marks_are_of_host ? kRoundLengthOnHost : kRoundLength, launch_time),
                 in_all, std::max(in_all, kMostGroupedLaunches)));
  // A mark is known to a microsecond or better on any host, less well if the host was busy during
  // calibration. Longer groups would add up calls that may differ: for a function of 2 ms that takes 12 ms
  // each fifth time, groups of three read 2 or 5.4 ms, which no call takes.
  constexpr Nanoseconds kLongestGroup = milliseconds(1);
  const Nanoseconds length = std::min(calibration.events.scatter / (options.precision / 3.0), kLongestGroup);
  const std::int64_t needed = launches_in(length, launch_time);
  if (needed <= shape.group) return;
  shape.group = std::min(needed, launches);
  shape.values = std::clamp<std::int64_t>(launches / shape.group, 1, in_all);
  shape.parts = 1;  // fewer values than parts would leave parts without one
}

void limit_evictions(RoundShape& shape, Nanoseconds eviction, const MeasureOptions& options) {
  constexpr Nanoseconds kEvicting = milliseconds(100);
  constexpr std::int64_t kFewest = 3;
  const std::int64_t most = std::max(kFewest, launches_in(kEvicting, eviction));
  if (shape.values <= most || options.launches_per_round) return;
  shape.values = most;
  shape.parts = 1;
  shape.conditioning_launches = std::min<std::int64_t>(1, shape.conditioning_launches);
}

RoundShape halved(RoundShape shape) {
  constexpr std::int64_t kFewestLaunches = 10;
  SlopeShape& slope = shape.slope;
  if (slope.pairs > 1) {
    slope.pairs = (slope.pairs + 1) / 2;
    shape.parts *= 2;
  } else if (slope.long_launches >= 2 * kFewestLaunches) {
    slope.long_launches /= 2;
    slope.short_launches /= 2;
  } else {
    shape.instrument = Instrument::events;
  }
  return shape;
}

}  // namespace jitterscope
