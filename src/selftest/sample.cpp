#include "selftest/sample.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "selftest/proof_lines.hpp"
#include "statistics/binomial.hpp"

namespace jitterscope::selftest {

Sample run_trials(ProofContext& context, const Scene& scene, std::string_view proof, std::size_t count) {
  Sample sample;
  sample.scene = scene.name;
  for (std::size_t i = 0; i < count; ++i) {
    context.begin_step(i, count, scene.name);
    sample.trials.push_back(simulate_run(scene, trial_seed(context.seed(), proof, i)));
  }
  return sample;
}

Nanoseconds true_events_constant(const physics::Parameters& gpu) {
  const bool has_instruments = gpu.has(physics::Mechanism::instrument);
  const physics::Instruments& instruments = gpu.instruments;
  const Nanoseconds none(0);
  return (has_instruments ? instruments.mark_overhead - instruments.node_overhead : none) -
         gpu.launch.graph_gap;
}

Nanoseconds constant_error(const Measurement& measurement, const physics::Parameters& gpu) {
  const bool by_events = measurement.instrument == Instrument::events;
  return measurement.constant.value - (by_events ? true_events_constant(gpu) : Nanoseconds(0));
}

Nanoseconds true_time(const Sample& sample, const physics::Parameters& gpu) {
  std::size_t rounds = SIZE_MAX;
  for (const SimulatedRun& trial : sample.trials) {
    rounds = std::min(rounds, trial.result.measurements.front().rounds.size());
  }
  std::vector<double> times;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    const Nanoseconds error = constant_error(measurement, gpu);
    for (std::size_t i = 0; i < rounds; ++i) {
      times.push_back((measurement.rounds[i].time() + error).value());
    }
  }
  return Nanoseconds(statistics::median(times));
}

bool holds_time(const Measurement& measurement, const physics::Parameters& gpu, Nanoseconds truth) {
  const Nanoseconds error = constant_error(measurement, gpu);
  const TimeEstimate& own = measurement.repeatability;  // truth and constant are known apart
  return own.low + error <= truth && truth <= own.high + error;
}

ProofLine coverage_line(std::string name, const Frequency& held, double lowest, double highest,
                        std::string note) {
  const statistics::Interval interval = statistics::clopper_pearson(held.hits, held.trials);
  const std::string target = highest < 1.0 ? fmt::format("{:.0f}–{:.0f} %", 100 * lowest, 100 * highest)
                                           : fmt::format("at least {:.0f} %", 100 * lowest);
  const std::string measured = fmt::format("{:.1f} % ({:.1f}–{:.1f}) of {}", 100 * held.value(),
                                           100 * interval.low, 100 * interval.high, held.trials);
  return judged_line(
      std::move(name), target, measured,
      {ValueKind::share, held.value(), interval.low, interval.high, ProofTarget{lowest, highest}},
      interval.low > highest ? Verdict::missed : verdict_on(held, lowest), std::move(note));
}

}  // namespace jitterscope::selftest
