// Index maps of layout conversions, PyTorch's elementwise operators, and the precision order of data types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// An operator, and the numbers that follow its tensors.
struct ElementwiseOperator {
  std::string name;  ///< empty for fill, which has none
  std::vector<std::int64_t> numbers = {};
};
const ElementwiseOperator& pytorch_operator(ElementwiseKind kind);

/// Returns the type with fewer digits.
DataType coarser_type(DataType one, DataType other);

/// True if the order of elements changes: false if the layout stays, or if both layouts order this shape
/// alike.
bool moves_elements(const Convert&);
/// Returns the index in x of the element at `index` in y, each in its dense order.
std::int64_t source_index(const Convert&, std::int64_t index);
/// The inverse: returns the index in y of the element at `index` in x.
std::int64_t target_index(const Convert&, std::int64_t index);

}  // namespace jitterscope
