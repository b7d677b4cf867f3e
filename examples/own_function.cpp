// Times a function of one's own on the CPU: the sum of a million numbers, with warm caches.
#include <cstdio>
#include <numeric>
#include <vector>

#include "jitterscope/jitterscope.hpp"

int main() try {
  const auto device = jitterscope::open_device("cpu");
  const std::vector<float> numbers(1'000'000, 1.0f);
  volatile float sum = 0.0f;  // so that the compiler must compute it

  jitterscope::MeasureOptions options;
  options.caches = {jitterscope::CacheState::warm};
  options.loads = {jitterscope::Load::burst};
  options.time_limit = jitterscope::seconds(1);
  const jitterscope::Result result = jitterscope::measure(
      *device, [&](jitterscope::NativeQueue) { sum = std::accumulate(numbers.begin(), numbers.end(), 0.0f); },
      options);
  for (const jitterscope::Measurement& measurement : result.measurements) {
    const auto& time = measurement.time;
    std::printf("burst warm: %.2f us, 95 %% interval %.2f to %.2f us\n", time.median.value() * 1e-3,
                time.low.value() * 1e-3, time.high.value() * 1e-3);
  }
  return 0;
} catch (const jitterscope::Error& error) {
  std::fprintf(stderr, "own_function: %s\n", error.what());
  return static_cast<int>(error.exit_code());
}
