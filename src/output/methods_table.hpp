// What `jitterscope methods` prints.
#pragma once

#include <string>

#include "output/page.hpp"
#include "record/records.hpp"

namespace jitterscope {

/// Conditions and constants, a row for each method, and a numbered sentence for each.
std::string methods_table(const MethodsRecord& record, std::size_t width = kPageWidth);

}  // namespace jitterscope
