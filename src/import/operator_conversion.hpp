// Converts a recorded operator to the operations that do its work.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/recorded_operator.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {

using OperandTensor = std::pair<std::string_view, std::optional<TensorIdentity>>;

/// One of the operations that an operator is timed as.
struct ConvertedOperation {
  Operation operation;
  std::optional<Operation> aten = {};  ///< the operator itself; nullopt if it cannot be written down
  std::string part = {};               ///< which part, if the operator is several operations: dgrad, wgrad
  /// The tensor of each operand, by the operand's name in Operation::operands().
  std::vector<OperandTensor> tensors = {};
};

/// Makes an operation; `places` has the place of each operand's tensor, by the operand's name.
ConvertedOperation as_operation(Operation::Parameters parameters, const Arguments& arguments,
                                std::initializer_list<std::pair<std::string_view, TensorPlace>> places);

/// Facts from the whole record that the conversion of one operator needs.
struct ConversionContext {
  bool on_gpu = true;
  /// True if the record names the kernels that ran.
  bool knows_kernels = false;
  /// TF32 setting of the last forward convolution, because the backward operator does not record it.
  /// PyTorch's default if none was recorded.
  bool allow_tf32 = true;
  /// Sentences on differences between operators and operations, each once.
  std::vector<std::string> notes = {};

  void note(std::string_view sentence);
};

/// Returns native operations that do the same work, else the operator itself. Throws UsageError with the
/// reason if neither is possible.
std::vector<ConvertedOperation> convert(const RecordedOperator& recorded, ConversionContext& context);

/// Returns the argument names of an operator that is converted natively; empty for others.
std::vector<std::string> known_argument_names(std::string_view name);

/// Removes the bias gradient from a convolution_backward whose sum for it is timed apart. Returns false if no
/// other gradient was wanted.
bool leave_bias_gradient_out(RecordedOperator& recorded);

/// Returns the operator with its arguments as recorded. Throws UsageError if an argument is not recorded.
Aten aten_of(const RecordedOperator& recorded);

// Conversions of operators to native operations. Each function takes an operator of its family and throws
// NotNative if no native operation does the same work.

using Converted = std::vector<ConvertedOperation>;
using NativeConversion = Converted (*)(const Arguments&, ConversionContext&);

// Convolutions, in operator_convolution.cpp.
Converted convert_convolution(const Arguments&, ConversionContext&);
Converted convert_transposed_convolution(const Arguments&, ConversionContext&);
Converted convert_convolution_backward(const Arguments&, ConversionContext&);
// Matrix products, in operator_matmul.cpp.
Converted convert_linear(const Arguments&, ConversionContext&);
Converted convert_addmm(const Arguments&, ConversionContext&);
Converted convert_mm(const Arguments&, ConversionContext&);
Converted convert_bmm(const Arguments&, ConversionContext&);
Converted convert_baddbmm(const Arguments&, ConversionContext&);
// Normalization and softmax, in operator_elementwise.cpp.
Converted convert_batch_norm(const Arguments&, ConversionContext&);
Converted convert_batch_norm_backward(const Arguments&, ConversionContext&);
Converted convert_layer_norm(const Arguments&, ConversionContext&);
Converted convert_layer_norm_backward(const Arguments&, ConversionContext&);
Converted convert_softmax(const Arguments&, ConversionContext&);
Converted convert_softmax_backward(const Arguments&, ConversionContext&);
// Pooling, in operator_convolution.cpp.
Converted convert_max_pool(const Arguments&, ConversionContext&);
Converted convert_max_pool_backward(const Arguments&, ConversionContext&);
Converted convert_average_pool(const Arguments&, ConversionContext&);
Converted convert_average_pool_backward(const Arguments&, ConversionContext&);
Converted convert_adaptive_pool(const Arguments&, ConversionContext&);
Converted convert_adaptive_pool_backward(const Arguments&, ConversionContext&);
Converted convert_mean(const Arguments&, ConversionContext&);
// Elementwise operators, fills and copies, in operator_elementwise.cpp.
Converted convert_sum_or_product(const Arguments&, ConversionContext&);
Converted convert_activation(const Arguments&, ConversionContext&);
Converted convert_activation_backward(const Arguments&, ConversionContext&);
Converted convert_fill(const Arguments&, ConversionContext&);
Converted convert_copy(const Arguments&, ConversionContext&);
// Attention, in operator_matmul.cpp.
Converted convert_attention(const Arguments&, ConversionContext&);
Converted convert_attention_backward(const Arguments&, ConversionContext&);
// Embeddings and optimizer steps, in operator_elementwise.cpp.
Converted convert_embedding(const Arguments&, ConversionContext&);
Converted convert_embedding_backward(const Arguments&, ConversionContext&);
Converted convert_optimizer(const Arguments&, ConversionContext&);

// How a recorded tensor lies in memory, by PyTorch's own rules.

/// True if the tensor is dense with its dimensions in `order`, outermost first. The stride of a dimension of
/// one element does not matter. A tensor without strides counts as dense and row-major.
bool is_dense_in(const AtenArgument& tensor, std::span<const int> order);
bool is_dense_row_major(const AtenArgument& tensor);
/// True if the tensor is dense in any order of its dimensions; elementwise kernels treat it as one line.
bool is_dense(const AtenArgument& tensor);
bool have_equal_strides(const AtenArgument& a, const AtenArgument& b);
/// Returns the layout in which a 4D tensor is dense: suggested_layout() if in both, nullopt if in neither.
std::optional<Layout> dense_layout(const AtenArgument& tensor);

/// Returns what suggest_memory_format() does for a 4D tensor: nhwc if its strides are in that order, those of
/// sizes of one included (is_channels_last_strides_2d of c10/core/MemoryFormat.h).
Layout suggested_layout(const AtenArgument& tensor);

std::int64_t element_count(const AtenArgument& tensor);
/// Returns the type that a native operation computes in. Throws NotNative for integers, booleans and others.
DataType native_type(const AtenArgument& tensor);

}  // namespace jitterscope
