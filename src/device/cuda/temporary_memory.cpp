#include "device/cuda/temporary_memory.hpp"

#include <algorithm>

#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {

PooledMemory::PooledMemory(const Context& context, CUstream stream, Bytes size)
    : context_(context), stream_(stream) {
  if (context_.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
    throw UsageError("this GPU has no pool of memory in stream order");
  }
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(size.value(), 1));
  check(driver().cuMemAllocAsync(&address_, bytes, stream_), "taking memory from the GPU's pool");
}

// A GPU that is lost says so to whoever waits next.
PooledMemory::~PooledMemory() { driver().cuMemFreeAsync(address_, stream_); }

}  // namespace jitterscope::cuda
