// Any file is a model with layers or a UsageError, and no time on the GPU is lost.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "import/early_end.hpp"
#include "import/formats.hpp"
#include "jitterscope/error.hpp"

using namespace jitterscope;

void check(std::string_view text) {
  const Model model = import_profiler_trace(text, "fuzz.json");
  if (model.layers.empty() || model.calls.empty()) std::abort();
  double sum = 0.0;
  for (const Layer& layer : model.layers) sum += layer.recorded_time.value_or(Nanoseconds(0)).value();
  for (const UntimedOperator& untimed : model.untimed) {
    sum += untimed.recorded_time.value_or(Nanoseconds(0)).value();
  }
  const double total = model.recorded_gpu_time.value_or(Nanoseconds(0)).value();
  if (std::abs(sum - total) > 1e-6 * total) std::abort();
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
