#include <algorithm>
#include <cmath>

#include "measure/round_runner.hpp"

namespace jitterscope {
namespace {

// Event pairs carry +-0.15 us after calibration, more than 0.5 % of 20 us: below that, slopes of recordings.
// After an eviction event pairs read 0.15 to 0.35 us too much for launches of 0.6 to 6 us, and slopes are
// within 0.1 us (0.16 for one) of CUPTI's kernel times (H200, docs/evidence/benchmarks.md).
constexpr Nanoseconds kShortLaunch = microseconds(20);
// Where a pair of marks costs less than this (a CPU: 25 ns), it is exact enough for the shortest launch, and
// a slope would only add the noise of one recording to that of another.
constexpr Nanoseconds kCheapMarks = Nanoseconds(100);
constexpr Nanoseconds kRoundLength = milliseconds(5);
// 40 rather than 20: for launches of 10 to 100 us the longer round costs 2 ms beside an idle of 40, and
// halves the number of rounds that ResNet-50's small layers need.
constexpr std::int64_t kMostLaunches = 40;
// A sustained batch has no gate to fit behind, but two of them must fit the queue (1,024 entries).
constexpr std::int64_t kMostSustainedLaunches = 200;
// Of all groups of a round, on a CPU, whose queue holds launches in a row as one entry.
constexpr std::int64_t kMostGroupedLaunches = 1'000'000;
constexpr std::int64_t kMostPairs = 10, kEvictingPairs = 4;
// Event pairs on an H200 read up to 1 us more or less for all launches behind one closing of the gate, in a
// pattern that repeats every four closings (cold launches; warm ones 0.4 us). Four closings in each round put
// all of the pattern into every round: it then widens no interval, and favours no round.
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
    // launch: only many pairs bring that down.
    return {.short_launches = 0, .long_launches = launches, .pairs = kEvictingPairs};
  }
  // Both recordings together last about 0.5 ms: then the timer's grain, 32 ns on Hopper and 0.5 us on
  // older GPUs, is under 0.1 % of a slope.
  // A long launch needs no 40 of them for that, and would make a round of minutes.
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
  // A recording launches on the operands that it was made with each time: fresh data goes by events.
  const bool by_slope = options.queue == QueueMode::graph ||
                        (options.queue == QueueMode::saturated && is_short && !options.fresh_data);
  shape.instrument = options.instrument.value_or(by_slope ? Instrument::graph : Instrument::events);
  const std::int64_t most = load == Load::sustained ? kMostSustainedLaunches : kMostLaunches;
  shape.values = options.launches_per_round.value_or(std::min(launches_in(kRoundLength, launch_time), most));
  shape.slope = shape_slope(launch_time, cache);
  // One launch sets the caches; the second only lets a short launch's clock settle after the gate.
  shape.conditioning_launches = options.conditioning_launches;
  if (launch_time >= kRoundLength)
    shape.conditioning_launches = std::min<std::int64_t>(1, shape.conditioning_launches);
  // Where the device is the host, its rest is the device's.
  const bool replays = options.queue == QueueMode::graph && shape.instrument == Instrument::events;
  const bool holds_host = options.queue == QueueMode::eager || replays;
  shape.host_is_timed = !marks_are_cheap && (holds_host || shape.instrument == Instrument::host);
  const double grain_share = calibration.events.grain / std::max(launch_time, Nanoseconds(1));
  // Groups only where a launch costs as little as a mark. On an H200 a plain launch follows its predecessor
  // 0.7 us later than in a recording, and a group holds that once per launch: there, short launches go by
  // slopes.
  if (cache == CacheState::warm && marks_are_cheap && grain_share > options.precision / 3.0) {
    const auto group = static_cast<std::int64_t>(std::ceil(grain_share / (options.precision / 3.0)));
    shape.group = std::min(group, shape.values);
    shape.values = std::max<std::int64_t>(1, shape.values / shape.group);
  }
  if (load == Load::burst && shape.instrument == Instrument::events &&
      options.queue == QueueMode::saturated && !marks_are_cheap) {
    shape.parts = std::clamp<std::int64_t>(shape.values / kLaunchesPerPart, 1, kMostParts);
    // As many as were asked for, or as many as the parts hold evenly.
    if (!options.launches_per_round) shape.values = shape.values / shape.parts * shape.parts;
    while (shape.values % shape.parts != 0) --shape.parts;
  }
  return shape;
}

void group_launches(RoundShape& shape, Nanoseconds launch_time, const MeasureOptions& options,
                    const Calibration& calibration) {
  const std::int64_t in_all = shape.values * shape.group;
  const std::int64_t launches = options.launches_per_round.value_or(
      std::clamp(launches_in(kRoundLength, launch_time), in_all, std::max(in_all, kMostGroupedLaunches)));
  // A mark is known to a microsecond or better on any host; one that was busy while its marks were calibrated
  // says less. Longer groups would add up calls that may differ: of a function of 2 ms that takes 12 each
  // fifth time, groups of three read 2 or 5.4 ms, which no call takes.
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

}  // namespace jitterscope
