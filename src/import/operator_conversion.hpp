// From a recorded operator to the operations that do its work.
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
  std::optional<Operation> aten = {};  ///< the operator itself; nothing where it cannot be written down
  std::string part = {};               ///< of an operator that is several operations: dgrad, wgrad
  /// Which tensor each operand is, by the name that Operation::operands() gives it.
  std::vector<OperandTensor> tensors = {};
};

inline ConvertedOperation as_operation(Operation::Parameters parameters,
                                       std::vector<OperandTensor> tensors = {}) {
  return {std::move(parameters), std::nullopt, "", std::move(tensors)};
}

/// What one operator must know of others of its record.
struct ConversionContext {
  bool on_gpu = true;
  /// Whether the record names the kernels that ran.
  bool knows_kernels = false;
  /// As the last forward convolution said: the backward operator does not record it. Nothing recorded:
  /// PyTorch's default.
  bool allow_tf32 = true;
  /// Sentences on what the operations leave out, each once.
  std::vector<std::string> notes = {};

  void note(std::string_view sentence);
};

/// A native operation where one does the same work, else the operator itself. Throws UsageError, whose
/// sentence is the reason, where it is neither.
std::vector<ConvertedOperation> convert(const RecordedOperator& recorded, ConversionContext& context);

/// Takes the gradient of the bias out of a convolution_backward whose sum for it is timed apart. False where
/// nothing else was wanted.
bool leave_bias_gradient_out(RecordedOperator& recorded);

/// The operator with its arguments as recorded. Throws UsageError where an argument is not recorded.
Aten aten_of(const RecordedOperator& recorded);

// The families of operators that native operations stand for. Each function takes an operator of its family
// and throws NotNative where no native operation does the same work.

using Converted = std::vector<ConvertedOperation>;
using NativeConversion = Converted (*)(const RecordedOperator&, ConversionContext&);

// operator_convolution.cpp
Converted convert_convolution(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_transposed_convolution(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_convolution_backward(const RecordedOperator& recorded, ConversionContext& context);
// operator_matmul.cpp
Converted convert_linear(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_addmm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_mm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_bmm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_baddbmm(const RecordedOperator& recorded, ConversionContext& context);
// operator_normalization.cpp
Converted convert_batch_norm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_batch_norm_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_layer_norm(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_layer_norm_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_softmax(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_softmax_backward(const RecordedOperator& recorded, ConversionContext& context);
// operator_pool.cpp
Converted convert_max_pool(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_max_pool_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_average_pool(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_average_pool_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_adaptive_pool(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_adaptive_pool_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_mean(const RecordedOperator& recorded, ConversionContext& context);
// operator_elementwise.cpp
Converted convert_sum_or_product(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_activation(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_activation_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_fill(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_copy(const RecordedOperator& recorded, ConversionContext& context);
// operator_attention.cpp
Converted convert_attention(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_attention_backward(const RecordedOperator& recorded, ConversionContext& context);
// operator_training.cpp
Converted convert_embedding(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_embedding_backward(const RecordedOperator& recorded, ConversionContext& context);
Converted convert_optimizer(const RecordedOperator& recorded, ConversionContext& context);

// How a recorded tensor lies in memory, by PyTorch's own rules.

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
