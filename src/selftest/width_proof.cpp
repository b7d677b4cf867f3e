// Time to ±0.5 %: this tool's rule beside those of others, on the same simulated GPUs.
#include "selftest/width_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "selftest/lines.hpp"
#include "selftest/peer_rules.hpp"
#include "selftest/proofs.hpp"
#include "selftest/scenes.hpp"
#include "selftest/shares.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

// Half a step of the clock.
constexpr double kOtherClock = 0.0038;

/// All trials of one way to measure.
struct Score {
  explicit Score(std::string_view who) : name(who) {}

  std::string name;
  std::vector<double> errors, durations;  ///< relative; seconds
  Share held;                             ///< the truth, by its interval
  std::int64_t at_another_clock = 0;      ///< of the runs whose interval does not hold it

  bool add(Nanoseconds time, Nanoseconds low, Nanoseconds high, Nanoseconds duration, Nanoseconds truth) {
    errors.push_back(time / truth - 1.0);
    durations.push_back(to_seconds(duration));
    const bool holds = low <= truth && truth <= high;
    held.add(holds);
    return holds;
  }
  double bias() const { return statistics::median(errors); }
  double duration() const { return statistics::median(durations); }
};

struct Truth {
  TrueBurst warm, dirty;
};

// Read without error, as the peers are: what events add beyond their constant is another proof's subject.
void add_our_trial(Score& score, const Scene& scene, const Truth& truth, std::uint64_t seed) {
  const TracedBurst burst = trace_burst(scene, seed);
  const Nanoseconds error = burst.reading_error();
  const TimeEstimate& time = burst.measurement().time;
  const bool holds = score.add(time.median - error, time.low - error, time.high - error, burst.trial.duration,
                               truth.warm.time);
  if (holds) return;
  const auto& clock = burst.measurement().clock;
  if (clock && std::abs(clock->median / truth.warm.clock - 1.0) > kOtherClock) ++score.at_another_clock;
}

void add_peer_trial(Score& score, const PeerRule& rule, const Scene& scene, const Truth& truth,
                    std::uint64_t seed) {
  PeerBench bench(scene, seed);
  const PeerReport report = rule.measure(bench);
  score.add(report.mean, report.mean - report.half_width, report.mean + report.half_width, report.duration,
            (rule.flushes() ? truth.dirty : truth.warm).time);
}

std::string each(const std::vector<Score>& peers, const std::function<std::string(const Score&)>& text) {
  std::string all;
  for (const Score& peer : peers)
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", peer.name, text(peer));
  return all;
}

// A tenth of the precision asked for is no bias: below it chance decides who has less.
constexpr double kNoBias = 0.0005;

ProofLine bias_line(const Scene& scene, const Score& ours, const std::vector<Score>& peers) {
  const auto text = [](const Score& score) { return change_text(score.bias()); };
  const bool is_least = std::ranges::all_of(peers, [&](const Score& peer) {
    return std::abs(ours.bias()) < std::max(std::abs(peer.bias()), kNoBias);
  });
  return judged_line(
      "bias, " + scene.name, "less than each peer's, or 0.05 %", text(ours),
      {ValueKind::ratio, ours.bias(), {}, {}}, is_least,
      fmt::format("{}; median over {} runs; all read launches without error, against the true time "
                  "of a burst in the cache state that they make",
                  each(peers, text), ours.errors.size()));
}

ProofLine interval_line(const Scene& scene, const Score& ours, const std::vector<Score>& peers) {
  const auto text = [](const Score& score) { return fmt::format("{:.0f} %", score.held.value() * 100); };
  return at_least_line(
      "interval holds the truth, " + scene.name, ours.held, 0.9, true,
      fmt::format("{}, by the interval of a mean of independent values; of the {} runs that "
                  "miss, {} ran in another clock state than most do, and ended before it changed",
                  each(peers, text), ours.held.trials - ours.held.hits, ours.at_another_clock));
}

ProofLine duration_line(const Scene& scene, const Score& ours, const std::vector<Score>& peers) {
  const auto text = [](const Score& score) { return fmt::format("{:.2f} s", score.duration()); };
  const Score& nvbench = peers.front();
  return judged_line("time needed, " + scene.name, "less than nvbench's rule", text(ours),
                     {ValueKind::seconds, ours.duration(), {}, {}}, ours.duration() < nvbench.duration(),
                     fmt::format("{}; simulated, from the opening of the device, this tool's calibration "
                                 "included",
                                 each(peers, text)));
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
  TracedBurst burst{.trial = run_trial(scene, seed,
                                       [&](const physics::Execution& execution) {
                                         times.push_back(execution.time().value());
                                       }),
                    .true_rounds = {}};
  const std::vector<Round>& rounds = burst.measurement().rounds;
  // Each part of a round begins with its conditioning launches; what is left over came before all rounds.
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
  longer.options.precision = 0.99;  // the number of rounds decides
  longer.options.minimum_rounds = rounds;
  longer.options.time_limit = seconds(1e6);
  const TracedBurst burst = trace_burst(longer, seed);
  std::vector<double> medians;
  for (const std::vector<double>& round : burst.true_rounds) medians.push_back(statistics::median(round));
  return {Nanoseconds(statistics::median(medians)), burst.measurement().clock.value().median};
}

std::vector<ProofLine> prove_width(ProofContext& context, const WidthPlan& plan) {
  std::vector<std::unique_ptr<PeerRule>> rules;
  rules.push_back(nvbench_rule());
  rules.push_back(do_bench_rule());
  rules.push_back(fixed_count_rule());
  const std::size_t total = plan.scenes.size() * (plan.trials + 1);
  std::size_t step = 0;
  std::vector<ProofLine> lines;
  for (const Scene& scene : plan.scenes) {
    context.begin_step(step++, total, scene.name + ": the truth");
    const std::uint64_t truth_seed = trial_seed(context.seed(), "width truth", 0);
    const Truth truth{true_burst(scene, CacheState::warm, plan.rounds_of_truth, truth_seed),
                      true_burst(scene, CacheState::dirty, plan.rounds_of_truth, truth_seed)};
    Score ours("jitterscope");
    std::vector<Score> peers;
    for (const auto& rule : rules) peers.emplace_back(rule->name());
    for (std::size_t trial = 0; trial < plan.trials; ++trial) {
      context.begin_step(step++, total, scene.name);
      const std::uint64_t seed = trial_seed(context.seed(), "width " + scene.name, trial);
      add_our_trial(ours, scene, truth, seed);
      for (std::size_t i = 0; i < rules.size(); ++i) add_peer_trial(peers[i], *rules[i], scene, truth, seed);
    }
    lines.push_back(bias_line(scene, ours, peers));
    lines.push_back(interval_line(scene, ours, peers));
    lines.push_back(duration_line(scene, ours, peers));
  }
  return lines;
}

std::vector<ProofLine> prove_width(ProofContext& context) {
  return prove_width(context, width_plan(context.quick()));
}

}  // namespace jitterscope::selftest
