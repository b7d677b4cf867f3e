// Any file is a model with layers or a UsageError.
#include <cstddef>
#include <cstdlib>

#include "import/formats.hpp"
#include "jitterscope/error.hpp"

using namespace jitterscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Model model = import_execution_trace({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    if (model.layers.empty() || model.calls.empty()) std::abort();
    for (std::size_t i = 0; i < model.calls.size(); ++i) {
      const Call& call = model.calls[i];
      if (call.layer >= model.layers.size()) std::abort();
      const std::size_t operands = model.layers[call.layer].operation.operands().size();
      for (const OperandSource& input : call.inputs) {
        if (input.call >= i || input.operand >= operands) std::abort();
      }
    }
  } catch (const UsageError&) {
  }
  return 0;
}
