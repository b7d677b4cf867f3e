#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "physics/preset.hpp"
#include "selftest/proof.hpp"
#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"
#include "statistics/statistics.hpp"

// Proves how often 95 % intervals hold the true time in conditions for which the method was made.

namespace jitterscope::selftest {
namespace {

constexpr double kLowest = 0.94, kHighest = 0.96;
constexpr std::size_t kCoverageQuick = 200, kCoverageFull = 4000;

std::vector<Scene> modelled_scenes() {
  const MeasureOptions burst = one_load(Load::burst);
  const physics::Parameters h200 = one_process("h200");
  physics::Parameters noisy = h200.without(physics::Mechanism::clock_states);
  noisy.noise.sd = 0.005;
  noisy.noise.correlation = 0.5;
  return {{"quiet, conv 128 µs", one_process("quiet"), long_convolution(), burst},
          {"h200, conv 128 µs", h200, long_convolution(), burst},
          {"h200, GEMM 1.4 ms", h200, large_product(), burst},
          {"h200, copy 0.5 ms", h200, large_copy(), burst},
          {"h200, GEMM 3.3 µs, by slopes", h200, small_product(), burst},
          {"h200 with noise of 0.5 % remembered by half, conv", noisy, long_convolution(), burst}};
}

ProofLine time_line(const Sample& sample, const Scene& scene) {
  const Nanoseconds truth = true_time(sample, scene.gpu);
  Frequency held;
  double precision = 0.0;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    held.add(holds_time(measurement, scene.gpu, truth));
    precision += measurement.repeatability.precision() / static_cast<double>(sample.trials.size());
  }
  return coverage_line("time: " + scene.name, held, kLowest, kHighest,
                       fmt::format("truth {}, ±{} on average", time_text(truth), percent_text(precision)));
}

// Rounds of all trials for one fit of t = a + b/f, which each trial estimates from its own rounds.
struct TrueLine {
  std::vector<double> times, clocks;
};

std::optional<statistics::InverseClockFit> true_fit(const Sample& sample, const physics::Parameters& gpu,
                                                    double reference) {
  TrueLine all;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    const Nanoseconds error = constant_error(measurement, gpu);
    for (const Round& round : measurement.rounds) {
      all.times.push_back((round.time() + error).value());
      all.clocks.push_back(round.clock.value_or(Hertz(0)).value());
    }
  }
  return statistics::fit_inverse_clock(all.times, all.clocks, reference);
}

std::optional<ProofLine> reference_clock_line(const Sample& sample, const Scene& scene) {
  const SimulatedRun& first = sample.trials.front();
  if (!first.result.measurements.front().clock) return std::nullopt;
  const double clock = first.result.measurements.front().clock->median.value();
  const auto fit = true_fit(sample, scene.gpu, clock);
  if (!fit) return std::nullopt;
  Frequency held;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    if (!measurement.at_reference_clock) continue;
    const TimeAtReferenceClock& time = *measurement.at_reference_clock;
    const Nanoseconds error = constant_error(measurement, scene.gpu);
    const double truth =
        fit->intercept + (fit->at_reference - fit->intercept) * clock / time.reference.value();
    held.add((time.low + error).value() <= truth && truth <= (time.high + error).value());
  }
  // If the clock hardly moves, too few runs give a time at the reference clock to judge.
  if (held.trials * 4 < static_cast<std::int64_t>(sample.trials.size())) return std::nullopt;
  return coverage_line("time at reference clock: " + scene.name, held, kLowest, kHighest,
                       fmt::format("given by {} of {} runs", held.trials, sample.trials.size()));
}

ProofLine constant_line(const Sample& sample, const Scene& scene) {
  const Nanoseconds truth = true_events_constant(scene.gpu);
  Frequency held;
  for (const SimulatedRun& trial : sample.trials) {
    const InstrumentConstant& constant = trial.calibration.events;
    held.add(constant.value - constant.scatter <= truth && truth <= constant.value + constant.scatter);
  }
  return coverage_line("events constant: " + scene.name, held, kLowest, kHighest,
                       "truth " + time_text(truth) + "; its interval from the kernels' scatter alone");
}

}  // namespace

std::vector<ProofLine> prove_coverage(ProofContext& context) {
  std::vector<ProofLine> times, references, constants;
  for (const Scene& scene : modelled_scenes()) {
    const Sample sample = run_trials(context, scene, "coverage " + scene.name,
                                     context.quick() ? kCoverageQuick : kCoverageFull);
    times.push_back(time_line(sample, scene));
    if (auto line = reference_clock_line(sample, scene)) references.push_back(std::move(*line));
    // All calibrations are alike, whatever is timed afterwards, so two lines are enough.
    if (constants.size() < 2) constants.push_back(constant_line(sample, scene));
  }
  std::vector<ProofLine> lines = std::move(times);
  lines.insert(lines.end(), references.begin(), references.end());
  lines.insert(lines.end(), constants.begin(), constants.end());
  return lines;
}

// Proves intervals where the method's assumptions are broken: do they hold the truth, or does a finding warn?

namespace {

constexpr double kLeastCoverage = 0.90, kLeastNamed = 0.95;
constexpr std::size_t kStressQuick = 100, kStressFull = 2000;

struct Stress {
  Scene scene;
  std::set<std::string> trouble;  ///< findings that count as a warning
};

/// Makes clock states 2.3 % apart that last as long as `launches` launches of the convolution.
Stress dwelling(std::string name, double launches, bool outlasts_idle) {
  physics::Parameters gpu = one_process("h200");
  const Nanoseconds dwell = microseconds(130) * launches;
  gpu.clock_states = {.depth = 0.023,
                      .mean_dwell_high = dwell,
                      .mean_dwell_low = dwell,
                      .redraw_idle = outlasts_idle ? Nanoseconds(0) : milliseconds(10)};
  std::set<std::string> trouble = {"bimodal", "drift", "imprecise"};
  // A record shorter than one state cannot show the states, only that the clock is not fixed.
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

Stress stressed_by_a_late_cap() {
  physics::Parameters gpu = one_process("h200");
  gpu = gpu.without(physics::Mechanism::clock_states);
  gpu.power.cap_onset = seconds(0.4);
  MeasureOptions options = one_load(Load::burst);
  options.shortest_idle = options.longest_idle = milliseconds(0.5);
  options.minimum_rounds = 100;  // 6 ms each: the cap sets in halfway
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
  periodic.period = milliseconds(46);  // idle of 40 ms and round of 6 ms
  return {dwelling("clock states of 1 launch", 1, true),
          dwelling("clock states of 10 launches", 10, true),
          dwelling("clock states of 100 launches", 100, false),
          dwelling("clock states of 1000 launches", 1000, false),
          dwelling("clock states of 1000 launches that outlast idles", 1000, true),
          with_noise("drift of 2 % in 1 s", drifting, {"drift", "imprecise"}),
          stressed_by_a_late_cap(),
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
  line.value->target.reset();  // a value below it may pass by the named misses
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

// Proves that a sustained load stays at the level at which it is said to settle.

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

/// Returns the median time in the last quarter of ten minutes without a pause.
Nanoseconds settled_time(const Scene& scene, std::uint64_t seed) {
  Scene soak = scene;
  soak.options.warm_up = false;
  // A coarse timer may give an interval of width 0 long before the cap sets in.
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
  const std::string bias =
      biases.empty() ? "none settled" : "median bias " + change_text(statistics::median(biases));
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

// Proves how often one process' interval holds the median over processes, for random operations on unmodified
// GPUs.

namespace {

constexpr Nanoseconds kShortest = microseconds(1), kLongest = milliseconds(2);
constexpr double kLowestCoverage = 0.94, kHighestCoverage = 0.97, kLowestInTenth = 0.90;
constexpr std::size_t kTenths = 10;

MeasureOptions as_shipped() {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.time_limit = seconds(1.5);
  return options;
}

struct Case {
  Nanoseconds truth;
  double held = 0.0, half_width = 0.0, deviation = 0.0;
};

// Judges the first process' interval by the median of the other processes.
std::optional<Case> run_case(ProofContext& context, const Scene& scene, std::uint64_t number,
                             std::size_t processes) {
  std::vector<double> others;
  std::optional<Measurement> first;
  for (std::size_t process = 0; process <= processes; ++process) {
    SimulatedRun trial = simulate_run(scene, trial_seed(context.seed() + number, "next process", process));
    if (trial.result.measurements.empty()) return std::nullopt;
    Measurement& measurement = trial.result.measurements.front();
    if (measurement.time.median < kShortest || measurement.time.median > kLongest) return std::nullopt;
    if (!first) {
      first = std::move(measurement);
    } else {
      others.push_back(measurement.time.median.value());
    }
  }
  const double truth = statistics::median(others);
  return Case{Nanoseconds(truth),
              first->time.low.value() <= truth && truth <= first->time.high.value() ? 1.0 : 0.0,
              first->time.precision(), statistics::standard_deviation(others) / truth};
}

struct Gpu {
  std::string name;
  physics::Parameters parameters;
};

// Returns the GPU that --device names, or all GPUs of the proof.
std::vector<Gpu> gpus_of(const ProofContext& context) {
  const std::string &device = context.description().id, prefix = "virtual:";
  if (device != "virtual") {
    const bool is_named = device.starts_with(prefix);
    return {{is_named ? device.substr(prefix.size()) : device, virtual_gpu::parameters_of(device)}};
  }
  // The shared GPU misses its target (docs/evidence/truth.md): another process comes and goes for seconds, so
  // a run of one second sees one of the two levels.
  std::vector<const char*> presets = {"h200", "a100"};
  if (!context.quick()) presets.insert(presets.end(), {"laptop", "shared"});
  std::vector<Gpu> gpus;
  for (const char* preset : presets) gpus.push_back({preset, physics::find_preset(preset)});
  return gpus;
}

std::vector<ProofLine> lines_of(const std::string& preset, std::vector<Case> cases) {
  std::ranges::sort(cases, {}, &Case::truth);
  Frequency held;
  std::vector<Frequency> tenths(kTenths);
  std::vector<double> prices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    held.add(cases[i].held > 0);
    tenths[i * kTenths / cases.size()].add(cases[i].held > 0);
    prices.push_back(cases[i].half_width / (1.96 * cases[i].deviation));
  }
  const auto worst = std::ranges::min_element(tenths, {}, &Frequency::value);
  const auto tenth = static_cast<std::size_t>(worst - tenths.begin());
  std::vector<ProofLine> lines;
  lines.push_back(
      coverage_line(preset + ", all lengths", held, kLowestCoverage, kHighestCoverage,
                    fmt::format("half-width {:.2f} times what the spread of processes asks for (median)",
                                statistics::median(prices))));
  lines.push_back(
      coverage_line(preset + ", worst tenth of the lengths", *worst, kLowestInTenth, 1.0,
                    fmt::format("{} to {}", time_text(cases[tenth * cases.size() / kTenths].truth),
                                time_text(cases[(tenth + 1) * cases.size() / kTenths - 1].truth))));
  return lines;
}

}  // namespace

std::vector<ProofLine> prove_next_process(ProofContext& context) {
  const std::size_t operations = context.quick() ? 40 : 2000, processes = context.quick() ? 10 : 20;
  std::vector<ProofLine> lines;
  for (const Gpu& gpu : gpus_of(context)) {
    Random random(trial_seed(context.seed(), gpu.name, 0));
    std::vector<Case> cases;
    for (std::uint64_t number = 0; cases.size() < operations; ++number) {
      context.begin_step(cases.size(), operations, gpu.name);
      const Operation operation = random_operation(random);
      const Scene scene{gpu.name, gpu.parameters, operation, as_shipped()};
      if (const auto one = run_case(context, scene, number, processes)) cases.push_back(*one);
    }
    for (ProofLine& line : lines_of(gpu.name, std::move(cases))) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace jitterscope::selftest
