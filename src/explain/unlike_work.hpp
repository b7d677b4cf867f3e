// Says in which parameters the work of two records differs, and by how many samples.
#pragma once

#include <string>
#include <vector>

#include "explain/account.hpp"

namespace jitterscope::explain {

/// Returns "**The work differs**: batch 2, then 3, …", and the time of a sample if only their number changed;
/// empty if both records have the same work.
std::string unlike_work_sentence(const std::vector<Account>& accounts);

}  // namespace jitterscope::explain
