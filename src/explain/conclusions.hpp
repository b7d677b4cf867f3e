// What a study says in words, for a person to act on.
#pragma once

#include <string>
#include <vector>

#include "explain/explanation.hpp"

namespace jitterscope::explain {

/// The most important first: causes with their effects and remedies, the loops' own variation, what stayed
/// open. At least one sentence.
std::vector<std::string> conclusions_of(const Explanation& explanation);

}  // namespace jitterscope::explain
