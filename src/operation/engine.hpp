// The engine that an operation asks for.
#pragma once

#include <string>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// The operation with this engine; an operation without engines stays as it is.
Operation with_engine(const Operation& operation, const std::string& engine);
/// Empty where the operation names none.
std::string engine_of(const Operation& operation);

}  // namespace jitterscope
