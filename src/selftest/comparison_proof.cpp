// What several fresh processes say of a difference, and of a time: how often it is right.
#include "selftest/comparison_proof.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "experiment/comparison.hpp"
#include "experiment/processes.hpp"
#include "measure/measure_operation.hpp"
#include "physics/preset.hpp"
#include "selftest/frequency.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample.hpp"
#include "selftest/sample_operations.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

// So that each difference that is shown is called one: "same" is for what is smaller than a margin.
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

// What one fresh process on the GPU finds of the operations, beside each other.
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

// Nothing where the operation cannot run there.
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
  const std::string name = fmt::format("{:.3g} % slower", (plan.ratio - 1.0) * 100.0);
  for (std::size_t i = 0; i < plan.slower_comparisons; ++i) {
    context.begin_step(i, plan.slower_comparisons, name);
    const auto comparison = compare(processes.next(plan.gpu, {plan.usual, plan.slower}));
    shown.add(comparison && comparison->verdict == statistics::EffectVerdict::slower);
    if (!comparison) continue;
    ratios.push_back(comparison->time);
    values.push_back(comparison->time.ratio);
  }
  // Launches have a beginning and an end that are alike in both, so that the ratio is a little less.
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

}  // namespace jitterscope::selftest
