// Says in which parameters the work of two records differs, and by how many samples.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "explain/account.hpp"

namespace jitterscope::explain {

/// Returns the parameters in which two operations of one kind differ, such as "n=2" and "n=3"; the whole
/// texts if kinds differ, or if a parameter has commas of its own.
std::pair<std::string, std::string> differing_parameters(const std::string& first, const std::string& second);

/// Returns "**The work differs**: batch 2, then 3, …", and the time of a sample if only their number changed;
/// empty if both records have the same work.
std::string unlike_work_sentence(const std::vector<Account>& accounts);

}  // namespace jitterscope::explain
