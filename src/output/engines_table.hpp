// What `jitterscope engines` prints.
#pragma once

#include <string>

#include "output/page.hpp"
#include "record/records.hpp"

namespace jitterscope {

/// A row for each engine, fastest first, and what each of PyTorch's two ways of choosing costs.
std::string engines_table(const EnginesRecord& record, std::size_t width = kPageWidth);

}  // namespace jitterscope
