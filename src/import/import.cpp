#include "import/import.hpp"

#include <fmt/format.h>

#include "import/formats.hpp"
#include "import/read_file.hpp"
#include "import/recognise.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

Model import_file(const std::filesystem::path& file, const ModelOptions& options) {
  const std::string contents = read_file(file);
  const std::string name = file.string();
  switch (recognise(contents)) {
    case FileKind::model: return read_model(contents, name);
    case FileKind::execution_trace: return import_execution_trace(contents, name);
    case FileKind::profiler_trace: return import_profiler_trace(contents, name);
    case FileKind::cudnn_frontend_log: return import_cudnn_frontend_log(contents, name);
    case FileKind::cublaslt_log: return import_cublaslt_log(contents, name);
    case FileKind::cudnn_log: return import_cudnn_log(contents, name);
    case FileKind::cublas_log: return import_cublas_log(contents, name);
    case FileKind::onnx: return import_onnx(contents, name, options);
    case FileKind::unknown: break;
  }
  throw UsageError(fmt::format("{}: this is no record that is known; {}", name, recognised_kinds()));
}

}  // namespace jitterscope
