// Text form of PyTorch's operators: aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2). It uses no other
// library, because the plug-in for PyTorch compiles it beside the user's PyTorch.
#pragma once

#include <string>
#include <string_view>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// True if the text begins with NAMESPACE::, as no other operation does.
bool is_aten_text(std::string_view text);

/// Reads the values None, true, 3, 0.5, inf, "text", [1,2], f32[8,16] (strides follow in braces if it is not
/// dense) and f32@cpu[8] (in host memory). A number in place of a tensor is a scalar, as when Python adds a
/// number to a tensor. Throws UsageError.
Aten parse_aten(std::string_view text);
std::string aten_text(const Aten& operation);
/// Returns the shortest decimal text that reads back as the number: 2.0, 1e-05, inf, nan.
std::string real_text(double value);

/// Returns the size of an element type, with or without @cpu; 0 if the type is unknown.
Bytes aten_element_size(std::string_view type);
bool is_aten_host_type(std::string_view type);
/// Returns the extent, from first to last element, of each tensor among the arguments, in order.
std::vector<Bytes> tensor_sizes(const Aten& operation);
/// Returns the row-major strides, which the text omits. A dimension of size 0 counts as 1, as in PyTorch.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

}  // namespace jitterscope
