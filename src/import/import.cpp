#include "import/import.hpp"

#include <fmt/format.h>

#include "import/early_end.hpp"
#include "import/formats.hpp"
#include "import/read_file.hpp"
#include "import/recognise.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

namespace {

Model import_text(std::string_view text, const std::string& name, const ModelOptions& options,
                  bool ends_early = false) {
  switch (recognise(text)) {
    case FileKind::model: return read_model(text, name);
    case FileKind::execution_trace: return import_execution_trace(text, name);
    case FileKind::profiler_trace: return import_profiler_trace(text, name, ends_early);
    case FileKind::cudnn_frontend_log: return import_cudnn_frontend_log(text, name);
    case FileKind::cublaslt_log: return import_cublaslt_log(text, name);
    case FileKind::cudnn_log: return import_cudnn_log(text, name);
    case FileKind::cublas_log: return import_cublas_log(text, name);
    case FileKind::onnx: return import_onnx(text, name, options);
    case FileKind::own:
    case FileKind::page: throw UsageError(misplaced_file(text, name, "no network, trace or log"));
    case FileKind::unknown: break;
  }
  throw UsageError(fmt::format("{}: this is no record that is known; {}", name, recognised_kinds()));
}

void mark_incomplete(Model& model, const char* note) {
  model.notes.insert(model.notes.begin(), note);
  model.is_incomplete = true;
}

/// Of a trace whose program was stopped while it wrote, what it holds before.
Model import_beginning(std::string_view text, const std::string& name, const ModelOptions& options) {
  try {
    return import_text(text, name, options);
  } catch (const EarlyEnd& end) {
    if (end.closed.empty()) throw;
    constexpr bool kEndsEarly = true;
    Model model = import_text(end.closed, name, options, kEndsEarly);
    mark_incomplete(
        model,
        "The file ends early, in the middle of its JSON: this is what it holds before, and counts "
        "are too small.");
    return model;
  }
}

}  // namespace

Model import_file(const std::filesystem::path& file, const ModelOptions& options) {
  const FileContents contents = read_file(file);
  if (!contents.ends_early) return import_beginning(contents.text, file.string(), options);
  try {
    Model model = import_beginning(contents.text, file.string(), options);
    mark_incomplete(model, "The gzip file ends early; was it copied in full?");
    return model;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}; the gzip file ends early: was it copied in full?", error.what()));
  }
}

}  // namespace jitterscope
