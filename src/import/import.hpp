// Reads any file that holds a network's operations and returns it as a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "operation/model.hpp"

namespace jitterscope {

/// Reads the file, gzip or not; its content tells its kind. `options` apply to ONNX files only: the others
/// record what ran. Throws UsageError.
Model import_file(const std::filesystem::path& file, const ModelOptions& options);

// Reading and unpacking files.

/// 2 GB: far larger than any useful record. It limits what a damaged or hostile archive may unpack to.
inline constexpr std::uint64_t kLargestFile = 2'000'000'000;

struct FileContents {
  std::string text;
  bool ends_early = false;  ///< the end of a gzip file is missing
};

/// Returns the contents; a gzip file, known by its first bytes, is unpacked. Throws UsageError if the file is
/// missing, a folder, empty, unreadable or too large, or if it is a damaged gzip file.
FileContents read_file(const std::filesystem::path& file);

/// Unpacks a gzip file's bytes. Throws UsageError if they unpack to more than `limit` bytes.
FileContents unpack_gzip(std::string_view bytes, std::string_view file_name,
                         std::uint64_t limit = kLargestFile);

// One function for each format reads a file's contents into a model. All throw UsageError that names the
// file, the problem and its place.

/// Reads a trace of torch.profiler.ExecutionTraceObserver, schema 1.1.1 and older.
Model import_execution_trace(std::string_view text, std::string_view file_name);
/// Reads a trace of torch.profiler.profile (export_chrome_trace); it needs record_shapes=True. With
/// `ends_early`, an operator without GPU work may have had some that the file lacks.
Model import_profiler_trace(std::string_view text, std::string_view file_name, bool ends_early = false);
/// Returns the file as a model; weights may be absent. It has the forward pass only, as in inference, unless
/// a direction or `direction=training` is asked for. Throws UsageError that names the file if it is damaged,
/// has no graph or one with a cycle, or if an axis needs a size: `file.onnx:batch=8,seq=128`.
Model import_onnx(std::string_view bytes, std::string_view file_name, const ModelOptions& options);

// NVIDIA's libraries write logs by themselves. Each executed call of a log becomes a call of the model, with
// its engine or algorithm pinned to the one that ran. Calls are named after lines of the log, "line 123".
//
// A damaged record is left out and counted in a note. UsageError, which says how to record a log, is thrown
// only if nothing can be read.

/// Recorded with CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=log.txt
Model import_cudnn_frontend_log(std::string_view text, std::string_view file_name);
/// Recorded with CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=log.txt
Model import_cublaslt_log(std::string_view text, std::string_view file_name);
/// Recorded with CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=log.txt
Model import_cudnn_log(std::string_view text, std::string_view file_name);
/// Recorded with CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=log.txt
Model import_cublas_log(std::string_view text, std::string_view file_name);

}  // namespace jitterscope
