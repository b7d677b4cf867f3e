// From a recorded operator to the operations that do its work.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/recorded_operator.hpp"

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

}  // namespace jitterscope
