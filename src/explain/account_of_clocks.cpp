#include "explain/account_of_clocks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/comparison.hpp"
#include "explain/account_arithmetic.hpp"
#include "finding/evidence.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

constexpr double kSameClock = 0.001, kNearMaximum = 0.01;

bool are_near(double a, double b) { return std::abs(a / b - 1.0) < kSameClock; }

// The first clock over the second, times the second's cycles over the first's for the same work. A GPU whose
// maximum clock is another may do the same at its maximum, and so more or less in a cycle; any other GPU of
// one model takes the same cycles.
struct ClockRatio {
  double least = 1.0, most = 1.0;

  double floor() const { return std::min(1.0, least); }
  double ceiling() const { return std::max(1.0, most); }
};

ClockRatio clock_ratio_of(const ClockedSides& sides) {
  const double clocks = sides.first.clock->median / sides.second.clock->median;
  if (!sides.first_maximum || !sides.second_maximum || *sides.first_maximum == *sides.second_maximum)
    return {clocks, clocks};
  const double cycles = *sides.second_maximum / *sides.first_maximum;
  // Each at its maximum, they differ by what their medians do from maximum clocks, which makes nothing
  // faster.
  const double in_cycles = clocks * cycles,
               at_maximum = std::abs(in_cycles - 1.0) < kNearMaximum ? 1.0 : in_cycles;
  return {std::min(clocks, at_maximum), std::max(clocks, at_maximum)};
}

// The second time over the first, as one side's fit foretells it.
struct Foretold {
  double low, high;
};

std::optional<Foretold> forward_of(const ClockedSides& sides, const ClockRatio& clocks) {
  const auto least = foretold(sides.first, clocks.least), most = foretold(sides.first, clocks.most);
  if (!least || !most) return std::nullopt;
  return Foretold{extrapolated(*least).low, extrapolated(*most).high};
}

std::optional<Foretold> backward_of(const ClockedSides& sides, const ClockRatio& clocks) {
  const auto least = foretold(sides.second, 1.0 / clocks.least),
             most = foretold(sides.second, 1.0 / clocks.most);
  if (!least || !most) return std::nullopt;
  return Foretold{1.0 / extrapolated(*least).high, 1.0 / extrapolated(*most).low};
}

// A fit is the tangent to a curve: the time over 1/f is a sum and a maximum of parts that follow the clock or
// do not, which bends upwards only. So the first side's tangent is the least that the clock does, and the
// second's the most; without one, nothing and all that a clock can do.
RatioEstimate between(const std::optional<Foretold>& forward, const std::optional<Foretold>& backward,
                      const ClockRatio& clocks) {
  double low = forward ? forward->low : clocks.floor(), high = backward ? backward->high : clocks.ceiling();
  if (forward && backward) {
    low = std::min(low, backward->low);
    high = std::max(high, forward->high);
  }
  low = std::clamp(low, clocks.floor(), clocks.ceiling());
  high = std::clamp(high, low, clocks.ceiling());
  return {std::sqrt(low * high), low, high};
}

std::optional<AccountedPart> clock_part(const ClockedSides& sides) {
  if (!sides.first.clock || !sides.second.clock) return std::nullopt;
  const ClockRatio clocks = clock_ratio_of(sides);
  if (are_near(clocks.least, 1.0) && are_near(clocks.most, 1.0)) return std::nullopt;
  AccountedPart part{.name = kClock,
                     .first = clock_text(sides.first.clock->median),
                     .second = clock_text(sides.second.clock->median)};
  const std::optional<Foretold> forward = forward_of(sides, clocks), backward = backward_of(sides, clocks);
  part.ratio = between(forward, backward, clocks);
  part.is_bound = !forward || !backward || is_wide(*part.ratio);
  if (forward && backward) {
    part.source =
        "how the time follows the clock, by a fit over the rounds of each record: between what the two "
        "foretell at the other's clock";
  } else if (forward || backward) {
    part.source = fmt::format(
        "how the time follows the clock, by a fit over the rounds of the {} record; how at the other's clock "
        "is not known",
        forward ? "first" : "second");
  } else {
    part.source = "how the time follows the clock is not known: between not at all and wholly";
  }
  if (clocks.least != clocks.most)
    part.source += ". Where maximum clocks differ, so may what is done in a cycle";
  return part;
}

// Returns the median over the rounds that have the reading.
template <class Quantity>
std::optional<Quantity> median_reading(const Measurement& measurement,
                                       std::optional<Quantity> SensorReading::*reading) {
  std::vector<double> values;
  for (const Round& round : measurement.rounds) {
    if (round.sensors && (*round.sensors).*reading) values.push_back(((*round.sensors).*reading)->value());
  }
  if (values.empty()) return std::nullopt;
  return Quantity(statistics::median(values));
}

std::optional<AccountedPart> memory_clock_part(const ClockedSides& sides) {
  const auto a = median_reading(sides.first, &SensorReading::memory_clock),
             b = median_reading(sides.second, &SensorReading::memory_clock);
  if (!a || !b || !(*a > Hertz(0)) || !(*b > Hertz(0)) || are_near(*a / *b, 1.0)) return std::nullopt;
  AccountedPart part{.name = "memory clock", .first = clock_text(*a), .second = clock_text(*b)};
  const ClockRatio clocks{*a / *b, *a / *b};
  part.ratio = between(std::nullopt, std::nullopt, clocks);
  part.is_bound = true;
  part.source = "how the time follows the memory's clock is not known: between not at all and wholly";
  return part;
}

std::optional<AccountedPart> power_part(const ClockedSides& sides) {
  const auto a = median_reading(sides.first, &SensorReading::power),
             b = median_reading(sides.second, &SensorReading::power);
  constexpr double kSame = 0.05;
  if (!a || !b || !(*a > Watts(0)) || std::abs(*b / *a - 1.0) < kSame) return std::nullopt;
  return AccountedPart{.name = "power", .first = power_text(*a), .second = power_text(*b)};
}

std::optional<AccountedPart> temperature_part(const ClockedSides& sides) {
  const auto a = median_reading(sides.first, &SensorReading::temperature),
             b = median_reading(sides.second, &SensorReading::temperature);
  constexpr double kSame = 3.0;  // a chip warms by as much within a run
  if (!a || !b || std::abs(b->value() - a->value()) < kSame) return std::nullopt;
  return AccountedPart{.name = "temperature",
                       .first = fmt::format("{:.0f} °C", a->value()),
                       .second = fmt::format("{:.0f} °C", b->value())};
}

// True unless the sensors of both show that the cause did not hold the clock down.
bool may_have_held(const ClockedSides& sides, ThrottleCause cause) {
  const auto may_have = [&](const Measurement& side) {
    const Throttling seen = throttling(side.rounds, cause);
    return !seen.readable || !seen.affected.empty();
  };
  return may_have(sides.first) || may_have(sides.second);
}

}  // namespace

std::vector<AccountedPart> parts_of_clocks(const ClockedSides& sides) {
  std::vector<AccountedPart> parts;
  const std::optional<AccountedPart> clock = clock_part(sides);
  if (clock) parts.push_back(*clock);
  if (const auto memory = memory_clock_part(sides)) parts.push_back(*memory);
  // At a clock that did not change, power and heat did nothing; nor where they are read not to have held it.
  const bool is_clock_known = sides.first.clock && sides.second.clock;
  if (is_clock_known && !clock) return parts;
  const bool by_power = may_have_held(sides, ThrottleCause::power),
             by_heat = may_have_held(sides, ThrottleCause::heat);
  for (std::optional<AccountedPart> part : {by_power ? power_part(sides) : std::nullopt,
                                            by_power || by_heat ? temperature_part(sides) : std::nullopt}) {
    if (!part) continue;
    part->source = clock ? kByTheClock : "acts by the clock, which the records do not have";
    parts.push_back(std::move(*part));
  }
  return parts;
}

bool acts_by_clock(const RecordDifference& difference, const ClockedSides& sides) {
  return sides.first.clock && sides.second.clock &&
         (difference.name == kMaximumClockDifference || difference.name == kPowerLimitDifference);
}

}  // namespace jitterscope::explain
