// Defines the proof `width`: bias, interval and duration against the launches' true times.
#pragma once

#include <vector>

#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

struct WidthPlan {
  std::vector<Scene> scenes;
  std::size_t trials = 0;  ///< in each scene
  std::int64_t rounds_of_truth = 3000;
};

WidthPlan width_plan(bool quick);
std::vector<ProofLine> prove_width(ProofContext& context, const WidthPlan& plan);

/// One measured burst with the true times of the launches that were timed, by rounds.
struct TracedBurst {
  SimulatedRun trial;
  std::vector<std::vector<double>> true_rounds;  ///< in nanoseconds

  const Measurement& measurement() const { return trial.result.measurements.at(0); }
  /// Returns the median over rounds of measured less true time.
  Nanoseconds reading_error() const;
};
/// Simulates a burst of a scene with one cache state whose launches are timed one by one.
TracedBurst trace_burst(const Scene& scene, std::uint64_t seed);

struct TrueBurst {
  Nanoseconds time;  ///< median over rounds of the median true time
  Hertz clock;       ///< median over rounds
};
/// Returns the true time of such bursts in this cache state, from `rounds` rounds.
TrueBurst true_burst(const Scene& scene, CacheState cache, std::int64_t rounds, std::uint64_t seed);

}  // namespace jitterscope::selftest
