// Several modes in place of one level: slow calls that recur, or modes, and whether the clock tells them
// apart.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "finding/places.hpp"
#include "measure/estimate.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
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

// Those nearest to another mode than most launches have; none where the modes alternate within each round.
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

// The clock explains the modes where nine pairs in ten are in order and its step is half of the time's or
// more.
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

std::string modes_text(const std::vector<Mode>& modes) {
  std::string text;
  for (const Mode& mode : modes) {
    text += fmt::format("{}{} near {}", text.empty() ? "" : ", ", percent_text(mode.weight),
                        time_text(mode.location, 0.001));
  }
  return text;
}

void explain(Finding& finding, const Measurement& measurement, const std::optional<Split>& split,
             double time_step, std::string_view clock) {
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
    finding.remedy =
        "Compare by the times at one clock (--reference-clock), or hold the clock with --lock-clocks.";
  } else {
    finding.sentence +=
        fmt::format(" The {} does not explain it: {} and {}.", clock, clock_text(fast), clock_text(slow));
    finding.remedy =
        "Repeat in fresh processes: where memory lands, the algorithm chosen or another process decide which "
        "mode one gets; quote the modes with their weights.";
  }
}

}  // namespace

std::vector<Finding> find_recurring(const Result& result, const FindingContext& /*context*/) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (!measurement.recurrence) continue;
    const Recurrence& recurrence = *measurement.recurrence;
    const Nanoseconds mean = measurement.launches.mean;
    const double effect = mean / measurement.time.median - 1.0;
    Finding finding;
    finding.id = "recurring";
    const std::string text = recurrence_text(recurrence);
    finding.headline = fmt::format("{}: {} on average", text, time_text(mean, 0.001));
    finding.sentence = fmt::format("Calls recur ({}): {}, so that a call takes {} on average.",
                                   conditions_text(measurement.conditions), text, time_text(mean, 0.001));
    finding.remedy =
        "Quote the mean for many calls and the median for a usual one, and look for what the work does each "
        "time that number of calls is reached: a flush, a log, a buffer that is full.";
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
    finding.sentence =
        fmt::format("The times have {} modes, {} apart ({}): {}; {} on average.", measurement.modes.size(),
                    percent_text(step), conditions_text(measurement.conditions),
                    modes_text(measurement.modes), time_text(measurement.launches.mean, 0.001));
    for (std::size_t i = 0; i < measurement.modes.size(); ++i) {
      finding.evidence.push_back(evidence(fmt::format("mode_{}", i + 1), measurement.modes[i].location));
      finding.evidence.push_back(
          evidence_ratio(fmt::format("mode_{}_weight", i + 1), measurement.modes[i].weight));
    }
    explain(finding, measurement, clocks_by_mode(measurement, *fastest, *slowest), step,
            clock_word(context.on_gpu));
    finding.places = places_of(rounds_off_the_main_mode(measurement), measurement, result);
    candidates.push_back({step, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

}  // namespace jitterscope
