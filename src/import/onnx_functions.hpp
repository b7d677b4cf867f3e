// Functions that an ONNX file defines itself, as PyTorch's exporters write modules and operators.
#pragma once

#include <string_view>

namespace onnx {
class ModelProto;
}

namespace jitterscope {

/// Puts the operators of each function where the graph calls it, functions within functions as well. Values
/// of a body get names of their own, and its operators the caller's name before theirs. Throws UsageError
/// that names the file where a function calls itself, or where they unfold to more operators than any
/// network has.
void unfold_functions(onnx::ModelProto& model, std::string_view file_name);

}  // namespace jitterscope
