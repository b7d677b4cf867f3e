// Whether the level that a sustained load is said to settle at is the one at which it stays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/quantity_text.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample.hpp"
#include "selftest/scenes.hpp"
#include "statistics/binomial.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

constexpr double kLargestBias = 0.003;
constexpr std::size_t kSustainedQuick = 12, kSustainedFull = 300;
constexpr double kLeastShare = 0.95;

// A cap between two steps of the clock: at 700 W this load would spend half of its time at each of two
// clocks, and the median of a run would be the time at either, 0.9 % apart.
Scene with_cap_after(double onset_seconds) {
  physics::Parameters gpu = one_process("h200");
  gpu.thermal.resistance_fast = gpu.thermal.resistance_slow = 0;
  gpu.power.cap = Watts(708);
  gpu.power.cap_onset = seconds(onset_seconds);
  return {fmt::format("cap after {:.2f} s, cooled, conv", onset_seconds), gpu, long_convolution(),
          one_load(Load::sustained)};
}

Scene with_slow_warming(std::string name, double leakage, double time_seconds) {
  physics::Parameters gpu = one_process("h200");
  gpu.power.leakage = leakage;
  gpu.thermal.time_slow = seconds(time_seconds);
  return {std::move(name), gpu, large_product(), one_load(Load::sustained)};
}

std::vector<Scene> settling_scenes() {
  Scene laptop{"laptop: heat lowers the clock, conv", one_process("laptop"), long_convolution(),
               one_load(Load::sustained)};
  Scene copy{"h200, copy: nothing to settle", one_process("h200"), large_copy(), one_load(Load::sustained)};
  return {with_cap_after(0.05),
          with_cap_after(0.4),
          with_cap_after(1.0),
          with_slow_warming("slow warming over 20 s, GEMM", 0.004, 20),
          with_slow_warming("strong warming over 60 s, GEMM", 0.006, 60),
          std::move(laptop),
          std::move(copy)};
}

/// The last quarter of ten minutes without a pause.
Nanoseconds settled_time(const Scene& scene, std::uint64_t seed) {
  Scene soak = scene;
  soak.options.warm_up = false;
  // A coarse timer may give an interval without width long before the cap sets in.
  soak.options.minimum_rounds = std::numeric_limits<std::int64_t>::max();
  soak.options.sustained_time_limit = seconds(600);
  const Measurement measurement = simulate_run(soak, seed).result.measurements.front();
  std::vector<double> times;
  for (std::size_t i = measurement.rounds.size() * 3 / 4; i < measurement.rounds.size(); ++i) {
    times.push_back(measurement.rounds[i].time().value());
  }
  return Nanoseconds(statistics::median(times));
}

ProofLine settling_line(ProofContext& context, const Scene& scene) {
  const std::string proof = "sustained " + scene.name;
  const Nanoseconds truth = settled_time(scene, trial_seed(context.seed(), proof, 1'000'000));
  const Sample sample = run_trials(context, scene, proof, context.quick() ? kSustainedQuick : kSustainedFull);
  Frequency honest;
  std::int64_t unsettled = 0;
  std::vector<double> biases;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    const double bias = measurement.time.median / truth - 1.0;
    honest.add(!has_settled(measurement) || std::abs(bias) < kLargestBias);
    if (has_settled(measurement)) {
      biases.push_back(bias);
    } else {
      ++unsettled;
    }
  }
  const statistics::Interval share = statistics::clopper_pearson(honest.hits, honest.trials);
  const std::string bias = biases.empty()
                               ? "none settled"
                               : fmt::format("median bias {:+.2f} %", 100 * statistics::median(biases));
  return judged_line(
      scene.name, "bias under 0.3 %, or no steady state",
      fmt::format("{:.1f} % of {}", 100.0 * honest.value(), honest.trials),
      {ValueKind::share, honest.value(), share.low, share.high, ProofTarget{kLeastShare, 1.0}},
      verdict_on(honest, kLeastShare),
      fmt::format("settles at {}; {}; {} said no steady state", time_text(truth), bias, unsettled));
}

}  // namespace

std::vector<ProofLine> prove_sustained(ProofContext& context) {
  std::vector<ProofLine> lines;
  for (const Scene& scene : settling_scenes()) lines.push_back(settling_line(context, scene));
  return lines;
}

}  // namespace jitterscope::selftest
