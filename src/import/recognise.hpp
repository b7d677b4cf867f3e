// What kind of record a text is, by its content.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope {

enum class FileKind {
  unknown,
  model,
  execution_trace,
  profiler_trace,
  cudnn_frontend_log,
  cublaslt_log,
  cudnn_log,
  cublas_log,
  onnx,
  own,   ///< a file of jitterscope's that is no model: a record, or what only programs read
  page,  ///< HTML
};

FileKind recognise(std::string_view contents);

/// For who gave a file to a command that takes another kind: what it is, and what takes it. `wanted` is what
/// it is not, as "no record". Empty where nobody knows what it is.
std::string misplaced_file(std::string_view contents, const std::string& name, std::string_view wanted);

/// What is recognised, and how each is recorded: several lines for the user.
std::string recognised_kinds();

}  // namespace jitterscope
