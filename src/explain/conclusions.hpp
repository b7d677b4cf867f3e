// The conclusions of a study as sentences for a person to act on.
#pragma once

#include <string>
#include <vector>

#include "explain/explanation.hpp"

namespace jitterscope::explain {

/// Returns at least one sentence, the most important first: causes with effects and remedies, the variation
/// of plain loops, open questions.
std::vector<std::string> conclusions_of(const Explanation& explanation);

}  // namespace jitterscope::explain
