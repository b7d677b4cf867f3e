// Implements the C interface: no exception crosses it.
#include <ATen/Version.h>

#include <algorithm>
#include <cstring>

#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/words.hpp"
#include "torch_plugin/plugin_interface.h"
#include "torch_plugin/prepared_operator.hpp"
#include "torch_plugin/refusal.hpp"

using namespace jitterscope;
using namespace jitterscope::torch_plugin;

struct JitterscopeTorchOperation : PreparedOperator {
  using PreparedOperator::PreparedOperator;
};

#define JITTERSCOPE_TEXT_OF(value) #value
#define JITTERSCOPE_TEXT(value) JITTERSCOPE_TEXT_OF(value)
#ifndef JITTERSCOPE_TORCH_CUDA_VERSION
#define JITTERSCOPE_TORCH_CUDA_VERSION ""
#endif

// One string, so that the file can be searched for it without being opened as a library.
extern "C" const char jitterscope_torch_plugin_marker[];
__attribute__((used)) const char jitterscope_torch_plugin_marker[] =
    JITTERSCOPE_TORCH_MARKER "torch=" TORCH_VERSION ";cuda=" JITTERSCOPE_TORCH_CUDA_VERSION
                             ";abi=" JITTERSCOPE_TEXT(_GLIBCXX_USE_CXX11_ABI) ";interface=" JITTERSCOPE_TEXT(
                                 JITTERSCOPE_TORCH_INTERFACE_VERSION) ";folder=" JITTERSCOPE_TORCH_FOLDER ";";

namespace {

void write_error(const std::string& sentence, char* error, size_t error_size) {
  if (error == nullptr || error_size == 0) return;
  const std::size_t length = std::min(sentence.size(), error_size - 1);
  std::memcpy(error, sentence.data(), length);
  error[length] = '\0';
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Returns the first line, which says what is wrong: PyTorch's messages run over pages.
std::string first_line(const std::string& message) {
  constexpr std::size_t kLongest = 400;
  return printable(message.substr(0, message.find('\n')), kLongest);
}

std::string sentence_of(const c10::Error& error) {
  const std::string message = error.what_without_backtrace();
  if (contains(message, "Could not run") && contains(message, "backend"))
    return "PyTorch " TORCH_VERSION " has no kernel of it for this device";
  return "PyTorch says: " + first_line(message);
}

// Calls `action`; its exception becomes a sentence. `otherwise` is the result of PyTorch's own errors.
template <class Action>
JitterscopeTorchResult guarded(JitterscopeTorchResult otherwise, const std::string& subject, char* error,
                               size_t error_size, const Action& action) {
  try {
    action();
    return JITTERSCOPE_TORCH_DONE;
  } catch (const Refusal& refusal) {
    write_error(printable(refusal.what(), 1000), error, error_size);
    return refusal.result();
  } catch (const Error& problem) {
    write_error(problem.what(), error, error_size);
    return JITTERSCOPE_TORCH_USAGE;
  } catch (const c10::Error& problem) {
    write_error(subject + ": " + sentence_of(problem), error, error_size);
    return contains(problem.what(), "out of memory") ? JITTERSCOPE_TORCH_USAGE : otherwise;
  } catch (const std::exception& problem) {
    write_error(subject + ": " + first_line(problem.what()), error, error_size);
    return otherwise;
  } catch (...) {
    write_error(subject + ": PyTorch failed without saying why", error, error_size);
    return JITTERSCOPE_TORCH_FAILED;
  }
}

// Returns "1.13.0" from "  - Build settings: …, TORCH_VERSION=1.13.0, …"; empty if it is not there.
std::string loaded_version() {
  const std::string settings = at::show_config(), key = "TORCH_VERSION=";
  const std::size_t begin = settings.find(key);
  if (begin == std::string::npos) return {};
  return settings.substr(begin + key.size(), settings.find(',', begin) - begin - key.size());
}

void require_version() {
  static const std::string loaded = loaded_version();
  if (loaded.empty() || loaded == TORCH_VERSION) return;
  throw Refusal(JITTERSCOPE_TORCH_MISSING,
                "the plug-in for PyTorch was built with PyTorch " TORCH_VERSION ", but " + loaded +
                    " is loaded; build it again (docs/guide/pytorch-operators.md)");
}

at::Device device_of(const JitterscopeTorchRequest& request) {
  if (std::strcmp(request.device_type, "cpu") == 0) return at::Device(at::kCPU);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(request.ordinal)};
}

JitterscopeTorchResult prepare(const JitterscopeTorchRequest* request, JitterscopeTorchOperation** operation,
                               char* error, size_t error_size) {
  const std::string text = request->operation;
  return guarded(JITTERSCOPE_TORCH_USAGE, text.substr(0, text.find('(')), error, error_size, [&] {
    require_version();
    const at::Device device = device_of(*request);
    require_device(device);
    *operation = new JitterscopeTorchOperation(parse_aten(text), device, *request);
  });
}

void destroy(JitterscopeTorchOperation* operation) { delete operation; }

JitterscopeTorchResult run(JitterscopeTorchOperation* operation, void* stream, char* error,
                           size_t error_size) {
  return guarded(JITTERSCOPE_TORCH_FAILED, operation->schema_name(), error, error_size,
                 [&] { operation->run(stream); });
}

JitterscopeTorchResult produce_inputs(JitterscopeTorchOperation* operation, void* stream, char* error,
                                      size_t error_size) {
  return guarded(JITTERSCOPE_TORCH_FAILED, operation->schema_name(), error, error_size,
                 [&] { operation->produce_inputs(stream); });
}

const char* schema_name(const JitterscopeTorchOperation* operation) {
  return operation->schema_name().c_str();
}
int waits_for_stream(const JitterscopeTorchOperation* operation) {
  return operation->waits_for_stream() ? 1 : 0;
}

template <class List>
size_t write_regions(const List& list, JitterscopeTorchRegion* regions, size_t capacity) {
  try {
    const std::vector<JitterscopeTorchRegion> all = list();
    std::copy_n(all.begin(), std::min(all.size(), capacity), regions);
    return all.size();
  } catch (const std::exception&) {
    return 0;
  }
}

size_t memory(const JitterscopeTorchOperation* operation, JitterscopeTorchRegion* regions, size_t capacity) {
  return write_regions([&] { return operation->memory(); }, regions, capacity);
}
size_t operands(const JitterscopeTorchOperation* operation, JitterscopeTorchRegion* regions,
                size_t capacity) {
  return write_regions([&] { return operation->operands(); }, regions, capacity);
}

size_t output_count(const JitterscopeTorchOperation* operation) {
  try {
    return operation->outputs().size();
  } catch (const std::exception&) {
    return 0;
  }
}

int64_t output_elements(const JitterscopeTorchOperation* operation, size_t index) {
  try {
    return operation->outputs().at(index).numel();
  } catch (const std::exception&) {
    return -1;
  }
}

JitterscopeTorchResult read_output(JitterscopeTorchOperation* operation, size_t index, double* elements,
                                   char* error, size_t error_size) {
  return guarded(JITTERSCOPE_TORCH_FAILED, operation->schema_name(), error, error_size, [&] {
    const std::vector<double> values = operation->read_output(index);
    std::copy(values.begin(), values.end(), elements);
  });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const JitterscopeTorchPlugin* jitterscope_torch_plugin() {
  static const JitterscopeTorchPlugin plugin = {JITTERSCOPE_TORCH_INTERFACE_VERSION,
                                                TORCH_VERSION,
                                                JITTERSCOPE_TORCH_CUDA_VERSION,
                                                _GLIBCXX_USE_CXX11_ABI,
                                                prepare,
                                                destroy,
                                                run,
                                                produce_inputs,
                                                schema_name,
                                                waits_for_stream,
                                                memory,
                                                operands,
                                                output_count,
                                                output_elements,
                                                read_output};
  return &plugin;
}
