// What the studies of allocations have in common.
#pragma once

#include <string>
#include <vector>

#include "study/study.hpp"

namespace jitterscope::study::studies {

/// Those of the allocators that the device has. Where launches return early the host's clock times them, as
/// allocating is its work. Throws UsageError where there is nothing to compare.
std::vector<Arm> allocation_arms(const StudyContext& context, const std::vector<Allocator>& allocators);

Remedy allocation_remedy(const std::string& arm);

}  // namespace jitterscope::study::studies
