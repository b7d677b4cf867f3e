// The text of PyTorch's operators, as aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2). Needs no other
// library, since the plug-in for PyTorch is compiled with it beside the user's PyTorch.
#pragma once

#include <string>
#include <string_view>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// It begins with NAMESPACE::, as no other operation does.
bool is_aten_text(std::string_view text);

/// Values: None, true, 3, 0.5, inf, "text", [1,2], f32[8,16] with strides in braces behind it where it is not
/// stored densely, f32@cpu[8] where it lies in the host's memory. A number in the place of a tensor is a
/// scalar there, as where Python adds a number to a tensor. Throws UsageError.
Aten parse_aten(std::string_view text);
std::string aten_text(const Aten& operation);

/// Of an element type, also of one with @cpu; nothing (0) where it is not known.
Bytes aten_element_size(std::string_view type);
bool is_aten_host_type(std::string_view type);
/// Of the tensors among an operator's arguments in their order, from the first element to the last.
std::vector<Bytes> tensor_sizes(const Aten& operation);
/// Row-major strides, which are left out. A dimension of no elements counts as one, as in PyTorch.
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape);

}  // namespace jitterscope
