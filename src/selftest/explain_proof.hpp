// What `explain` is made of.
#pragma once

#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

/// Many studies of one operation on one GPU, each another instance of it.
struct StudiedScene {
  std::string name;
  physics::Parameters gpu;
  Operation operation;
  std::vector<std::string> factors;  ///< that are tried
};

struct ExplainPlan {
  std::vector<StudiedScene> without_cause;  ///< nothing that is tried moves the time there
  std::vector<StudiedScene> with_causes;
  std::size_t studies = 0;  ///< of each scene
  Nanoseconds time_limit;   ///< of each study
};

ExplainPlan explain_plan(bool quick);
/// For scenes without a cause how many studies name one; for the others how often the interval of the largest
/// effect holds the mean over all studies, and how often that factor is named first, where it is 1.5 times
/// the next.
std::vector<ProofLine> prove_explain(ProofContext& context, const ExplainPlan& plan);

}  // namespace jitterscope::selftest
