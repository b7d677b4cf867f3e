#include "measure/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "base/quantity_text.hpp"
#include "measure/run_record.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// 20 blocks of a settled second are 50 ms each: longer than the clock states seen on an H200, and enough for
// a narrow order-statistic interval.
constexpr std::size_t kSustainedBlocks = 20;

// Looking after each round and stopping once the 95 % interval is narrow keeps 95 % coverage only for quiet
// rounds: at a round deviation of 2 % it falls to 91 %. Looking at the 98 % interval and reporting the 95 %
// one keeps 94.6 % or more in all cases simulated (tests/statistics).
constexpr double kStoppingConfidence = 0.98;

// Adds half-widths as independent errors.
Nanoseconds together(Nanoseconds a, Nanoseconds b, Nanoseconds c = Nanoseconds(0)) {
  return Nanoseconds(std::hypot(a.value(), b.value(), c.value()));
}

double process_deviation(const Measurement& measurement) {
  const ProcessVariation& variation = measurement.process_variation;
  return measurement.is_placed_anew ? variation.placed : variation.fixed;
}

// Computes the interval for the next process from the variation of rounds, of processes, and of the constant.
void widen(Measurement& measurement) {
  const TimeEstimate& own = measurement.repeatability;
  Uncertainty& parts = measurement.uncertainty;
  parts.rounds = (own.high - own.low) / 2.0;
  const std::int64_t degrees = measurement.process_variation.degrees_of_freedom;
  const double critical =
      degrees > 0 ? statistics::student_critical(0.95, static_cast<double>(degrees)) : 1.96;
  parts.processes = own.median * (critical * process_deviation(measurement));
  parts.instrument = in_one_launch(measurement.constant.scatter, measurement);
  const Nanoseconds others = together(parts.processes, parts.instrument);
  measurement.time = own;
  // No time is below zero, however little is known of it.
  const auto possible = [](Nanoseconds time) { return std::max(Nanoseconds(0.0), time); };
  measurement.time.median = possible(own.median);
  measurement.time.low = possible(own.median - together(own.median - own.low, others));
  measurement.time.high = possible(own.median + together(own.high - own.median, others));
}

std::vector<double> round_times(std::span<const Round> rounds) {
  std::vector<double> times;
  for (const Round& round : rounds) times.push_back(round.time().value());
  return times;
}

Distribution distribution(std::span<const double> values) {
  if (values.empty()) return {};
  constexpr std::array kProbabilities = {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0};
  const std::vector<double> q = statistics::quantiles(values, kProbabilities);
  Distribution result;
  result.values = static_cast<std::int64_t>(values.size());
  double sum = 0.0;
  for (const double value : values) sum += value;
  result.mean = Nanoseconds(sum / static_cast<double>(values.size()));
  const std::array fields = {&result.minimum, &result.p5,  &result.p25,    &result.median,
                             &result.p75,     &result.p95, &result.maximum};
  for (std::size_t i = 0; i < fields.size(); ++i) *fields[i] = Nanoseconds(q[i]);
  return result;
}

// Leaves out readings of zero or less, which are no times. Slopes read these if something else holds the
// device during the shorter recording.
std::vector<double> times_of_launches(std::span<const Round> rounds) {
  std::vector<double> times;
  for (const Round& round : rounds) {
    for (const Nanoseconds launch : round.launches) {
      if (launch > Nanoseconds(0)) times.push_back(launch.value());
    }
  }
  return times;
}

std::optional<Recurrence> recurrence_of_calls(std::span<const Round> rounds) {
  std::vector<std::int64_t> numbers;
  std::vector<double> times;
  for (const Round& round : rounds) {
    for (std::size_t i = 0; i < round.calls.size(); ++i) {
      if (round.process != rounds.front().process) continue;  // each process counts its own calls
      numbers.push_back(round.first_call + static_cast<std::int64_t>(i));
      times.push_back(round.calls[i].value());
    }
  }
  return find_recurrence(numbers, times);
}

// Rounds with a known clock, as parallel arrays for the fit.
struct ClockedRounds {
  std::vector<double> times, clocks, cycles;
};

ClockedRounds clocked(std::span<const Round> rounds) {
  ClockedRounds result;
  for (const Round& round : rounds) {
    if (!round.clock) continue;
    result.times.push_back(round.time().value());
    result.clocks.push_back(round.clock->value());
    result.cycles.push_back(cycles_in(round.time(), *round.clock).value());
  }
  return result;
}

// A fitted share outside of 0 to 1 shows only how uncertain the fit is, so it is clamped.
std::optional<TimeAtReferenceClock> time_at(Hertz reference, const ClockedRounds& known) {
  constexpr double kNear = 0.01;
  const auto fit = statistics::fit_inverse_clock(known.times, known.clocks, reference.value());
  if (!fit) return std::nullopt;
  const double share = std::clamp(fit->clock_share, 0.0, 1.0);
  const bool any_near = std::ranges::any_of(
      known.clocks, [&](double clock) { return std::abs(clock / reference.value() - 1.0) <= kNear; });
  return TimeAtReferenceClock{
      .reference = reference,
      .time = Nanoseconds(fit->at_reference),
      .low = Nanoseconds(fit->interval.low),
      .high = Nanoseconds(fit->interval.high),
      .fixed_part = Nanoseconds(fit->at_reference * (1.0 - share)),
      .clock_share = share,
      .clock_share_error = std::max(fit->clock_share_error, std::abs(fit->clock_share - share)),
      .extrapolated = !any_near};
}

void summarise_clock(Measurement& measurement, std::span<const Round> rounds) {
  const ClockedRounds known = clocked(rounds);
  if (known.times.empty()) return;
  constexpr std::array kProbabilities = {0.5, 0.05, 0.95};
  const std::vector<double> q = statistics::quantiles(known.clocks, kProbabilities);
  measurement.clock = ClockEstimate{Hertz(q[0]), Hertz(q[1]), Hertz(q[2])};
  measurement.cycles = Cycles(statistics::median(known.cycles));
  measurement.at_reference_clock = time_at(measurement.reference_clock_asked.value_or(Hertz(q[0])), known);
}

}  // namespace

TimeEstimate estimate_of(std::span<const double> times) {
  TimeEstimate time;
  time.rounds = static_cast<std::int64_t>(times.size());
  if (times.empty()) return time;
  time.median = time.low = time.high = Nanoseconds(statistics::median(times));
  const auto interval = statistics::median_interval(times);
  if (!interval) {
    const auto [low, high] = std::minmax_element(times.begin(), times.end());
    time.low = Nanoseconds(*low);
    time.high = Nanoseconds(*high);
    return time;
  }
  time.low = Nanoseconds(interval->low);
  time.high = Nanoseconds(interval->high);
  return time;
}

bool may_stop(std::span<const double> times, double precision) {
  const auto interval = statistics::order_statistic_interval(times, kStoppingConfidence);
  if (!interval) return false;
  return (interval->high - interval->low) / 2 <= precision * statistics::median(times);
}

std::vector<double> block_means(std::span<const Round> rounds,
                                const std::function<double(const Round&)>& quantity) {
  std::vector<double> means;
  for (std::size_t i = 0; i < rounds.size();) {
    std::size_t end = i;
    double sum = 0.0;
    const auto belongs = [&] {
      return end == i || (rounds[i].block >= 0 && rounds[end].block == rounds[i].block);
    };
    for (; end < rounds.size() && belongs(); ++end) sum += quantity(rounds[end]);
    means.push_back(sum / static_cast<double>(end - i));
    i = end;
  }
  return means;
}

std::vector<double> block_times(std::span<const Round> rounds) {
  return block_means(rounds, [](const Round& round) { return round.time().value(); });
}

std::vector<double> paired_log_ratios(std::span<const Round> first, std::span<const Round> second,
                                      const std::function<double(const Round&)>& quantity) {
  struct Block {
    double sums[2] = {0.0, 0.0};
    int counts[2] = {0, 0};
    bool is_known = true;
  };
  std::map<std::int64_t, Block> blocks;
  const auto add = [&](std::span<const Round> rounds, int side) {
    for (const Round& round : rounds) {
      const double value = quantity(round);
      Block& block = blocks[round.block];
      block.is_known = block.is_known && value > 0.0;
      block.sums[side] += value;
      ++block.counts[side];
    }
  };
  add(first, 0);
  add(second, 1);
  std::vector<double> ratios;
  for (const auto& [number, block] : blocks) {
    if (number < 0 || !block.is_known || block.counts[0] == 0 || block.counts[1] == 0) continue;
    ratios.push_back(std::log(block.sums[1] / block.counts[1]) - std::log(block.sums[0] / block.counts[0]));
  }
  return ratios;
}

std::vector<double> paired_log_ratios_of_time(std::span<const Round> first, std::span<const Round> second) {
  return paired_log_ratios(first, second, [](const Round& round) { return round.time().value(); });
}

TimeEstimate estimate_time(std::span<const Round> rounds) { return estimate_of(block_times(rounds)); }

ProcessVariation assumed_process_variation(bool is_gpu, bool is_virtual_machine) {
  if (is_gpu) return {.placed = 0.0008, .fixed = 0.004};
  return is_virtual_machine ? ProcessVariation{.placed = 0.025, .fixed = 0.025}
                            : ProcessVariation{.placed = 0.01, .fixed = 0.01};
}

bool may_stop(const Measurement& measurement, double precision) {
  const std::vector<double> times = block_times(measurement.rounds);
  const auto wide = statistics::order_statistic_interval(times, kStoppingConfidence);
  if (!wide) return false;
  const double median = statistics::median(times);
  const double rounds = (wide->high - wide->low) / 2 / median;
  const double others = process_deviation(measurement) * 1.96;
  return std::hypot(rounds, others) <= precision || (others > precision / 2 && rounds <= precision);
}

bool may_stop_paired(const Measurement& first, const Measurement& second, double precision) {
  const std::vector<double> ratios = paired_log_ratios_of_time(first.rounds, second.rounds);
  const statistics::Interval interval = statistics::mean_interval(ratios, kStoppingConfidence).interval;
  return (interval.high - interval.low) / 2 <= precision;
}

TimeEstimate estimate_time_in_blocks(std::span<const Round> rounds, std::size_t blocks) {
  const std::vector<double> times = round_times(rounds);
  if (times.size() <= blocks) return estimate_of(times);
  std::vector<double> medians;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t begin = block * times.size() / blocks;
    const std::size_t end = (block + 1) * times.size() / blocks;
    medians.push_back(statistics::median(std::span(times).subspan(begin, end - begin)));
  }
  return estimate_of(medians);
}

namespace {

// A boundary between fast calls and slow ones, and what recurs if it is drawn there.
struct SplitCalls {
  statistics::RecurrenceEstimate found;
  double boundary = 0.0;
};

// Rare slow calls make no mode. Any step between modes may be the one that recurs: on a busy host, calls that
// were held up for a while make modes of their own.
std::optional<SplitCalls> best_split(std::span<const std::int64_t> numbers, std::span<const double> values) {
  constexpr double kSlow = 1.25;
  std::vector<double> boundaries{kSlow * statistics::median(values)};
  const std::vector<statistics::ModeEstimate> modes = statistics::find_modes(values);
  for (std::size_t i = 0; i + 1 < modes.size(); ++i) {
    boundaries.push_back(std::sqrt(modes[i].location * modes[i + 1].location));
  }
  std::optional<SplitCalls> best;
  for (const double boundary : boundaries) {
    const auto found = statistics::find_recurrence(numbers, values, boundary);
    if (found && !(best && best->found.share >= found->share)) best = {*found, boundary};
  }
  return best;
}

// Returns each time over the median of the eleven around it. On a core that something else shares, calls take
// 1 or 2 times as long for some milliseconds each, and a slow call of the fast stretch less than a fast one
// of the slow stretch: of ten measurements of a function that did half as much again in every 5th call,
// five had no boundary in the times themselves, and all ten had one in these (AMD EPYC, 2 cores).
std::vector<double> relative_to_neighbours(std::span<const double> times) {
  constexpr std::size_t kNeighbours = 5;
  std::vector<double> relative;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t first = i - std::min(i, kNeighbours),
                      last = std::min(i + kNeighbours + 1, times.size());
    const double level = statistics::median(times.subspan(first, last - first));
    relative.push_back(level > 0.0 ? times[i] / level : 1.0);
  }
  return relative;
}

}  // namespace

std::optional<Recurrence> find_recurrence(std::span<const std::int64_t> numbers,
                                          std::span<const double> times) {
  constexpr double kWorthSaying = 1.1;
  if (times.empty()) return std::nullopt;
  const std::vector<double> relative = relative_to_neighbours(times);
  std::span<const double> values = times;
  std::optional<SplitCalls> split = best_split(numbers, times);
  const std::optional<SplitCalls> of_relative = best_split(numbers, relative);
  if (of_relative && !(split && split->found.share >= of_relative->found.share)) {
    split = of_relative;
    values = relative;
  }
  if (!split) return std::nullopt;
  std::vector<double> fast, slow, fast_times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    (values[i] > split->boundary ? slow : fast).push_back(values[i]);
    if (values[i] <= split->boundary) fast_times.push_back(times[i]);
  }
  // A core that is slow half the time has a fast call's median at either speed, and a slow call's at the
  // other.
  const Nanoseconds fast_time(statistics::median(fast_times));
  const Recurrence recurrence{split->found.period, split->found.slow, fast_time,
                              fast_time * (statistics::median(slow) / statistics::median(fast))};
  if (recurrence.slow_time < recurrence.fast_time * kWorthSaying) return std::nullopt;
  return recurrence;
}

std::string ordinal(std::int64_t number) {
  const std::int64_t last = number % 10, tens = number / 10 % 10;
  const char* ending = tens == 1 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return fmt::format("{}{}", number, ending);
}

std::string recurring_text(std::int64_t slow, std::int64_t period, std::string_view unit) {
  return slow == 1 ? fmt::format("every {} {} takes", ordinal(period), unit)
                   : fmt::format("{} of every {} {}s take", slow, period, unit);
}

std::string recurrence_text(const Recurrence& recurrence) {
  return fmt::format("{} {}, the others {}", recurring_text(recurrence.slow, recurrence.period, "call"),
                     time_text(recurrence.slow_time, 0.001), time_text(recurrence.fast_time, 0.001));
}

Nanoseconds mean_of(const Recurrence& recurrence) {
  const double slow = static_cast<double>(recurrence.slow) / static_cast<double>(recurrence.period);
  return recurrence.slow_time * slow + recurrence.fast_time * (1.0 - slow);
}

Nanoseconds mean_of(std::span<const Mode> modes) {
  Nanoseconds sum;
  double weights = 0.0;
  for (const Mode& mode : modes) {
    sum += mode.location * mode.weight;
    weights += mode.weight;
  }
  return weights > 0.0 ? sum / weights : Nanoseconds(0);
}

std::string modes_text(std::span<const Mode> modes, const std::optional<Recurrence>& recurrence,
                       Nanoseconds mean) {
  constexpr double kPrecision = 0.001, kAnother = 1.02;
  std::string text;
  for (const Mode& mode : modes) {
    text += fmt::format("{}{} near {}", text.empty() ? "" : ", ", percent_text(mode.weight),
                        time_text(mode.location, kPrecision));
  }
  const Nanoseconds of_levels = recurrence ? mean_of(*recurrence) : mean_of(modes);
  text += fmt::format("; {} on average", time_text(of_levels, kPrecision));
  if (mean > of_levels * kAnother)
    text += fmt::format(", {} with the rare slow ones", time_text(mean, kPrecision));
  return text;
}

void summarise(Measurement& measurement, std::size_t first) {
  const std::span<const Round> rounds = std::span<const Round>(measurement.rounds).subspan(first);
  if (rounds.empty()) return;
  // A growing record is summarised repeatedly; what an earlier look knew may be unknown now.
  measurement.modes.clear();
  measurement.at_reference_clock.reset();
  const bool sustained = measurement.conditions.load == Load::sustained;
  measurement.repeatability =
      sustained ? estimate_time_in_blocks(rounds, kSustainedBlocks) : estimate_time(rounds);
  widen(measurement);
  // Distribution and modes use times above zero only. Medians of rounds use all readings: whatever makes one
  // slope too short makes others too long, if it comes during the longer recording, and those look like slow
  // launches. Without the short ones the median would move up; with both it moves little up to half of the
  // slopes. The finding other_process counts such slopes and rounds.
  const std::vector<double> launches = times_of_launches(rounds);
  measurement.launches = distribution(launches);
  for (const statistics::ModeEstimate& mode : statistics::find_modes(launches)) {
    measurement.modes.push_back({Nanoseconds(mode.location), mode.weight});
  }
  if (measurement.modes.size() < 2) measurement.modes.clear();
  measurement.recurrence = recurrence_of_calls(rounds);
  summarise_clock(measurement, rounds);
}

}  // namespace jitterscope
