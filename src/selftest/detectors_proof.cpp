// Detectors of causes: how often each sees its cause where it costs 1 %, and how often where there is none.
#include "selftest/detectors_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "selftest/frequency.hpp"
#include "selftest/proofs.hpp"

namespace jitterscope::selftest {
namespace {

constexpr double kSensitivity = 0.9, kFalseAlarms = 0.01;
// What counts as an effect of 1 %: within half a step of the clock (15 of 1980 MHz), as no GPU can come
// nearer.
constexpr double kLeastEffect = 0.0062, kMostEffect = 0.0138;

bool has_finding(const SimulatedRun& trial, const std::string& id) {
  const auto is_it = [&](const Finding& finding) { return finding.id == id; };
  return std::ranges::any_of(trial.result.findings, is_it) ||
         std::ranges::any_of(trial.machine_findings, is_it);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_time(const Scene& scene, std::uint64_t seed) {
  std::vector<double> times;
  simulate_run(scene, seed,
               [&](const physics::Execution& execution) { times.push_back(execution.time().value()); });
  return mean_of(times);
}

/// Goes through all trials, for progress.
class Trials {
 public:
  Trials(ProofContext& context, std::size_t total) : context_(context), total_(total) {}
  std::uint64_t begin(const std::string& proof, const std::string& scene) {
    context_.begin_step(number_++, total_, proof + ": " + scene);
    return trial_seed(context_.seed(), proof + scene, number_);
  }

 private:
  ProofContext& context_;
  std::size_t total_, number_ = 0;
};

ProofLine sensitivity_line(const DetectorScene& scene, const Frequency& seen,
                           const std::vector<double>& effects) {
  if (!scene.is_measured_effect) {
    return at_least_line("seen, " + scene.id, seen, kSensitivity, true, scene.cause);
  }
  const double effect = effects.empty() ? 0.0 : mean_of(effects);
  const bool is_small = std::abs(effect) >= kLeastEffect && std::abs(effect) <= kMostEffect;
  std::string note = fmt::format("{}; true effect on the time {}", scene.cause, change_text(effect));
  if (!is_small) note += ", which is not the 1 % that the line claims";
  return at_least_line("seen, " + scene.id, seen, kSensitivity, is_small, note);
}

ProofLine prove_sensitivity(Trials& trials, const DetectorScene& scene, const DetectorPlan& plan) {
  Frequency seen;
  std::vector<double> effects;
  for (std::size_t i = 0; i < plan.trials; ++i) {
    const std::uint64_t seed = trials.begin("seen", scene.id);
    seen.add(has_finding(simulate_run(scene.with, seed), scene.id));
    if (scene.is_measured_effect && i < plan.effects) effects.push_back(true_effect(scene, seed));
  }
  return sensitivity_line(scene, seen, effects);
}

std::vector<ProofLine> prove_silence(Trials& trials, const DetectorPlan& plan) {
  std::vector<Frequency> alarms(plan.scenes.size());
  std::vector<std::string> names;
  for (const Scene& scene : plan.quiet) names.push_back(scene.name);
  for (std::size_t i = 0; i < plan.trials; ++i) {
    const Scene& scene = plan.quiet[i % plan.quiet.size()];
    const SimulatedRun trial = simulate_run(scene, trials.begin("false alarms", scene.name));
    for (std::size_t k = 0; k < alarms.size(); ++k) alarms[k].add(has_finding(trial, plan.scenes[k].id));
  }
  std::vector<ProofLine> lines;
  for (std::size_t k = 0; k < alarms.size(); ++k) {
    lines.push_back(at_most_line("false alarms, " + plan.scenes[k].id, alarms[k], kFalseAlarms,
                                 "of runs on a quiet GPU: " + joined(names)));
  }
  return lines;
}

}  // namespace

double true_effect(const DetectorScene& scene, std::uint64_t seed) {
  return mean_time(scene.with, seed) / mean_time(scene.without, seed) - 1.0;
}

DetectorPlan detector_plan(bool quick) {
  return {.scenes = detector_scenes(),
          .quiet = quiet_scenes(),
          .trials = quick ? std::size_t{100} : std::size_t{1000},
          .effects = quick ? std::size_t{20} : std::size_t{100}};
}

std::vector<ProofLine> prove_detectors(ProofContext& context, const DetectorPlan& plan) {
  Trials trials(context, (plan.scenes.size() + 1) * plan.trials);
  std::vector<ProofLine> lines;
  for (const DetectorScene& scene : plan.scenes) lines.push_back(prove_sensitivity(trials, scene, plan));
  for (ProofLine& line : prove_silence(trials, plan)) lines.push_back(std::move(line));
  return lines;
}

std::vector<ProofLine> prove_detectors(ProofContext& context) {
  return prove_detectors(context, detector_plan(context.quick()));
}

}  // namespace jitterscope::selftest
