// Any file is a model with layers or a UsageError, and no time on the GPU is lost.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "import/import.hpp"
#include "trace_fuzzer.hpp"

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return fuzz_trace(check, data, size);
}
