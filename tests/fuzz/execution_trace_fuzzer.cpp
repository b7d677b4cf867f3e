// Any file is a model with layers or a UsageError.
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "import/early_end.hpp"
#include "import/formats.hpp"
#include "jitterscope/error.hpp"

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

// What is closed has nothing open, and is read no worse than any other file.
void check_beginning(std::string_view text) {
  const std::string closed = closed_json(text);
  if (ends_open(closed)) std::abort();
  check(closed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check(text);
  } catch (const EarlyEnd&) {
    try {
      check_beginning(text);
    } catch (const UsageError&) {
    }
  } catch (const UsageError&) {
  }
  return 0;
}
