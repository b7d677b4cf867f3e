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
};

FileKind recognise(std::string_view contents);

/// What is recognised, and how each is recorded: several lines for the user.
std::string recognised_kinds();

}  // namespace jitterscope
