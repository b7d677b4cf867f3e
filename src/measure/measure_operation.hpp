// Operations from their text to their results.
#pragma once

#include <cstddef>
#include <exception>
#include <vector>

#include "measure/session.hpp"

namespace jitterscope {

/// Prepares, measures, and verifies where asked (spin has nothing to verify). Throws what these throw.
Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification);

/// What came of one of several operations.
struct Outcome {
  Result result;
  std::exception_ptr error;  ///< what measuring it threw; then the result holds nothing
};

/// How many operations are best measured at once: more share the idles between bursts, and more memory is
/// taken. One where nothing is shared.
std::size_t measured_at_once(const MeasureOptions& options);

/// Each as measure_operation would, but all prepared and measured at once; one that fails is alone in that.
/// What cannot be prepared beside the others, as where memory does not hold them all, is measured after them.
/// After an interruption some outcomes hold nothing.
std::vector<Outcome> measure_operations(Session& session, const std::vector<Operation>& operations,
                                        const MeasureOptions& options, bool with_verification);

}  // namespace jitterscope
