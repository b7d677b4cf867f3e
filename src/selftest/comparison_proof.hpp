// What `comparison` is made of.
#pragma once

#include <string>
#include <vector>

#include "selftest/proof_context.hpp"
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

}  // namespace jitterscope::selftest
