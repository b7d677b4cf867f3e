// Any file is a cuBLAS log or a UsageError.
#include "log_fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return jitterscope::fuzz_log(jitterscope::import_cublas_log, data, size);
}
