// Whether launches over several streams ran side by side, by the trace, and what that gained.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope::study::studies {

/// The kernels of one arm.
struct TracedArm {
  std::string arm;
  double time_ratio = 1.0;
  KernelConcurrency at_once;
};

/// One operation, spread over streams by all arms.
struct SpreadOutcome {
  std::string name;               ///< of what each launch does
  bool is_faster = false;         ///< with one of the arms
  bool is_undecided = false;      ///< with one of them, whether it is
  std::vector<TracedArm> traced;  ///< arms behind the first; empty where kernels were not traced
  std::string not_traced;         ///< why, where they were to be
};

/// In the order in which they were compared; arms that failed or computed something else are left out.
std::vector<SpreadOutcome> spread_outcomes(const ComparisonRecord& record);

/// Sentences: how many kernels ran at once, where none did though there were streams for it, and where some
/// did and nothing was gained. Or that kernels could not be traced, and why.
std::vector<std::string> side_by_side_sentences(const std::vector<SpreadOutcome>& outcomes);

}  // namespace jitterscope::study::studies
