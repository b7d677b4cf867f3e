#include "import/recognise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace jitterscope {
namespace {

// Enough to skip other programs' output before the first record of a log.
constexpr std::size_t kHead = 1 << 20;

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

// Returns the word that is a key's first value in JSON, as in "format": "jitterscope-record"; else empty.
std::string_view word_of(std::string_view text, std::string_view key) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::string name = fmt::format("\"{}\"", key);
  const std::size_t place = text.find(name);
  if (place == std::string_view::npos) return {};
  text.remove_prefix(place + name.size());
  for (const char part : {':', '"'}) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with(part)) return {};
    text.remove_prefix(1);
  }
  const std::string_view word = text.substr(0, text.find('"'));
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return word.find_first_not_of(kLetters) == std::string_view::npos ? word : std::string_view();
}

// Returns "record" for {"format": "jitterscope-record", …}, which all files of jitterscope have.
std::string_view own_format(std::string_view text) {
  constexpr std::string_view kPrefix = "jitterscope-";
  const std::string_view format = word_of(text.substr(0, kHead), "format");
  return format.starts_with(kPrefix) ? format.substr(kPrefix.size()) : std::string_view();
}

bool holds(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// Recognises JSON by names of fields, which stand near the beginning. Only "nodes" and "traceEvents" may come
// late: for them the whole text is searched.
FileKind recognise_json(std::string_view text) {
  const std::string_view head = text.substr(0, kHead), own = own_format(text);
  if (!own.empty() && own != "model") return FileKind::own;
  if (holds(head, "\"jitterscope-model\"")) return FileKind::model;
  if (holds(head, "\"traceEvents\"")) return FileKind::profiler_trace;
  if (holds(head, "\"nodes\"") && (holds(head, "\"ctrl_deps\"") || holds(head, "\"schema\""))) {
    return FileKind::execution_trace;
  }
  // Chrome also reads a bare list of events.
  if (text.starts_with('[') && holds(head, "\"ph\"")) return FileKind::profiler_trace;
  if (holds(text, "\"traceEvents\"")) return FileKind::profiler_trace;
  if (holds(head, "\"nodes\"") || (holds(head, "\"schema\"") && holds(text, "\"nodes\""))) {
    return FileKind::execution_trace;
  }
  return holds(head, "\"layers\"") && holds(head, "\"format\"") ? FileKind::model : FileKind::unknown;
}

// Reads a variable-length number of a protobuf message.
std::optional<std::uint64_t> read_number(std::string_view& bytes) {
  std::uint64_t result = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    result |= static_cast<std::uint64_t>(byte & 0x7fu) << shift;
    if ((byte & 0x80u) == 0) return result;
  }
  return std::nullopt;
}

// True for an onnx.ModelProto: all fields are known, none runs past the end, and one is the graph (7).
bool is_onnx(std::string_view bytes) {
  constexpr std::uint64_t kGraph = 7, kLargestField = 25;
  bool has_graph = false;
  while (!bytes.empty()) {
    const std::optional<std::uint64_t> key = read_number(bytes);
    if (!key || (*key >> 3) == 0 || (*key >> 3) > kLargestField) return false;
    const std::uint64_t wire_type = *key & 7;
    if (wire_type != 0 && wire_type != 2) return false;
    const std::optional<std::uint64_t> value = read_number(bytes);
    if (!value) return false;
    if (wire_type == 0) continue;
    has_graph |= (*key >> 3) == kGraph;
    // A file cut in the middle of its graph counts as ONNX: its reader reports the damage.
    if (*value > bytes.size()) return has_graph;
    bytes.remove_prefix(*value);
  }
  return has_graph;
}

FileKind recognise_log(std::string_view head) {
  if (holds(head, "[cudnn_frontend]")) return FileKind::cudnn_frontend_log;
  if (holds(head, "[cublasLt]")) return FileKind::cublaslt_log;
  if (holds(head, "I! CuDNN") || holds(head, "I! cuDNN") || holds(head, "cuDNN (v") ||
      holds(head, "CuDNN (v")) {
    return FileKind::cudnn_log;
  }
  if (holds(head, "I! cuBLAS")) return FileKind::cublas_log;
  return FileKind::unknown;
}

bool is_page(std::string_view text) {
  constexpr std::string_view kBeginnings[] = {"<!DOCTYPE html", "<!doctype html", "<html"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view each) { return text.starts_with(each); });
}

struct FileWords {
  std::string what, taken_by;  ///< complete "this is …" and "no record: …"
};

FileWords words_of_record(std::string_view command, const std::string& name) {
  if (command.empty()) return {"a damaged record", ""};
  const std::string shown =
      fmt::format("`jitterscope show {0}` prints it, `jitterscope report {0} -o PAGE.html` draws it", name);
  if (command == "run") {
    return {"a record that `jitterscope run` wrote",
            shown + ", and `jitterscope compare` and `explain` take two of them"};
  }
  return {fmt::format("a record that `jitterscope {}` wrote", command), shown};
}

// Version 1 wrote one format for each command: "jitterscope-doctor".
FileWords words_of_own(std::string_view text, const std::string& name) {
  const std::string_view format = own_format(text);
  if (format == "record") return words_of_record(word_of(text.substr(0, kHead), "command"), name);
  if (format == "journal") {
    return {
        "the journal of an unfinished run",
        fmt::format(
            "`jitterscope show {0}` prints it, and `jitterscope run TARGETS --continue {0}` goes on with it",
            name)};
  }
  if (format == "benchmarks") {
    return {"a file of the pytest plug-in", "`pytest --gpu-benchmark-compare` takes it"};
  }
  for (const std::string_view internal : {"plan", "load", "error", "list", "layers"}) {
    if (format == internal) return {fmt::format("an internal file of jitterscope (format {})", format), ""};
  }
  return words_of_record(format, name);
}

FileWords words_for(FileKind kind, std::string_view text, const std::string& name) {
  const std::string timed =
      fmt::format("`jitterscope run {0}` times its layers, and `jitterscope list {0}` shows them", name);
  switch (kind) {
    case FileKind::model: return {"a model", timed};
    case FileKind::execution_trace: return {"an execution trace of PyTorch", timed};
    case FileKind::profiler_trace: return {"a profiler trace of PyTorch", timed};
    case FileKind::cudnn_frontend_log: return {"a log of cudnn-frontend", timed};
    case FileKind::cublaslt_log: return {"a log of cuBLASLt", timed};
    case FileKind::cudnn_log: return {"a log of cuDNN", timed};
    case FileKind::cublas_log: return {"a log of cuBLAS", timed};
    case FileKind::onnx: return {"an ONNX model", timed};
    case FileKind::own: return words_of_own(text, name);
    case FileKind::page:
      return {"a page for a browser", "use the record that it was drawn from, which --json writes"};
    case FileKind::unknown: break;
  }
  return {};
}

}  // namespace

std::string misplaced_file(std::string_view contents, const std::string& name, std::string_view wanted) {
  const FileWords words = words_for(recognise(contents), contents, name);
  if (words.what.empty()) return {};
  return fmt::format("{}: this is {}, {}{}{}", name, words.what, wanted, words.taken_by.empty() ? "" : ": ",
                     words.taken_by);
}

FileKind recognise(std::string_view contents) {
  const std::string_view text = without_blanks(contents);
  // A log's lines may begin with a bracket, as a JSON list does.
  if (const FileKind log = recognise_log(text.substr(0, kHead));
      log != FileKind::unknown && !text.starts_with('{')) {
    return log;
  }
  if (text.starts_with('{') || text.starts_with('[')) return recognise_json(text);
  if (is_page(text)) return FileKind::page;
  return is_onnx(contents) ? FileKind::onnx : FileKind::unknown;
}

std::string recognised_kinds() {
  return "recognised by their content, also as .gz:\n"
         "  PyTorch execution trace   "
         "torch.profiler.ExecutionTraceObserver().register_callback(\"et.json\")\n"
         "  PyTorch profiler trace    torch.profiler.profile(record_shapes=True), then "
         "export_chrome_trace(\"trace.json\")\n"
         "  cudnn-frontend log        CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=fe.log python …\n"
         "  cuBLASLt log              CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=lt.log python …\n"
         "  cuDNN log                 CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=cudnn.log python …\n"
         "  cuBLAS log                CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=cublas.log python …\n"
         "  ONNX model                torch.onnx.export(model, inputs, \"model.onnx\")\n"
         "  jitterscope model         JSON with \"format\": \"jitterscope-model\"";
}

}  // namespace jitterscope
