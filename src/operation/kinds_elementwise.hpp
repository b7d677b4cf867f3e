// Conversions between layouts and data types: which elements go where, and which type loses digits.
#pragma once

#include <cstdint>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// The one with fewer digits.
DataType coarser_type(DataType one, DataType other);

/// Whether elements change their order: not where a layout stays, or where all of it is the same in both.
bool moves_elements(const Convert&);
/// The place in x of the element that stands at `index` of y, each in its dense order.
std::int64_t source_index(const Convert&, std::int64_t index);
/// The same back: the place in y of what stands at `index` of x.
std::int64_t target_index(const Convert&, std::int64_t index);

}  // namespace jitterscope
