// libFuzzer calls this function. Each fuzzer has a program of its own, which is compiled with the fuzzer's
// name as JITTERSCOPE_FUZZER.
#include <cstddef>
#include <cstdint>

#include "fuzzers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr const jitterscope::Fuzzer* kFuzzer = [] {
    for (const jitterscope::Fuzzer& fuzzer : jitterscope::kFuzzers) {
      if (fuzzer.name == JITTERSCOPE_FUZZER) return &fuzzer;
    }
    return static_cast<const jitterscope::Fuzzer*>(nullptr);
  }();
  static_assert(kFuzzer != nullptr);
  kFuzzer->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
