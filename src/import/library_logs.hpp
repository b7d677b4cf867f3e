// Logs that NVIDIA's libraries write by themselves, as models: each call that was executed is a call, with
// its engine or algorithm pinned to the one that ran. Names of calls are lines of the log, "line 123".
//
// A record that is damaged is left out and counted in a note. Throws UsageError, which says how to record a
// log, only where nothing can be read.
#pragma once

#include <string_view>

#include "operation/model.hpp"

namespace jitterscope {

/// CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=log.txt
Model import_cudnn_frontend_log(std::string_view text, std::string_view file_name);
/// CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=log.txt
Model import_cublaslt_log(std::string_view text, std::string_view file_name);
/// CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=log.txt
Model import_cudnn_log(std::string_view text, std::string_view file_name);
/// CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=log.txt
Model import_cublas_log(std::string_view text, std::string_view file_name);

}  // namespace jitterscope
