// Any file that others wrote is a model with layers, or a UsageError.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.hpp"
#include "fuzzers.hpp"
#include "import/import.hpp"
#include "import/json.hpp"
#include "import/trace_event.hpp"
#include "jitterscope/error.hpp"
#include "timeline_check.hpp"

namespace jitterscope {
namespace {

template <class Import>
void fuzz_log(const Import& import, std::string_view input) {
  try {
    const Model model = import(input, "fuzz.log");
    std::size_t count = 0;
    for (const Layer& layer : model.layers) count += layer.names.size();
    if (model.layers.empty() || count != model.calls.size()) std::abort();
    for (const Call& call : model.calls) {
      if (call.layer >= model.layers.size() || call.name.empty()) std::abort();
    }
    for (const UntimedOperator& untimed : model.untimed) {
      if (untimed.count < 1 || untimed.reason.empty()) std::abort();
    }
  } catch (const UsageError&) {
  }
}

// Checks a trace. One that ends early is checked again up to its last whole event, which leaves no bracket
// open.
template <class Check>
void fuzz_trace(const Check& check, std::string_view input) {
  try {
    try {
      check(input);
    } catch (const EarlyEnd& end) {
      if (closed_json(end.closed)) std::abort();
      check(end.closed);
    }
  } catch (const UsageError&) {
  }
}

void check_execution_trace(std::string_view text) {
  const Model model = import_execution_trace(text, "fuzz.json");
  if (model.layers.empty() || model.calls.empty()) std::abort();
  for (std::size_t i = 0; i < model.calls.size(); ++i) {
    const Call& call = model.calls[i];
    if (call.layer >= model.layers.size()) std::abort();
    const std::size_t operands = model.layers[call.layer].operation.operands().size();
    for (const OperandSource& input : call.inputs) {
      if (input.call >= i || input.operand >= operands) std::abort();
    }
  }
}

// No time on the GPU is lost.
void check_profiler_trace(std::string_view text) {
  const Model model = import_profiler_trace(text, "fuzz.json");
  if (model.layers.empty() || model.calls.empty()) std::abort();
  double sum = 0.0;
  for (const Layer& layer : model.layers) sum += layer.recorded_time().value_or(Nanoseconds(0)).value();
  for (const UntimedOperator& untimed : model.untimed) {
    sum += untimed.recorded_time.value_or(Nanoseconds(0)).value();
  }
  const double total = model.recorded_gpu_time.value_or(Nanoseconds(0)).value();
  if (std::abs(sum - total) > 1e-6 * total) std::abort();
}

// Each piece is a list of events or no JSON.
void read_pieces(const std::string& path) {
  TracePieces pieces(path);
  simdjson::ondemand::parser parser;
  while (const std::optional<simdjson::padded_string> piece = pieces.next()) {
    if (piece->size() < 2 || piece->data()[0] != '[') std::abort();
    try {
      simdjson::ondemand::document document = parser.iterate(*piece);
      for (simdjson::ondemand::value value : document.get_array()) {
        simdjson::ondemand::object object = value.get_object();
        read_trace_event(object);
      }
    } catch (const simdjson::simdjson_error&) {
      continue;  // what stands between the brackets need not be JSON
    }
  }
}

// A file beside the model, for tensors that say that their numbers are in "data".
const std::string& model_file() {
  static const TemporaryFolder folder;
  static const std::string file = [] {
    std::ofstream stream(folder.path() / "data", std::ios::binary);
    for (int i = 0; i < 512; ++i) stream.put(static_cast<char>(i % 8 == 0 ? 1 + i / 8 : 0));
    return (folder.path() / "fuzz.onnx").string();
  }();
  return file;
}

}  // namespace

void fuzz_cublas_log(std::string_view input) { fuzz_log(import_cublas_log, input); }
void fuzz_cublaslt_log(std::string_view input) { fuzz_log(import_cublaslt_log, input); }
void fuzz_cudnn_frontend_log(std::string_view input) { fuzz_log(import_cudnn_frontend_log, input); }
void fuzz_cudnn_log(std::string_view input) { fuzz_log(import_cudnn_log, input); }
void fuzz_execution_trace(std::string_view input) { fuzz_trace(check_execution_trace, input); }

// The whole is a model; and a timeline that can be shown.
void fuzz_profiler_trace(std::string_view input) {
  const int file = ::memfd_create("trace", MFD_CLOEXEC);
  if (file < 0 || ::write(file, input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  try {
    read_pieces(path);
    check_timeline(timeline::read_profiler_trace(path));
  } catch (const UsageError&) {
  }
  ::close(file);
  fuzz_trace(check_profiler_trace, input);
}

void fuzz_onnx(std::string_view input) {
  if (input.empty()) return;
  // The first byte chooses what is asked for, the rest is the file.
  ModelOptions options;
  if (input[0] & 1) options.batch = 4;
  options.training_asked = (input[0] & 2) != 0;
  if (input[0] & 4) options.axes["seq"] = 8;
  try {
    const Model model = import_onnx(input.substr(1), model_file(), options);
    if (model.layers.empty() || model.calls.empty()) std::abort();
    for (const Call& call : model.calls) {
      if (call.layer >= model.layers.size() || call.name.empty()) std::abort();
    }
  } catch (const UsageError&) {
  }
}

}  // namespace jitterscope
