#include "selftest/comparison_and_explain_proofs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "experiment/comparison.hpp"
#include "experiment/processes.hpp"
#include "measure/trials.hpp"
#include "physics/preset.hpp"
#include "selftest/proof.hpp"
#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"
#include "statistics/statistics.hpp"

// Proves how often several fresh processes judge a difference and a time correctly.

namespace jitterscope::selftest {
namespace {

// Gives every difference that is shown a verdict: "same" is for one smaller than the margin.
constexpr double kNoMargin = 1e-9;

MeasureOptions as_compared(std::uint64_t seed) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.precision = 0.0025;
  options.time_limit = seconds(1.5);
  options.seed = seed;
  return options;
}

// Returns the record of one fresh process that measures the operations as a group.
RunRecord process_of(const physics::Parameters& gpu, const std::vector<Operation>& operations,
                     std::uint64_t seed) {
  const auto device = virtual_gpu::make_virtual_device(gpu, seed);
  Session session(*device);
  std::vector<Trial> group;
  for (const Operation& operation : operations) group.push_back({operation, as_compared(seed)});
  RunRecord record;
  for (Outcome& outcome : measure_trials(session, {group}, false)) {
    RunEntry& entry = record.entries.emplace_back();
    entry.result = std::move(outcome.result);
    if (outcome.error) entry.result.failure = outcome.error->what();
  }
  return record;
}

class Processes {
 public:
  Processes(ProofContext& context, std::int64_t count, std::string_view name)
      : seed_(trial_seed(context.seed(), name, 0)), count_(count) {}

  std::vector<RunRecord> next(const physics::Parameters& gpu, const std::vector<Operation>& operations) {
    std::vector<RunRecord> records;
    for (std::int64_t i = 0; i < count_; ++i) {
      records.push_back(process_of(gpu, operations, trial_seed(seed_, "process", number_++)));
    }
    return records;
  }

 private:
  std::uint64_t seed_;
  std::int64_t count_;
  std::uint64_t number_ = 0;
};

// Returns nullopt if the operation cannot run on the GPU.
std::optional<Comparison> compare(const std::vector<RunRecord>& processes) {
  ComparisonRecord record;
  record.margin = kNoMargin;
  compare_processes({{RunEntry()}, 2}, processes, record);
  if (record.comparisons.empty() || !record.comparisons.front().failure.empty()) return std::nullopt;
  return record.comparisons.front();
}

bool is_shown(const Comparison& comparison) {
  return comparison.verdict == statistics::EffectVerdict::slower ||
         comparison.verdict == statistics::EffectVerdict::faster;
}

ProofLine same_line(ProofContext& context, const ComparisonPlan& plan, const std::string& preset) {
  Processes processes(context, plan.processes, preset);
  Random random(trial_seed(context.seed(), preset, 1));
  const physics::Parameters gpu = physics::find_preset(preset);
  const std::string name = "shown to differ from itself, " + preset;
  Frequency different;
  while (different.trials < static_cast<std::int64_t>(plan.comparisons)) {
    context.begin_step(static_cast<std::size_t>(different.trials), plan.comparisons, name);
    const Operation operation = random_operation(random);
    const auto comparison = compare(processes.next(gpu, {operation, operation}));
    if (comparison) different.add(is_shown(*comparison));
  }
  return at_most_line(
      name, different, 0.05,
      fmt::format("random operations, each compared with itself by {} processes; shown: the 95 % "
                  "interval of the ratio excludes 1",
                  plan.processes));
}

std::vector<ProofLine> slower_lines(ProofContext& context, const ComparisonPlan& plan) {
  Processes processes(context, plan.processes, "slower");
  Frequency shown, held;
  std::vector<RatioEstimate> ratios;
  std::vector<double> values;
  const std::string name = "slower: " + change_text(plan.ratio - 1.0);
  for (std::size_t i = 0; i < plan.slower_comparisons; ++i) {
    context.begin_step(i, plan.slower_comparisons, name);
    const auto comparison = compare(processes.next(plan.gpu, {plan.usual, plan.slower}));
    shown.add(comparison && comparison->verdict == statistics::EffectVerdict::slower);
    if (!comparison) continue;
    ratios.push_back(comparison->time);
    values.push_back(comparison->time.ratio);
  }
  // Each launch has the same fixed start and end in both, so the true ratio is a little closer to 1.
  const double truth = statistics::mean_interval(values).mean;
  for (const RatioEstimate& ratio : ratios) held.add(ratio.low <= truth && truth <= ratio.high);
  return {at_least_line("shown to be slower, " + name, shown, 0.95, true,
                        fmt::format("{} after {}, {} processes", plan.slower.text(), plan.usual.text(),
                                    plan.processes)),
          coverage_line("interval of the ratio, " + name, held, 0.93, 0.97,
                        fmt::format("holds the mean of all ratios, {:.5f}", truth))};
}

ProofLine interval_line(ProofContext& context, const ComparisonPlan& plan, double effect) {
  physics::Parameters gpu = plan.gpu;
  gpu.noise.process_sd = effect;
  const std::string name =
      fmt::format("interval over {} processes, process effect of {:g} %", plan.processes, effect * 100.0);
  Processes processes(context, plan.processes, name);
  std::vector<TimeEstimate> times;
  std::vector<double> medians;
  for (std::size_t i = 0; i < plan.intervals; ++i) {
    context.begin_step(i, plan.intervals, name);
    const RunRecord record = combine_processes(processes.next(gpu, {plan.usual}));
    const Measurement& measurement = record.entries.front().result.measurements.front();
    times.push_back(measurement.time);
    for (const ProcessTime& process : measurement.processes) medians.push_back(process.median.value());
  }
  const Nanoseconds truth(statistics::mean_interval(medians).mean);
  Frequency held;
  for (const TimeEstimate& time : times) held.add(time.low <= truth && truth <= time.high);
  return coverage_line(name, held, 0.94, 0.96, "holds the mean over the processes of all runs");
}

}  // namespace

ComparisonPlan comparison_plan(bool quick) {
  return {.presets = {"h200", "a100"},
          .gpu = physics::find_preset("h200"),
          .usual = Operation(Spin{.amount = 10'000}),
          .slower = Operation(Spin{.amount = 10'050}),
          .ratio = 1.005,
          .process_effects = {0.0, 0.002, 0.01},
          .comparisons = quick ? std::size_t{40} : std::size_t{2000},
          .slower_comparisons = quick ? std::size_t{40} : std::size_t{1000},
          .intervals = quick ? std::size_t{60} : std::size_t{2000}};
}

std::vector<ProofLine> prove_comparison(ProofContext& context, const ComparisonPlan& plan) {
  std::vector<ProofLine> lines;
  for (const std::string& preset : plan.presets) lines.push_back(same_line(context, plan, preset));
  for (ProofLine& line : slower_lines(context, plan)) lines.push_back(std::move(line));
  for (const double effect : plan.process_effects) lines.push_back(interval_line(context, plan, effect));
  return lines;
}

std::vector<ProofLine> prove_comparison(ProofContext& context) {
  return prove_comparison(context, comparison_plan(context.quick()));
}

// Proves how often a study of causes is right, on GPUs with and without a cause among its factors.

namespace {

using explain::Explanation;
using explain::FactorResult;
using explain::FactorVerdict;
using physics::Mechanism;

constexpr double kWhole = 0.01;  // allowed deviation of the sum of shares from 1

physics::Parameters without(physics::Parameters gpu, std::initializer_list<Mechanism> mechanisms) {
  for (const Mechanism mechanism : mechanisms) gpu = gpu.without(mechanism);
  return gpu;
}

// Switches off all that the factors act on: they then do not change a launch that is long.
physics::Parameters without_causes(const std::string& preset) {
  return without(physics::find_preset(preset),
                 {Mechanism::instrument, Mechanism::host_gaps, Mechanism::cache, Mechanism::dirty_lines,
                  Mechanism::idle_ramp, Mechanism::power_cap, Mechanism::peak_power, Mechanism::thermal});
}

// Makes times wander in ways that no factor changes.
physics::Parameters wandering(physics::Parameters gpu) {
  gpu.noise.sd = 0.01;
  gpu.noise.correlation = 0.9;
  gpu.noise.spike_probability = 0.01;
  gpu.noise.spike_mean = 0.1;
  gpu.noise.drift = 0.02;
  gpu.noise.drift_time = seconds(20);
  gpu.noise.period_amplitude = 0.01;
  gpu.noise.period = milliseconds(60);  // about the period of the rounds
  gpu.clock_states = {
      .depth = 0.02, .mean_dwell_high = milliseconds(500), .mean_dwell_low = milliseconds(300)};
  return gpu;
}

// Makes the timer so coarse that the mean of a few readings is off by percents.
physics::Parameters with_coarse_timer() {
  physics::Parameters gpu = without_causes("h200");
  gpu.instruments.mark_grain = gpu.instruments.stamp_grain = microseconds(1);
  return gpu;
}

// A GPU that does not report why its clock is low.
physics::Parameters without_throttle_counters() {
  physics::Parameters gpu = physics::find_preset("h200");
  gpu.sensors.throttle_counters = false;
  return gpu;
}

// Keeps the causes and removes all random effects, which leaves the true effect.
physics::Parameters without_chance(const physics::Parameters& gpu) {
  return without(gpu,
                 {Mechanism::clock_states, Mechanism::placement, Mechanism::contention, Mechanism::noise,
                  Mechanism::spikes, Mechanism::drift, Mechanism::process_effect, Mechanism::timer_grain});
}

// The power limit acts on an average over 0.1 s and 0.5 s late, so that a round affects later ones.
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

// Logarithms of the ratio and its interval, by factor and dose.
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

// Returns each factor's largest true effect, the largest first.
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
                      fmt::format("{}, {}", causes[0].first, change_text(std::expm1(causes[0].second)))));
  }
  return lines;
}

// Counts, among the studies that find the cause, those that name power and temperature as a group.
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
                      {"a late power cap", with_late_cap(), large_product(), {"load", "data", "idle"}},
                      // Only the doses that decide, the longest in every second block. A load is left out:
                      // what it does grows with the chip's heat, so that its true effect is no single number.
                      {"many factors in a short time",
                       physics::find_preset("h200"),
                       Operation::parse("conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1"),
                       {"idle", "cache", "launches", "data", "queue", "synchronization", "traffic",
                        "host_delay", "instrument", "heap", "contention_kernels"},
                       120}},
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
