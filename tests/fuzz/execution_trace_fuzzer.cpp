// Any file is a model with layers or a UsageError.
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "import/import.hpp"
#include "trace_fuzzer.hpp"

using namespace jitterscope;

void check(std::string_view text) {
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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz_trace(check, data, size);
}
