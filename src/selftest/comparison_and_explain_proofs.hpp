// Defines the proofs `comparison` and `explain` and their plans.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

struct ComparisonPlan {
  std::vector<std::string> presets;  ///< random operations are compared with themselves on these GPUs
  physics::Parameters gpu;           ///< `slower` is compared with `usual` on this GPU
  Operation usual, slower;
  double ratio = 1.0;                   ///< slower time over usual time
  std::vector<double> process_effects;  ///< relative standard deviations, for intervals over processes
  std::int64_t processes = 8;           ///< in each comparison and each interval
  std::size_t comparisons = 0, slower_comparisons = 0, intervals = 0;
};

ComparisonPlan comparison_plan(bool quick);
std::vector<ProofLine> prove_comparison(ProofContext& context, const ComparisonPlan& plan);

// Below: the proof `explain`.

/// One operation on one GPU for many studies, each with another seed.
struct StudiedScene {
  std::string name;
  physics::Parameters gpu;
  Operation operation;
  std::vector<std::string> factors;  ///< factors to try
  /// Limits the number of studies if each takes a second or more.
  std::size_t most_studies = std::numeric_limits<std::size_t>::max();
};

struct ExplainPlan {
  std::vector<StudiedScene> without_cause;  ///< no factor changes the time
  std::vector<StudiedScene> with_causes;
  StudiedScene with_group;       ///< its cause cannot be told apart from others
  std::size_t studies = 0;       ///< in each scene
  std::size_t true_studies = 0;  ///< studies in each scene with causes, on the GPU without random effects
  Nanoseconds time_limit;        ///< for each study
};

ExplainPlan explain_plan(bool quick);
/// Counts how many studies name a false cause in scenes without one. In the others, how often the effects'
/// intervals hold the effect on the same GPU without random effects; how often the largest cause is named
/// first, if it is 1.5 times the next; how often causes that cannot be told apart are named as a group; and
/// whether shares of the variation sum to 1.
std::vector<ProofLine> prove_explain(ProofContext& context, const ExplainPlan& plan);

}  // namespace jitterscope::selftest
