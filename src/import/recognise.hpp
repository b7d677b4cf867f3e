// Recognises the kind of a file by its content.
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
  own,   ///< a file of jitterscope that is no model: a record, or a file for programs only
  page,  ///< HTML
};

FileKind recognise(std::string_view contents);

/// Returns the error for a file given to a command that takes another kind: what the file is, and which
/// command takes it. `wanted` names the missing kind, as "no record". Empty if the file is not recognised.
std::string misplaced_file(std::string_view contents, const std::string& name, std::string_view wanted);

/// Returns help on the recognised kinds and how to record each, in several lines.
std::string recognised_kinds();

}  // namespace jitterscope
