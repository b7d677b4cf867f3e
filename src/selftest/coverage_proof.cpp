// How often 95 % intervals hold the truth, in conditions that the method was made for.
#include <fmt/format.h>

#include <optional>

#include "base/quantity_text.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample.hpp"
#include "selftest/scenes.hpp"
#include "statistics/statistics.hpp"

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

// t = a + b/f through the rounds of all trials: what every trial estimates from its own.
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
  // Where the clock hardly moves, few runs give one: too few to judge.
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
    // One calibration is like the other, whatever is timed behind it.
    if (constants.size() < 2) constants.push_back(constant_line(sample, scene));
  }
  std::vector<ProofLine> lines = std::move(times);
  lines.insert(lines.end(), references.begin(), references.end());
  lines.insert(lines.end(), constants.begin(), constants.end());
  return lines;
}

}  // namespace jitterscope::selftest
