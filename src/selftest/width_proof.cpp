// Proves, on simulated GPUs, the time needed to ±0.5 %, the interval's coverage and the median's bias.
#include "selftest/width_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "selftest/proof.hpp"
#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

// Half a step of the clock.
constexpr double kOtherClock = 0.0038;
// A tenth of the requested precision.
constexpr double kLargestWidthBias = 0.0005;
constexpr double kLongestSeconds = 1.0;

/// Results of all trials of a scene.
struct Score {
  std::vector<double> errors, durations;  ///< relative; in seconds
  Frequency held;                         ///< trials whose interval holds the true time
  std::int64_t at_another_clock = 0;      ///< number of trials that miss it and ran at another clock
};

// Removes the reading error: another proof checks how events deviate from their constant.
void add_trial(Score& score, const Scene& scene, const TrueBurst& truth, std::uint64_t seed) {
  const TracedBurst burst = trace_burst(scene, seed);
  const Nanoseconds error = burst.reading_error();
  const TimeEstimate& time = burst.measurement().repeatability;
  score.errors.push_back((time.median - error) / truth.time - 1.0);
  score.durations.push_back(to_seconds(burst.trial.duration));
  const bool holds = time.low - error <= truth.time && truth.time <= time.high - error;
  score.held.add(holds);
  const auto& clock = burst.measurement().clock;
  const bool other = clock && std::abs(clock->median / truth.clock - 1.0) > kOtherClock;
  if (!holds && other) ++score.at_another_clock;
}

ProofLine bias_line(const Scene& scene, const Score& score) {
  const double bias = statistics::median(score.errors);
  return judged_line("bias, " + scene.name, "at most 0.05 %", change_text(bias),
                     {ValueKind::ratio, bias, {}, {}, around(0.0, kLargestWidthBias)},
                     std::abs(bias) <= kLargestWidthBias,
                     fmt::format("median over {} runs, of times read without error, against the true time of "
                                 "such a burst",
                                 score.errors.size()));
}

ProofLine interval_line(const Scene& scene, const Score& score) {
  return at_least_line(
      "interval holds the truth, " + scene.name, score.held, 0.9, true,
      fmt::format("of the {} runs that miss, {} ran in another clock state than most do, and "
                  "ended before it changed",
                  score.held.trials - score.held.hits, score.at_another_clock));
}

ProofLine duration_line(const Scene& scene, const Score& score) {
  const double duration = statistics::median(score.durations);
  return judged_line("time needed, " + scene.name, "less than 1 s", fmt::format("{:.2f} s", duration),
                     {ValueKind::seconds, duration, {}, {}, ProofTarget{0.0, kLongestSeconds}},
                     duration < kLongestSeconds,
                     "simulated, from the opening of the device, calibration included");
}

}  // namespace

WidthPlan width_plan(bool quick) {
  const physics::Parameters h200 = one_process("h200");
  physics::Parameters noisy = h200;
  noisy.clock_states.mean_dwell_high = milliseconds(6);  // 50 launches
  noisy.clock_states.mean_dwell_low = milliseconds(4);
  noisy.noise.sd = 0.005;
  return {.scenes = {{"convolution", h200, long_convolution(), one_load(Load::burst)},
                     {"product under the cap", h200, large_product(), one_load(Load::burst)},
                     {"clock states and noise", noisy, long_convolution(), one_load(Load::burst)}},
          .trials = quick ? std::size_t{25} : std::size_t{400}};
}

TracedBurst trace_burst(const Scene& scene, std::uint64_t seed) {
  std::vector<double> times;
  TracedBurst burst{.trial = simulate_run(scene, seed,
                                          [&](const physics::Execution& execution) {
                                            times.push_back(execution.time().value());
                                          }),
                    .true_rounds = {}};
  const std::vector<Round>& rounds = burst.measurement().rounds;
  // Each part of a round begins with its conditioning launches. Launches before the first round are skipped.
  const std::size_t in_round = times.size() / rounds.size(), timed = rounds.front().launches.size();
  const auto conditioning = static_cast<std::size_t>(scene.options.conditioning_launches);
  const std::size_t in_part = in_round / ((in_round - timed) / conditioning);
  for (std::size_t begin = times.size() - in_round * rounds.size(); begin < times.size(); begin += in_round) {
    std::vector<double>& round = burst.true_rounds.emplace_back();
    for (std::size_t i = 0; i < in_round; ++i) {
      if (i % in_part >= conditioning) round.push_back(times[begin + i]);
    }
  }
  return burst;
}

Nanoseconds TracedBurst::reading_error() const {
  std::vector<double> errors;
  for (std::size_t round = 0; round < true_rounds.size(); ++round) {
    errors.push_back(measurement().rounds[round].time().value() - statistics::median(true_rounds[round]));
  }
  return Nanoseconds(statistics::median(errors));
}

TrueBurst true_burst(const Scene& scene, CacheState cache, std::int64_t rounds, std::uint64_t seed) {
  Scene longer = scene;
  longer.options.caches = {cache};
  longer.options.precision = 0.99;  // the number of rounds decides when to stop
  longer.options.minimum_rounds = rounds;
  longer.options.time_limit = seconds(1e6);
  const TracedBurst burst = trace_burst(longer, seed);
  std::vector<double> medians;
  for (const std::vector<double>& round : burst.true_rounds) medians.push_back(statistics::median(round));
  return {Nanoseconds(statistics::median(medians)), burst.measurement().clock.value().median};
}

std::vector<ProofLine> prove_width(ProofContext& context, const WidthPlan& plan) {
  const std::size_t total = plan.scenes.size() * (plan.trials + 1);
  std::size_t step = 0;
  std::vector<ProofLine> lines;
  for (const Scene& scene : plan.scenes) {
    context.begin_step(step++, total, scene.name + ": the truth");
    const TrueBurst truth = true_burst(scene, CacheState::warm, plan.rounds_of_truth,
                                       trial_seed(context.seed(), "width truth", 0));
    Score score;
    for (std::size_t trial = 0; trial < plan.trials; ++trial) {
      context.begin_step(step++, total, scene.name);
      add_trial(score, scene, truth, trial_seed(context.seed(), "width " + scene.name, trial));
    }
    lines.push_back(bias_line(scene, score));
    lines.push_back(interval_line(scene, score));
    lines.push_back(duration_line(scene, score));
  }
  return lines;
}

std::vector<ProofLine> prove_width(ProofContext& context) {
  return prove_width(context, width_plan(context.quick()));
}

}  // namespace jitterscope::selftest
