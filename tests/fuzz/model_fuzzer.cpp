// Any file is a model or a UsageError.
#include <cstddef>
#include <cstdlib>

#include "jitterscope/error.hpp"
#include "operation/model.hpp"

using namespace jitterscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Model model = read_model({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    if (model.name.empty() || model.layers.empty()) std::abort();
    for (const Layer& layer : model.layers) {
      if (layer.count() < 1) std::abort();
    }
  } catch (const UsageError&) {
  }
  return 0;
}
