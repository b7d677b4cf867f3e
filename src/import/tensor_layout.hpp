// How a recorded tensor lies in memory, by PyTorch's own rules.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Whether the tensor is dense with its dimensions in `order`, outermost first. The stride of a dimension of
/// one element means nothing. Strides that are absent are those of a dense row-major tensor.
bool is_dense_in(const AtenArgument& tensor, std::span<const int> order);
bool is_dense_row_major(const AtenArgument& tensor);
/// Dense in any order of its dimensions: what elementwise kernels walk through as one line.
bool is_dense(const AtenArgument& tensor);
bool have_equal_strides(const AtenArgument& a, const AtenArgument& b);
/// nchw or nhwc, where a tensor of four dimensions is dense in it; suggested_layout where both hold.
std::optional<Layout> dense_layout(const AtenArgument& tensor);

/// What suggest_memory_format() answers for a tensor of four dimensions: nhwc where its strides are in that
/// order, sizes of one included (is_channels_last_strides_2d of c10/core/MemoryFormat.h).
Layout suggested_layout(const AtenArgument& tensor);

std::int64_t element_count(const AtenArgument& tensor);
/// The type that a native operation computes in. Throws NotNative for integers, booleans and others.
DataType native_type(const AtenArgument& tensor);

}  // namespace jitterscope
