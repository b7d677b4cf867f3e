// Gives the calls of a record without data flow that of another record of the same step.
#pragma once

#include <cstddef>

#include "operation/model.hpp"

namespace jitterscope {

/// How many calls of a model were found in the record that has its data flow.
struct JoinedCalls {
  std::size_t found = 0, of = 0;
  std::size_t steps = 0;  ///< number of the model's steps in which they were found
};

/// Finds the calls of `flow` (a PyTorch execution trace) among the model's (a profiler trace), by their order
/// and what they run, in every step that the model holds. Their inputs become those of the flow; operands
/// that a call wrote which the model lacks count as unwritten. Throws UsageError, which begins with the
/// flow's name, if fewer than half of the shorter one's calls are found: then the two are not of the same
/// step.
JoinedCalls take_data_flow(Model& model, const Model& flow);

}  // namespace jitterscope
