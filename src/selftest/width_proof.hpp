// What `width` is made of.
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

/// One measured burst, and the true times of the very launches that were timed, by rounds.
struct TracedBurst {
  SimulatedRun trial;
  std::vector<std::vector<double>> true_rounds;  ///< nanoseconds

  const Measurement& measurement() const { return trial.result.measurements.at(0); }
  /// Median over rounds: what was read beyond what was true.
  Nanoseconds reading_error() const;
};
/// Of a scene in one cache state whose launches are timed one by one.
TracedBurst trace_burst(const Scene& scene, std::uint64_t seed);

struct TrueBurst {
  Nanoseconds time;  ///< median over rounds of the medians of their true times
  Hertz clock;       ///< median over rounds
};
/// What a burst of the scene's operation takes by the same protocol in this cache state: from that many
/// rounds.
TrueBurst true_burst(const Scene& scene, CacheState cache, std::int64_t rounds, std::uint64_t seed);

}  // namespace jitterscope::selftest
