// A plug-in without PyTorch. What it does follows from the operator's name.
#include <cstdio>
#include <cstring>
#include <string>

#include "torch_plugin/plugin_interface.h"

#ifndef NOT_A_PLUGIN

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
extern "C" const char stand_in_marker[];
__attribute__((used)) const char stand_in_marker[] = JITTERSCOPE_TORCH_MARKER
    "torch=9.9.9;cuda=;abi=0;interface=" TEXT(INTERFACE_VERSION) ";folder=" FOLDER ";";

struct JitterscopeTorchOperation {
  std::string name, request;
  void* input = nullptr;  ///< the first tensor among the arguments, as it was given
  double runs = 0.0;
};

namespace {

JitterscopeTorchResult answer(JitterscopeTorchResult result, const char* sentence, char* error, size_t size) {
  std::snprintf(error, size, "%s", sentence);
  return result;
}

JitterscopeTorchResult prepare(const JitterscopeTorchRequest* request, JitterscopeTorchOperation** operation,
                               char* error, size_t size) {
  const std::string text = request->operation;
  if (text.starts_with("aten::unknown"))
    return answer(JITTERSCOPE_TORCH_USAGE, "no such operator", error, size);
  if (text.starts_with("aten::absent")) return answer(JITTERSCOPE_TORCH_MISSING, "no CUDA here", error, size);
  *operation =
      new JitterscopeTorchOperation{text.substr(0, text.find('(')), request->device_type,
                                    request->given_count > 0 ? request->given[0].address : nullptr, 0.0};
  return JITTERSCOPE_TORCH_DONE;
}

void destroy(JitterscopeTorchOperation* operation) { delete operation; }

JitterscopeTorchResult run(JitterscopeTorchOperation* operation, void*, char* error, size_t size) {
  const std::string sentence(10'000, 'x');
  if (operation->name == "aten::fails")
    return answer(JITTERSCOPE_TORCH_FAILED, sentence.c_str(), error, size);
  operation->runs += 1.0;
  return JITTERSCOPE_TORCH_DONE;
}

JitterscopeTorchResult produce_inputs(JitterscopeTorchOperation*, void*, char*, size_t) {
  return JITTERSCOPE_TORCH_DONE;
}

const char* schema_name(const JitterscopeTorchOperation* operation) { return operation->name.c_str(); }
int waits_for_stream(const JitterscopeTorchOperation* operation) { return operation->name == "aten::waits"; }

size_t memory(const JitterscopeTorchOperation* operation, JitterscopeTorchRegion* regions, size_t capacity) {
  if (capacity > 0) regions[0] = {const_cast<double*>(&operation->runs), sizeof operation->runs};
  return 1;
}

// One input of 1024 bytes, and the output.
size_t operands(const JitterscopeTorchOperation* operation, JitterscopeTorchRegion* regions,
                size_t capacity) {
  if (capacity > 0) regions[0] = {operation->input, 1024};
  if (capacity > 1) regions[1] = {const_cast<double*>(&operation->runs), sizeof operation->runs};
  return 2;
}

size_t output_count(const JitterscopeTorchOperation*) { return 1; }
int64_t output_elements(const JitterscopeTorchOperation*, size_t index) { return index == 0 ? 1 : -1; }
JitterscopeTorchResult read_output(JitterscopeTorchOperation* operation, size_t, double* elements, char*,
                                   size_t) {
  *elements = operation->runs;
  return JITTERSCOPE_TORCH_DONE;
}

}  // namespace

#ifdef NEEDS_OTHER_TORCH
extern "C" void symbol_of_another_pytorch();
#endif

extern "C" const JitterscopeTorchPlugin* jitterscope_torch_plugin() {
#ifdef NEEDS_OTHER_TORCH
  symbol_of_another_pytorch();
#endif
  static const JitterscopeTorchPlugin plugin = {
      INTERFACE_VERSION, "9.9.9",          "",         0,
      prepare,           destroy,          run,        produce_inputs,
      schema_name,       waits_for_stream, memory,     operands,
      output_count,      output_elements,  read_output};
  return &plugin;
}

#else

extern "C" int something_else() { return 1; }

#endif
