// What `comparison` is made of.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

struct ComparisonPlan {
  std::vector<std::string> presets;  ///< on which random operations are compared with themselves
  physics::Parameters gpu;           ///< on which `slower` is compared with `usual`
  Operation usual, slower;
  double ratio = 1.0;                   ///< of the slower one's time to the usual one's
  std::vector<double> process_effects;  ///< relative standard deviations, for intervals over processes
  std::int64_t processes = 8;           ///< of each comparison and of each interval
  std::size_t comparisons = 0, slower_comparisons = 0, intervals = 0;
};

ComparisonPlan comparison_plan(bool quick);
std::vector<ProofLine> prove_comparison(ProofContext& context, const ComparisonPlan& plan);

// What `explain` is made of.

/// Many studies of one operation on one GPU, each another instance of it.
struct StudiedScene {
  std::string name;
  physics::Parameters gpu;
  Operation operation;
  std::vector<std::string> factors;  ///< that are tried
  /// At most so many studies, where each takes a second or more.
  std::size_t most_studies = std::numeric_limits<std::size_t>::max();
};

struct ExplainPlan {
  std::vector<StudiedScene> without_cause;  ///< nothing that is tried moves the time there
  std::vector<StudiedScene> with_causes;
  StudiedScene with_group;       ///< its cause cannot be told from others
  std::size_t studies = 0;       ///< of each scene
  std::size_t true_studies = 0;  ///< of each scene with causes, without all that differs by chance
  Nanoseconds time_limit;        ///< of each study
};

ExplainPlan explain_plan(bool quick);
/// For scenes without a cause how many studies name one; for the others how often the intervals of effects
/// hold what the same GPU shows without all that differs by chance, and how often the largest cause is named
/// first, where it is 1.5 times the next; how often what cannot be told apart is named as a group, and shares
/// of the variation add up to one.
std::vector<ProofLine> prove_explain(ProofContext& context, const ExplainPlan& plan);

}  // namespace jitterscope::selftest
