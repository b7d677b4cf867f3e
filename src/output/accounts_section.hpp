// What each circumstance accounts for in the difference of two records.
#pragma once

#include <string>
#include <vector>

#include "explain/account.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// Of one operation a row for each part; of several a row for each operation, what changes most first. Empty
/// for none.
std::string accounts_section(const std::vector<explain::Account>& accounts, const Page& page);

}  // namespace jitterscope
