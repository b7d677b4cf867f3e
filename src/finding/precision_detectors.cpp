#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "measure/estimate.hpp"
#include "measure/run_record.hpp"
#include "statistics/statistics.hpp"

// Detects intervals that are wider than requested, or too narrow; modes; coarse timers; uncertain
// instruments.

namespace jitterscope {
namespace {

/// Parts of a round time's variation, as relative standard deviations.
struct Components {
  double between = 0.0;               ///< between round medians
  std::optional<double> cycles = {};  ///< between values of round time × clock
  double within = 0.0;                ///< contribution of the scatter of launches to a round median
  double grain = 0.0;                 ///< timer step over time, if launches are timed one by one
};

Components components_of(const Measurement& measurement) {
  const std::span<const Round> rounds = settled_rounds(measurement);
  const std::vector<double> times = round_times(rounds);
  Components components{.between = relative_spread(times)};
  const std::optional<std::vector<double>> clocks = round_clocks(rounds);
  if (clocks && clocks->size() == times.size()) {
    std::vector<double> cycles;
    for (std::size_t i = 0; i < times.size(); ++i) cycles.push_back(times[i] * (*clocks)[i]);
    components.cycles = relative_spread(cycles);
  }
  std::vector<double> within;
  for (const Round& round : rounds) {
    std::vector<double> launches;
    for (const Nanoseconds launch : round.launches) launches.push_back(launch.value());
    if (launches.size() < 2) continue;
    // The median of n normal values scatters 1.2533 times as much as their mean.
    within.push_back(1.2533 * relative_spread(launches) / std::sqrt(static_cast<double>(launches.size())));
  }
  if (!within.empty()) components.within = statistics::median(within);
  if (!rounds.empty() && rounds.front().launches_per_value == 1) {
    components.grain = measurement.constant.grain / measurement.time.median;
  }
  return components;
}

struct Cause {
  std::string name, clause, remedy;
};

Cause from_components(const Measurement& measurement, const Components& parts, std::string_view clock) {
  if (parts.cycles && *parts.cycles < 0.5 * parts.between) {
    return {
        "clock",
        fmt::format("the {} differs between rounds (times scatter by {}, cycles by {})", clock,
                    percent_text(parts.between), percent_text(*parts.cycles)),
        "Compare cycles or times at one clock (--reference-clock), or lock the clock with --lock-clocks."};
  }
  if (measurement.modes.size() > 1) {
    return {"modes", fmt::format("the times have {} modes", measurement.modes.size()),
            "Quote the modes with their weights; more rounds do not merge them."};
  }
  if (parts.grain > measurement.precision_asked && parts.grain > parts.between) {
    return {"grain", fmt::format("one step of the timer is {} of the time", percent_text(parts.grain)),
            "Time launches in groups (--instrument graph)."};
  }
  if (parts.within > 0.7 * parts.between) {
    return {
        "within_rounds",
        fmt::format("launches within a round scatter by {}",
                    percent_text(parts.within / 1.2533 *
                                 std::sqrt(static_cast<double>(measurement.rounds.front().launches.size())))),
        "Put more launches into a round, or allow more rounds with a longer --time-limit."};
  }
  return {"between_rounds",
          fmt::format("whole rounds differ by {}{}, more than their launches do", percent_text(parts.between),
                      parts.cycles ? fmt::format(", which the {} does not explain", clock) : ""),
          "Look for other work on the machine, then allow more rounds with a longer --time-limit."};
}

Cause dominant_cause(const Measurement& measurement, std::string_view clock) {
  if (!std::isfinite(measurement.time.precision())) {
    return {"few_rounds",
            fmt::format("only {} fitted into the time limit, but an interval needs 6",
                        counted(std::ssize(settled_rounds(measurement)), "round")),
            "Use a longer --time-limit."};
  }
  if (measurement.uncertainty.processes > measurement.uncertainty.rounds) {
    const bool assumed = measurement.process_variation.degrees_of_freedom == 0;
    return {"processes",
            fmt::format("rounds are known to ±{}, and another process is {} to differ by ±{}",
                        percent_text(measurement.repeatability.precision()), assumed ? "assumed" : "known",
                        percent_text(measurement.uncertainty.processes / measurement.time.median)),
            "Start it several times, and take the spread between the medians as the interval."};
  }
  if (const std::optional<double> change = drift_of(measurement)) {
    return {"drift", fmt::format("the level drifted over the record: {}", change_text(*change)),
            "Measure until the time is stable: use a longer --time-limit after a warm-up."};
  }
  return from_components(measurement, components_of(measurement), clock);
}

// Extrapolates the time: an interval shrinks with the square root of the number of rounds.
std::string needed_time(const Measurement& measurement) {
  if (measurement.uncertainty.processes > measurement.uncertainty.rounds)
    return "";  // more time would not help
  const double ratio = measurement.time.precision() / measurement.precision_asked;
  if (!std::isfinite(ratio) || measurement.duration <= Nanoseconds(0)) return "";
  const Nanoseconds needed = measurement.duration * (ratio * ratio);
  constexpr Nanoseconds kDay = seconds(86'400);
  return fmt::format(" As it scatters now, {} would take {}.", percent_text(measurement.precision_asked),
                     needed > kDay ? "longer than a day" : "about " + time_text(needed, 0.05));
}

// Returns the precision reached, distinguished from the requested one if both round to the same text.
std::string reached_text(const Measurement& measurement) {
  const TimeEstimate& time = measurement.time;
  if (!reads_as_plus_minus(time)) {
    return fmt::format("the interval is {}", time_range_text(time.low, time.high, time.precision()));
  }
  const std::string text = "±" + percent_text(time.precision());
  const bool looks_reached = text == "±" + percent_text(measurement.precision_asked);
  return (looks_reached ? "just over " : "") + text + " was reached";
}

// If the default was missed, the text does not say that it was asked for.
std::string wanted_text(const Measurement& measurement, bool was_asked) {
  const std::string precision = percent_text(measurement.precision_asked);
  return was_asked ? fmt::format(" where ±{} was asked for", precision)
                   : fmt::format(", not the default of ±{}", precision);
}

Finding too_wide(const Measurement& measurement, const FindingContext& context) {
  const Cause cause = dominant_cause(measurement, clock_word(context.on_gpu));
  const std::string wanted = wanted_text(measurement, context.precision_was_asked);
  const double reached = measurement.time.precision();
  Finding finding;
  finding.id = kImpreciseFinding;
  finding.headline = std::isfinite(reached) ? fmt::format("{}{}", reached_text(measurement), wanted)
                                            : "too few rounds for an interval";
  finding.sentence = std::isfinite(reached)
                         ? fmt::format("{}{} ({}): {}.", capitalised(reached_text(measurement)), wanted,
                                       conditions_text(measurement.conditions), cause.clause)
                         : fmt::format("No interval could be given ({}): {}.",
                                       conditions_text(measurement.conditions), cause.clause);
  // Put into the sentence, not the remedy: equal remedies of several operations are shown as one.
  const bool time_helps = cause.name != "drift" && cause.name != "modes";
  if (time_helps) finding.sentence += needed_time(measurement);
  if (cause.name == "clock") finding.sentence += reference_clock_text(measurement);
  finding.remedy = cause.remedy;
  const Components parts = components_of(measurement);
  finding.evidence = {{"dominated_by", cause.name},
                      evidence_ratio("precision_asked", measurement.precision_asked),
                      evidence_ratio("between_rounds", parts.between),
                      evidence_ratio("within_rounds", parts.within)};
  if (std::isfinite(reached)) finding.evidence.push_back(evidence_ratio("precision_reached", reached));
  if (parts.cycles) finding.evidence.push_back(evidence_ratio("cycles_between_rounds", *parts.cycles));
  if (parts.grain > 0) finding.evidence.push_back(evidence_ratio("grain", parts.grain));
  return finding;
}

// Checks whether rounds depend on the previous one. With a first-order memory of r they count for fewer, by
// (1 - r)/(1 + r). By chance r has a standard deviation of about 1/√n, so three of those are required.
std::optional<Finding> too_narrow(const Measurement& measurement) {
  constexpr double kStrong = 0.5;
  const std::vector<double> times = round_times(settled_rounds(measurement));
  const double memory = statistics::autocorrelation(times);
  const double chance = 3.0 / std::sqrt(static_cast<double>(std::max<std::size_t>(times.size(), 1)));
  if (memory < std::max(kStrong, chance) || drift_of(measurement)) return std::nullopt;
  const double honest =
      measurement.repeatability.precision() * std::sqrt((1.0 + memory) / (1.0 - std::min(memory, 0.99)));
  constexpr double kWorthSaying = 1.2;  // below it, the two read alike
  const double said = std::max(measurement.precision_asked, measurement.time.precision());
  if (honest <= said * kWorthSaying) return std::nullopt;
  Finding finding;
  finding.id = kImpreciseFinding;
  finding.headline =
      fmt::format("rounds are not independent: the interval should be about ±{}", percent_text(honest));
  finding.sentence = fmt::format(
      "Rounds are not independent (autocorrelation {:.2f}; {}), so the interval of ±{} is too narrow: it "
      "should be about ±{}.",
      memory, conditions_text(measurement.conditions), percent_text(measurement.time.precision()),
      percent_text(honest));
  finding.remedy =
      "Measure for longer and in several processes, and take the spread between them as the interval.";
  finding.evidence = {{"dominated_by", "autocorrelation"},
                      evidence_ratio("autocorrelation", memory),
                      evidence_ratio("precision_reached", measurement.time.precision()),
                      evidence_ratio("precision_honest", honest),
                      evidence_ratio("precision_asked", measurement.precision_asked)};
  return finding;
}

}  // namespace

std::vector<Finding> find_imprecise(const Result& result, const FindingContext& context) {
  std::vector<Candidate> wide, narrow;
  for (const Measurement& measurement : result.measurements) {
    // Without a steady state there is no single level to be precise about; that is a finding of its own.
    if (measurement.rounds.empty() || !has_settled(measurement)) continue;
    const double reached = measurement.time.precision();
    if (measurement.stop_reason == StopReason::time_limit && reached > measurement.precision_asked) {
      const Finding finding = too_wide(measurement, context);
      wide.push_back({reached, measurement.conditions, finding});
    } else if (const std::optional<Finding> finding = too_narrow(measurement)) {
      narrow.push_back({reached, measurement.conditions, *finding});
    }
  }
  std::vector<Finding> findings = strongest(std::move(wide));
  for (Finding& finding : strongest(std::move(narrow))) findings.push_back(std::move(finding));
  return findings;
}

// Detects slow calls that recur, and modes, and whether the clock explains them.

namespace {

struct Split {
  std::vector<double> fast, slow;  ///< clocks of the rounds nearest to the fastest and to the slowest mode
};

const Mode& nearest_mode(const Measurement& measurement, const Round& round) {
  const double time = round.time().value();
  return *std::ranges::min_element(measurement.modes, std::ranges::less(), [time](const Mode& mode) {
    return std::abs(mode.location.value() - time);
  });
}

// Returns the rounds whose nearest mode is not the main one; none if modes alternate within each round.
std::vector<std::size_t> rounds_off_the_main_mode(const Measurement& measurement) {
  const Mode& main = *std::ranges::max_element(measurement.modes, std::ranges::less(), &Mode::weight);
  std::vector<std::size_t> rounds;
  for (std::size_t i = 0; i < measurement.rounds.size(); ++i) {
    const Round& round = measurement.rounds[i];
    if (!round.launches.empty() && &nearest_mode(measurement, round) != &main) rounds.push_back(i);
  }
  return rounds;
}

std::optional<Split> clocks_by_mode(const Measurement& measurement, const Mode& fastest,
                                    const Mode& slowest) {
  constexpr std::size_t kFewest = 2;
  Split split;
  for (const Round& round : measurement.rounds) {
    if (!round.clock || round.launches.empty()) continue;
    const Mode& nearest = nearest_mode(measurement, round);
    if (nearest.location == fastest.location) split.fast.push_back(round.clock->value());
    if (nearest.location == slowest.location) split.slow.push_back(round.clock->value());
  }
  if (split.fast.size() < kFewest || split.slow.size() < kFewest) return std::nullopt;
  return split;
}

// True if one process has several rounds at each: then nothing that is fixed for a process decides.
bool are_in_one_process(const Measurement& measurement, const Mode& fastest, const Mode& slowest) {
  constexpr int kFewest = 2;
  struct Rounds {
    int fast = 0, slow = 0;
  };
  std::map<std::int64_t, Rounds> of_processes;
  for (const Round& round : measurement.rounds) {
    if (round.launches.empty()) continue;
    const Mode& nearest = nearest_mode(measurement, round);
    Rounds& rounds = of_processes[round.process];
    if (nearest.location == fastest.location) ++rounds.fast;
    if (nearest.location == slowest.location) ++rounds.slow;
  }
  return std::ranges::any_of(of_processes, [](const auto& each) {
    return each.second.fast >= kFewest && each.second.slow >= kFewest;
  });
}

std::string remedy_of_modes(bool in_one_process, bool on_gpu) {
  if (!in_one_process) {
    return "Repeat in fresh processes: the memory's place, the algorithm chosen or another process may "
           "decide which mode appears; quote the modes with their weights.";
  }
  return fmt::format(
      "Look for what comes and goes while it runs: {}. One process has both modes, so neither its memory's place "
      "nor the algorithm decides. Quote the modes with their weights.",
      on_gpu ? "other work on the GPU, or calls that differ"
             : "other programs or guests on these cores, or calls that differ");
}

// The clock explains the modes if nine in ten pairs are in order and its step is at least half of the time's
// step.
bool clock_explains(const Split& split, double time_step) {
  std::size_t in_order = 0;
  for (const double fast : split.fast) {
    in_order += static_cast<std::size_t>(
        std::ranges::count_if(split.slow, [fast](double slow) { return slow < fast; }));
  }
  const double pairs = static_cast<double>(split.fast.size() * split.slow.size());
  const double clock_step = statistics::median(split.fast) / statistics::median(split.slow) - 1.0;
  return static_cast<double>(in_order) >= 0.9 * pairs && clock_step >= 0.5 * time_step;
}

void explain(Finding& finding, const Measurement& measurement, const std::optional<Split>& split,
             double time_step, std::string_view clock, const std::string& remedy) {
  if (!split) {
    finding.sentence += " They alternate within rounds, where the clock is not known.";
    finding.remedy =
        "Look at the single launches (--json holds them); quote the modes with their weights, not one "
        "number.";
    return;
  }
  const Hertz fast(statistics::median(split->fast)), slow(statistics::median(split->slow));
  finding.evidence.push_back(evidence("fast_clock", fast));
  finding.evidence.push_back(evidence("slow_clock", slow));
  const bool explained = clock_explains(*split, time_step);
  finding.evidence.push_back({"clock_explains", explained});
  if (explained) {
    finding.sentence +=
        fmt::format(" The {} explains it: {} and {}.", clock, clock_text(fast), clock_text(slow)) +
        reference_clock_text(measurement);
    finding.remedy = "Compare times at one clock (--reference-clock), or lock the clock with --lock-clocks.";
  } else {
    finding.sentence +=
        fmt::format(" The {} does not explain it: {} and {}.", clock, clock_text(fast), clock_text(slow));
    finding.remedy = remedy;
  }
}

}  // namespace

std::vector<Finding> find_recurring(const Result& result, const FindingContext& /*context*/) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (!measurement.recurrence) continue;
    const Recurrence& recurrence = *measurement.recurrence;
    const Nanoseconds mean = mean_of(recurrence);
    const double effect = mean / measurement.time.median - 1.0;
    Finding finding;
    finding.id = "recurring";
    const std::string text = recurrence_text(recurrence);
    finding.headline = fmt::format("{}: {} on average", text, time_text(mean, 0.001));
    finding.sentence = fmt::format("Calls recur ({}): {}, so that a call takes {} on average.",
                                   conditions_text(measurement.conditions), text, time_text(mean, 0.001));
    finding.remedy =
        "Quote the mean for many calls and the median for a usual one, and look for something that the "
        "work does after so many calls: a flush, a log entry, a full buffer.";
    finding.evidence = {{"period", recurrence.period},
                        {"slow_calls", recurrence.slow},
                        evidence("fast", recurrence.fast_time),
                        evidence("slow", recurrence.slow_time),
                        evidence("mean", mean)};
    finding.effect = effect;
    candidates.push_back({std::abs(effect), measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Detects slow launches that come now and then: a median and its interval do not show them.

namespace {

struct Tail {
  std::size_t launches = 0, slow = 0;
  Nanoseconds slow_median{}, slow_mean{}, mean{}, mean_of_others{};
  std::vector<std::size_t> rounds{};  ///< those with a slow launch
};

// The first one behind an idle may be slow for another reason.
std::span<const Nanoseconds> later_launches(const Round& round) {
  const std::span<const Nanoseconds> all = round.calls.empty() ? round.launches : round.calls;
  return all.size() > 1 ? all.subspan(1) : all;
}

// Slow are launches that lie three times the middle half's width above it, and take at least a fifth longer
// than the median. By chance a few do on any machine, so that they must be five in four rounds and change the
// mean by 2 %; of more than three in ten the middle half is no measure of the others. Where the times have
// levels, slow is what takes a fifth longer than the slowest of them, too.
std::optional<Tail> tail_of(const Measurement& measurement) {
  constexpr double kWidths = 3.0, kSlower = 1.2, kMostOften = 0.3, kMaterialMean = 1.02;
  constexpr std::size_t kFewestLaunches = 5, kFewestRounds = 4;
  const std::span<const Round> rounds = settled_rounds(measurement);
  std::vector<double> all;
  for (const Round& round : rounds) {
    for (const Nanoseconds launch : later_launches(round)) all.push_back(launch.value());
  }
  if (all.size() < kFewestLaunches) return std::nullopt;
  constexpr std::array kQuartiles = {0.25, 0.5, 0.75};
  const std::vector<double> quartiles = statistics::quantiles(all, kQuartiles);
  if (quartiles[1] <= 0.0) return std::nullopt;
  double limit = std::max(quartiles[2] + kWidths * (quartiles[2] - quartiles[0]), kSlower * quartiles[1]);
  for (const Mode& level : measurement.modes) limit = std::max(limit, kSlower * level.location.value());
  const auto is_slow = [limit](double time) { return time > limit; };
  Tail tail{.launches = all.size()};
  const std::size_t skipped = measurement.rounds.size() - rounds.size();
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (std::ranges::any_of(later_launches(rounds[i]), is_slow, &Nanoseconds::value))
      tail.rounds.push_back(skipped + i);
  }
  const auto slow = std::partition(all.begin(), all.end(), is_slow);
  const std::span<const double> slow_ones(all.begin(), slow), others(slow, all.end());
  tail.slow = slow_ones.size();
  if (tail.slow < kFewestLaunches || tail.rounds.size() < kFewestRounds ||
      static_cast<double>(tail.slow) > kMostOften * static_cast<double>(all.size()))
    return std::nullopt;
  tail.slow_median = Nanoseconds(statistics::median(slow_ones));
  tail.slow_mean = Nanoseconds(statistics::mean_interval(slow_ones).mean);
  tail.mean = Nanoseconds(statistics::mean_interval(all).mean);
  tail.mean_of_others = Nanoseconds(statistics::mean_interval(others).mean);
  return tail.mean > tail.mean_of_others * kMaterialMean ? std::optional(tail) : std::nullopt;
}

// Returns "1.39 ms", or "1.39 ms in the median and 3.05 ms on average" of slow launches that differ much:
// shares and times are to add up to the mean.
std::string slow_words(const Tail& tail) {
  constexpr double kUnlike = 1.1;
  const bool are_alike =
      tail.slow_mean < tail.slow_median * kUnlike && tail.slow_median < tail.slow_mean * kUnlike;
  if (are_alike) return time_text(tail.slow_median, 0.01);
  return fmt::format("{} in the median and {} on average", time_text(tail.slow_median, 0.01),
                     time_text(tail.slow_mean, 0.01));
}

}  // namespace

std::vector<Finding> find_tail(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.recurrence) continue;  // a finding of its own
    const std::optional<Tail> tail = tail_of(measurement);
    if (!tail) continue;
    const double share = static_cast<double>(tail->slow) / static_cast<double>(tail->launches);
    Finding finding;
    finding.id = "tail";
    const std::string text = fmt::format("{} of launches take {}, the others {}", percent_text(share),
                                         slow_words(*tail), time_text(tail->mean_of_others, 0.01));
    finding.headline = fmt::format("{}: {} on average", text, time_text(tail->mean, 0.01));
    finding.sentence = fmt::format(
        "Some launches are slow ({}): {} ({} of {}, in {} rounds), so that a launch takes {} on average.",
        conditions_text(measurement.conditions), text, tail->slow, tail->launches, tail->rounds.size(),
        time_text(tail->mean, 0.01));
    finding.remedy = fmt::format(
        "Quote the mean or a high percentile beside the median, and look for what happens now and then: {}.",
        context.on_gpu
            ? "other work on the GPU, a host that comes too late, a kernel that reads other data"
            : "collecting garbage, memory from the system, a lock, another program or guest on this core");
    finding.evidence = {evidence_ratio("share", share), evidence("slow", tail->slow_median),
                        evidence("slow_mean", tail->slow_mean), evidence("others", tail->mean_of_others),
                        evidence("mean", tail->mean)};
    const double effect = tail->mean / tail->mean_of_others - 1.0;
    finding.effect = effect;
    finding.places = places_of(tail->rounds, measurement, result);
    candidates.push_back({effect, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

std::vector<Finding> find_bimodal(const Result& result, const FindingContext& context) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.modes.size() < 2 || measurement.recurrence) continue;
    const auto [fastest, slowest] =
        std::ranges::minmax_element(measurement.modes, std::ranges::less(), &Mode::location);
    if (fastest->location <= Nanoseconds(0)) continue;  // no time; older records have such modes
    const double step = slowest->location / fastest->location - 1.0;
    Finding finding;
    finding.id = "bimodal";
    finding.headline =
        fmt::format("the times have {} modes, {} apart", measurement.modes.size(), percent_text(step));
    finding.sentence = fmt::format("The times have {} modes, {} apart ({}): {}.", measurement.modes.size(),
                                   percent_text(step), conditions_text(measurement.conditions),
                                   modes_text(measurement.modes, std::nullopt, measurement.launches.mean));
    for (std::size_t i = 0; i < measurement.modes.size(); ++i) {
      finding.evidence.push_back(evidence(fmt::format("mode_{}", i + 1), measurement.modes[i].location));
      finding.evidence.push_back(
          evidence_ratio(fmt::format("mode_{}_weight", i + 1), measurement.modes[i].weight));
    }
    explain(finding, measurement, clocks_by_mode(measurement, *fastest, *slowest), step,
            clock_word(context.on_gpu),
            remedy_of_modes(are_in_one_process(measurement, *fastest, *slowest), context.on_gpu));
    finding.places = places_of(rounds_off_the_main_mode(measurement), measurement, result);
    candidates.push_back({step, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Detects a timer whose smallest step is large relative to the time, so that values are few multiples of it.

namespace {

bool is_timed_one_by_one(const Measurement& measurement) {
  return !measurement.rounds.empty() && measurement.rounds.front().launches_per_value == 1;
}

}  // namespace

std::vector<Finding> find_timer_grain(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (!is_timed_one_by_one(measurement) || measurement.time.median <= Nanoseconds(0)) continue;
    const double share = measurement.constant.grain / measurement.time.median;
    if (!(share > measurement.precision_asked / 3.0)) continue;
    Finding finding;
    finding.id = "timer_grain";
    finding.headline = fmt::format("the timer steps by {}, {} of the time",
                                   time_text(measurement.constant.grain), percent_text(share));
    finding.sentence = fmt::format(
        "The timer steps by {}, {} of the {} measured ({}): too coarse for a precision of {}.",
        time_text(measurement.constant.grain), percent_text(share), time_text(measurement.time.median),
        conditions_text(measurement.conditions), percent_text(measurement.precision_asked));
    // A recording cannot hold fresh data, so --instrument graph is no remedy.
    finding.remedy =
        measurement.conditions.fresh_data
            ? "Ignore differences below one step."
            : "Time launches in groups (--instrument graph), or ignore differences below one step.";
    finding.evidence = {evidence("grain", measurement.constant.grain),
                        evidence("time", measurement.time.median), evidence_ratio("grain_share", share)};
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Detects an instrument whose uncertainty is large relative to the time: a narrow interval then shows how
// well the time repeats, not how near it is to the truth.

std::vector<Finding> find_instrument(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.time.median <= Nanoseconds(0)) continue;
    const Nanoseconds uncertainty = instrument_error(measurement);
    const double share = uncertainty / measurement.time.median;
    if (!(share > measurement.precision_asked)) continue;
    Finding finding;
    finding.id = "instrument";
    finding.headline = fmt::format("the instrument is known to ±{}, {} of the time",
                                   time_text(uncertainty, 0.05), percent_text(share));
    finding.sentence = fmt::format(
        "The instrument ({}) is known to ±{}, {} of the {} measured ({}). The 95 % interval is about how "
        "well the time repeats, not about how near it is to the truth.",
        to_string(measurement.instrument), time_text(uncertainty, 0.05), percent_text(share),
        time_text(measurement.time.median), conditions_text(measurement.conditions));
    finding.remedy =
        "Compare times this short only if the same instrument read them; 'jitterscope methods' shows "
        "what others read.";
    finding.evidence = {evidence("uncertainty", uncertainty), evidence("time", measurement.time.median),
                        evidence_ratio("uncertainty_share", share)};
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
