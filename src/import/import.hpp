// Any file that holds a network's operations, as a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "operation/model.hpp"

namespace jitterscope {

/// Reads the file, known by its content, gzip or not. `options` apply to ONNX files: the others hold what
/// ran. Throws UsageError.
Model import_file(const std::filesystem::path& file, const ModelOptions& options);

// A file's contents, unpacked.

/// 2 GB: far beyond any record that is of use, and what a damaged or hostile archive may not pass.
inline constexpr std::uint64_t kLargestFile = 2'000'000'000;

struct FileContents {
  std::string text;
  bool ends_early = false;  ///< a gzip file of which the end is missing
};

/// The contents; of a gzip file, which is known by its first bytes, what is packed in it. Throws UsageError
/// where the file is missing, a folder, empty, may not be read, too large, or a gzip file that is damaged.
FileContents read_file(const std::filesystem::path& file);

/// What is packed in a gzip file's bytes. Throws UsageError past `limit` bytes.
FileContents unpack_gzip(std::string_view bytes, std::string_view file_name,
                         std::uint64_t limit = kLargestFile);

// Records of PyTorch, its libraries and ONNX: one function for each format, from a file's contents to a
// model. All throw UsageError, naming the file, what is wrong and where.

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

// Logs that NVIDIA's libraries write by themselves, as models: each call that was executed is a call, with
// its engine or algorithm pinned to the one that ran. Names of calls are lines of the log, "line 123".
//
// A record that is damaged is left out and counted in a note. Throws UsageError, which says how to record a
// log, only where nothing can be read.

/// CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=log.txt
Model import_cudnn_frontend_log(std::string_view text, std::string_view file_name);
/// CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=log.txt
Model import_cublaslt_log(std::string_view text, std::string_view file_name);
/// CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=log.txt
Model import_cudnn_log(std::string_view text, std::string_view file_name);
/// CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=log.txt
Model import_cublas_log(std::string_view text, std::string_view file_name);

}  // namespace jitterscope
