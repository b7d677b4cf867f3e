// Prints how much each circumstance contributes to the difference between two times of the same operation.
#pragma once

#include <vector>

#include "explain/account.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// Makes a row for each part of one operation, or a row for each of several operations, the largest change
/// first. Empty if there are none. `are_all`: no calls of the records are left out.
Text accounts_section(const std::vector<explain::Account>& accounts, const Page& page, bool are_all = true);

}  // namespace jitterscope
