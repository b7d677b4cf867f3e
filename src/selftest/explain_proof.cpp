// How often a study of causes is right: on GPUs where nothing that it tries moves the time, and on GPUs where
// something does.
#include "selftest/explain_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "device/virtual/virtual_device.hpp"
#include "physics/preset.hpp"
#include "selftest/frequency.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample.hpp"
#include "selftest/scenes.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

using explain::Explanation;
using explain::FactorResult;
using explain::FactorVerdict;
using physics::Mechanism;

constexpr double kWhole = 0.01;  // that shares may be off together

physics::Parameters without(physics::Parameters gpu, std::initializer_list<Mechanism> mechanisms) {
  for (const Mechanism mechanism : mechanisms) gpu = gpu.without(mechanism);
  return gpu;
}

// What the factors switch, off: they do nothing then to a launch that is long against the host's time.
physics::Parameters without_causes(const std::string& preset) {
  return without(physics::find_preset(preset),
                 {Mechanism::instrument, Mechanism::host_gaps, Mechanism::cache, Mechanism::dirty_lines,
                  Mechanism::idle_ramp, Mechanism::power_cap, Mechanism::peak_power, Mechanism::thermal});
}

// Times that wander: nothing that is switched moves them so.
physics::Parameters wandering(physics::Parameters gpu) {
  gpu.noise.sd = 0.01;
  gpu.noise.correlation = 0.9;
  gpu.noise.spike_probability = 0.01;
  gpu.noise.spike_mean = 0.1;
  gpu.noise.drift = 0.02;
  gpu.noise.drift_time = seconds(20);
  gpu.noise.period_amplitude = 0.01;
  gpu.noise.period = milliseconds(60);  // about that of the rounds
  gpu.clock_states = {
      .depth = 0.02, .mean_dwell_high = milliseconds(500), .mean_dwell_low = milliseconds(300)};
  return gpu;
}

// Where the mean of a few readings is off by percents.
physics::Parameters with_coarse_timer() {
  physics::Parameters gpu = without_causes("h200");
  gpu.instruments.mark_grain = gpu.instruments.stamp_grain = microseconds(1);
  return gpu;
}

// It does not say why its clock is low.
physics::Parameters without_throttle_counters() {
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.sensors.throttle_counters = false;
  return gpu;
}

// The same causes, and nothing that differs by chance: what an effect truly is.
physics::Parameters without_chance(const physics::Parameters& gpu) {
  return without(gpu,
                 {Mechanism::clock_states, Mechanism::placement, Mechanism::contention, Mechanism::noise,
                  Mechanism::spikes, Mechanism::drift, Mechanism::process_effect, Mechanism::timer_grain});
}

// The limit acts on an average over 0.1 s, and half a second late: what a round leaves behind reaches others.
physics::Parameters with_late_cap() {
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.power.averaging_time = milliseconds(100);
  gpu.power.cap_onset = milliseconds(500);
  return gpu;
}

std::vector<Explanation> studies_of(ProofContext& context, const StudiedScene& scene, std::size_t asked,
                                    const ExplainPlan& plan) {
  const std::size_t count = std::min(asked, scene.most_studies);
  std::vector<Explanation> studies;
  for (std::size_t i = 0; i < count; ++i) {
    context.begin_step(i, count, scene.name);
    const std::uint64_t seed = trial_seed(context.seed(), scene.name, i);
    const auto device = virtual_gpu::make_virtual_device(scene.gpu, seed);
    Session session(*device);
    explain::ExplainOptions options{.factors = scene.factors, .time_limit = plan.time_limit, .seed = seed};
    studies.push_back(explain::explain(session, scene.operation, options));
  }
  return studies;
}

ProofLine false_causes_line(ProofContext& context, const StudiedScene& scene, const ExplainPlan& plan) {
  Frequency wrong;
  for (const Explanation& study : studies_of(context, scene, plan.studies, plan)) {
    wrong.add(std::ranges::any_of(
        study.factors, [](const FactorResult& factor) { return factor.verdict == FactorVerdict::cause; }));
  }
  return at_most_line(
      "studies that name a false cause, " + scene.name, wrong, 0.05,
      fmt::format("{} factors, {:.0f} s each", scene.factors.size(), to_seconds(plan.time_limit)));
}

// By factor and dose, logarithms of the ratio and its interval.
struct SeenEffect {
  double value, low, high;
};
using DoseOfFactor = std::pair<std::string, std::string>;
using SeenEffects = std::map<DoseOfFactor, std::vector<SeenEffect>>;
using TrueEffects = std::map<DoseOfFactor, double>;

SeenEffects effects_of(const std::vector<Explanation>& studies) {
  SeenEffects seen;
  for (const Explanation& study : studies) {
    for (const FactorResult& factor : study.factors) {
      for (const explain::DoseEffect& dose : factor.doses) {
        seen[{factor.id, dose.dose}].push_back(
            {std::log(dose.time.ratio), std::log(dose.time.low), std::log(dose.time.high)});
      }
    }
  }
  return seen;
}

TrueEffects true_effects(ProofContext& context, StudiedScene scene, const ExplainPlan& plan) {
  scene.gpu = without_chance(scene.gpu);
  TrueEffects effects;
  for (const auto& [name, seen] : effects_of(studies_of(context, scene, plan.true_studies, plan))) {
    std::vector<double> values;
    for (const SeenEffect& effect : seen) values.push_back(effect.value);
    effects[name] = statistics::mean_interval(values).mean;
  }
  return effects;
}

// Of each factor its largest true effect, the largest factor first.
std::vector<std::pair<std::string, double>> true_causes(const TrueEffects& effects) {
  std::map<std::string, double> largest;
  for (const auto& [name, effect] : effects)
    largest[name.first] = std::max(largest[name.first], std::abs(effect));
  std::vector<std::pair<std::string, double>> sorted(largest.begin(), largest.end());
  std::ranges::sort(sorted, std::greater(), &std::pair<std::string, double>::second);
  return sorted;
}

std::vector<ProofLine> causes_lines(ProofContext& context, const StudiedScene& scene, const ExplainPlan& plan,
                                    Frequency& whole) {
  const std::vector<Explanation> studies = studies_of(context, scene, plan.studies, plan);
  const TrueEffects truth = true_effects(context, scene, plan);
  Frequency held, named;
  for (const auto& [name, effects] : effects_of(studies)) {
    const auto known = truth.find(name);
    if (known == truth.end()) continue;
    for (const SeenEffect& effect : effects)
      held.add(effect.low <= known->second && known->second <= effect.high);
  }
  for (const Explanation& study : studies) {
    double sum = 0.0;
    for (const explain::VariationShare& share : study.observation.shares) sum += share.share;
    whole.add(std::abs(sum - 1.0) <= kWhole);
  }
  std::vector<ProofLine> lines = {
      coverage_line("interval of an effect, " + scene.name, held, 0.93, 0.97,
                    fmt::format("holds what the same GPU without noise shows, {} doses", truth.size()))};
  const auto causes = true_causes(truth);
  constexpr double kClear = 1.5;
  if (causes.size() > 1 && causes[0].second > kClear * causes[1].second) {
    for (const Explanation& study : studies) {
      named.add(study.factors.front().id == causes[0].first &&
                study.factors.front().verdict == FactorVerdict::cause);
    }
    lines.push_back(
        at_least_line("largest cause named first, " + scene.name, named, 0.90, true,
                      fmt::format("{}, {:+.1f} %", causes[0].first, std::expm1(causes[0].second) * 100.0)));
  }
  return lines;
}

// Of the studies that find the cause: those that say that it is power or heat, and they cannot tell which.
ProofLine group_line(ProofContext& context, const StudiedScene& scene, const ExplainPlan& plan) {
  Frequency named;
  for (const Explanation& study : studies_of(context, scene, plan.studies, plan)) {
    for (const FactorResult& factor : study.factors) {
      if (factor.verdict == FactorVerdict::cause)
        named.add(factor.not_told_from == std::vector<std::string>{"power", "temperature"});
    }
  }
  if (named.trials == 0)
    return skipped_line("named as a group, " + scene.name, "≥ 95 %", "no cause was found");
  return at_least_line("named as a group, " + scene.name, named, 0.95, true, "power and temperature");
}

}  // namespace

ExplainPlan explain_plan(bool quick) {
  const std::vector<std::string> all = {"load",  "idle",       "cache", "traffic",
                                        "queue", "host_delay", "data",  "instrument"};
  const Operation addition(Elementwise{.kind = ElementwiseKind::add, .count = 4 << 20});
  return {
      .without_cause = {{"steady", without_causes("h200"), long_convolution(), all},
                        {"wandering", wandering(without_causes("h200")), long_convolution(), all},
                        {"a coarse timer",
                         with_coarse_timer(),
                         Operation(Elementwise{.kind = ElementwiseKind::relu, .count = 8 << 20}),
                         {"launches", "idle", "data"},
                         120}},
      .with_causes = {{"a clock that sleeps",
                       physics::find_preset("laptop"),
                       long_convolution(),
                       {"idle", "data", "queue"}},
                      {"evicted operands", physics::find_preset("h200"), addition, {"cache", "idle", "data"}},
                      {"evicted operands, wandering",
                       wandering(physics::find_preset("h200")),
                       addition,
                       {"cache", "idle", "data"}},
                      {"power", physics::find_preset("h200"), large_product(), {"data", "idle", "queue"}},
                      {"causes that act on each other",
                       physics::find_preset("h200"),
                       large_product(),
                       {"load", "data", "launches"}},
                      {"a late power cap", with_late_cap(), large_product(), {"load", "data", "idle"}}},
      .with_group = {"no counters of held clocks", without_throttle_counters(), large_product(), {"load"}},
      .studies = quick ? std::size_t{20} : std::size_t{400},
      .true_studies = quick ? std::size_t{5} : std::size_t{40},
      .time_limit = seconds(30)};
}

std::vector<ProofLine> prove_explain(ProofContext& context, const ExplainPlan& plan) {
  std::vector<ProofLine> lines;
  for (const StudiedScene& scene : plan.without_cause) {
    lines.push_back(false_causes_line(context, scene, plan));
  }
  Frequency whole;
  for (const StudiedScene& scene : plan.with_causes) {
    for (ProofLine& line : causes_lines(context, scene, plan, whole)) lines.push_back(std::move(line));
  }
  lines.push_back(group_line(context, plan.with_group, plan));
  lines.push_back(judged_line("shares add up to what was observed",
                              fmt::format("within {:.0f} %, in all", kWhole * 100.0), frequency_text(whole),
                              {ValueKind::share, whole.value(), {}, {}}, whole.hits == whole.trials,
                              "rest included"));
  return lines;
}

std::vector<ProofLine> prove_explain(ProofContext& context) {
  return prove_explain(context, explain_plan(context.quick()));
}

}  // namespace jitterscope::selftest
