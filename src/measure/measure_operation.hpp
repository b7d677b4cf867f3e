// One operation from its text to its result.
#pragma once

#include "measure/session.hpp"

namespace jitterscope {

/// Prepares, measures, and verifies where asked (spin has nothing to verify). Throws what these throw.
Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification);

}  // namespace jitterscope
