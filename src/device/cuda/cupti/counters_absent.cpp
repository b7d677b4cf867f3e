// Replaces the counters if the build found no cupti_range_profiler.h.
#include "device/cuda/cupti/counters.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

[[noreturn]] void fail_without_range_profiler() {
  throw MissingError(
      "this jitterscope was built without CUPTI's Range Profiler, so it cannot read hardware counters; install "
      "the CUDA toolkit of 12.6 or newer and build anew");
}

}  // namespace

std::vector<Counter> list_chip_counters(const std::string&) { fail_without_range_profiler(); }
std::vector<Counter> list_gpu_counters(const CountedGpu&) { fail_without_range_profiler(); }
void check_gpu_counters(const CountedGpu&, const std::vector<std::string>&) {}
std::unique_ptr<CounterReader> count_gpu_launches(const CountedGpu&, const std::vector<std::string>&) {
  fail_without_range_profiler();
}

}  // namespace jitterscope::cuda
