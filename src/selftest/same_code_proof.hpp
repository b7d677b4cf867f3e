// What `same_code` is made of.
#pragma once

#include <vector>

#include "selftest/proof_context.hpp"
#include "selftest/trial.hpp"
#include "statistics/difference.hpp"

namespace jitterscope::selftest {

struct SameCodePlan {
  std::vector<Scene> one_process;  ///< measured twice by one process
  Scene process_effect;            ///< measured by two processes
  Scene usual, slower;             ///< the same but for all times, 1 % longer in the second
  std::size_t pairs = 0, slower_pairs = 0, studies = 0;
};

SameCodePlan same_code_plan(bool quick);
std::vector<ProofLine> prove_same_code(ProofContext& context, const SameCodePlan& plan);

/// Of the rounds of two measurements.
bool are_called_different(const Measurement& first, const Measurement& second);

}  // namespace jitterscope::selftest
