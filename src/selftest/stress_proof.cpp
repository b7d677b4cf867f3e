// How often intervals hold the truth where the method's assumptions are broken, and whether the tool says so.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quantity_text.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample.hpp"
#include "selftest/scenes.hpp"
#include "statistics/binomial.hpp"

namespace jitterscope::selftest {
namespace {

constexpr double kLeastCoverage = 0.90, kLeastNamed = 0.95;
constexpr std::size_t kStressQuick = 100, kStressFull = 2000;

struct Stress {
  Scene scene;
  std::set<std::string> trouble;  ///< findings that name it
};

/// Clock states 2.3 % apart that last this many launches of the convolution.
Stress dwelling(std::string name, double launches, bool outlasts_idle) {
  physics::Parameters gpu = one_process("h200");
  const Nanoseconds dwell = microseconds(130) * launches;
  gpu.clock_states = {.depth = 0.023,
                      .mean_dwell_high = dwell,
                      .mean_dwell_low = dwell,
                      .redraw_idle = outlasts_idle ? Nanoseconds(0) : milliseconds(10)};
  std::set<std::string> trouble = {"bimodal", "drift", "imprecise"};
  // A record shorter than the states it meets cannot show them: the finding is that the clock is not fixed.
  if (outlasts_idle) trouble.insert("clock_below_maximum");
  return {{std::move(name), gpu, long_convolution(), one_load(Load::burst)}, std::move(trouble)};
}

Stress with_noise(std::string name, const physics::Noise& noise, std::set<std::string> trouble) {
  physics::Parameters gpu = one_process("h200").without(physics::Mechanism::clock_states);
  gpu.noise = noise;
  return {{std::move(name), gpu, long_convolution(), one_load(Load::burst)}, std::move(trouble)};
}

Stress with_coarse_timers() {
  physics::Parameters gpu = one_process("h200");
  gpu.instruments.mark_grain = gpu.instruments.stamp_grain = microseconds(1);
  return {{"timers of 1 µs", gpu, long_convolution(), one_load(Load::burst)}, {"timer_grain"}};
}

Stress with_late_cap() {
  physics::Parameters gpu = one_process("h200");
  gpu = gpu.without(physics::Mechanism::clock_states);
  gpu.power.cap_onset = seconds(0.4);
  MeasureOptions options = one_load(Load::burst);
  options.shortest_idle = options.longest_idle = milliseconds(0.5);
  options.minimum_rounds = 100;  // of 6 ms: the cap sets in halfway
  return {{"bursts without rest, cap after 0.4 s", gpu, large_product(), options},
          {"power_cap", "drift", "bimodal", "imprecise"}};
}

std::vector<Stress> stresses() {
  physics::Noise quiet;
  quiet.sd = 0.0015;
  quiet.correlation = 0.3;
  physics::Noise drifting = quiet, spiky = quiet, periodic = quiet;
  drifting.drift = 0.02;
  drifting.drift_time = seconds(1);
  spiky.spike_probability = 0.02;
  spiky.spike_mean = 0.1;
  periodic.period_amplitude = 0.01;
  periodic.period = milliseconds(46);  // an idle of 40 ms and a round of 6
  return {dwelling("clock states of 1 launch", 1, true),
          dwelling("clock states of 10 launches", 10, true),
          dwelling("clock states of 100 launches", 100, false),
          dwelling("clock states of 1000 launches", 1000, false),
          dwelling("clock states of 1000 launches that outlast idles", 1000, true),
          with_noise("drift of 2 % in 1 s", drifting, {"drift", "imprecise"}),
          with_late_cap(),
          with_coarse_timers(),
          with_noise("spikes: 2 % of launches, +10 % on average", spiky, {"imprecise"}),
          with_noise("a disturbance of 1 % with the period of the rounds", periodic, {"drift", "imprecise"})};
}

bool is_named(const SimulatedRun& trial, const std::set<std::string>& trouble) {
  return std::any_of(trial.result.findings.begin(), trial.result.findings.end(),
                     [&](const Finding& finding) { return trouble.contains(finding.id); });
}

ProofLine stress_line(const Sample& sample, const Stress& stress) {
  const Nanoseconds truth = true_time(sample, stress.scene.gpu);
  Frequency held, named;
  for (const SimulatedRun& trial : sample.trials) {
    const bool holds = holds_time(trial.result.measurements.front(), stress.scene.gpu, truth);
    held.add(holds);
    if (!holds) named.add(is_named(trial, stress.trouble));
  }
  ProofLine line = coverage_line(stress.scene.name, held, kLeastCoverage, 1.0, "");
  line.target = "at least 90 %, or 95 % of misses named";
  line.value->target.reset();  // a value below it may meet the other half
  if (named.trials == 0) return line;
  line.note = fmt::format("of {} that miss, {} are named by a finding", named.trials, named.hits);
  const bool are_named = statistics::clopper_pearson(named.hits, named.trials).high >= kLeastNamed;
  if (line.verdict != Verdict::passed && are_named) line.verdict = Verdict::passed;
  return line;
}

}  // namespace

std::vector<ProofLine> prove_stress(ProofContext& context) {
  std::vector<ProofLine> lines;
  for (const Stress& stress : stresses()) {
    const std::size_t count = context.quick() ? kStressQuick : kStressFull;
    lines.push_back(
        stress_line(run_trials(context, stress.scene, "stress " + stress.scene.name, count), stress));
  }
  return lines;
}

}  // namespace jitterscope::selftest
