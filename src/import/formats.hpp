// Records of PyTorch, its libraries and ONNX: one function for each format, from a file's contents to a
// model. All throw UsageError, naming the file, what is wrong and where.
#pragma once

#include <string_view>

#include "operation/model.hpp"
#include "operation/model_options.hpp"

namespace jitterscope {

/// torch.profiler.ExecutionTraceObserver, schema 1.1.1 and older.
Model import_execution_trace(std::string_view text, std::string_view file_name);
/// torch.profiler.profile, exported by export_chrome_trace; needs record_shapes=True. Of a text that ends
/// early, and was closed, it is not said that an operator without GPU work had none.
Model import_profiler_trace(std::string_view text, std::string_view file_name, bool ends_early = false);
/// CUDNN_FRONTEND_LOG_FILE
Model import_cudnn_frontend_log(std::string_view text, std::string_view file_name);
/// CUBLASLT_LOG_FILE
Model import_cublaslt_log(std::string_view text, std::string_view file_name);
/// CUDNN_LOGDEST_DBG
Model import_cudnn_log(std::string_view text, std::string_view file_name);
/// CUBLAS_LOGDEST_DBG
Model import_cublas_log(std::string_view text, std::string_view file_name);
Model import_onnx(std::string_view bytes, std::string_view file_name, const ModelOptions& options);

}  // namespace jitterscope
