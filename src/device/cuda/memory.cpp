#include "device/cuda/memory.hpp"

#include <fmt/format.h>

#include "device/cuda/driver.hpp"

namespace jitterscope::cuda {

DeviceMemory::DeviceMemory(Bytes size) : size_(size) {
  if (size.value() == 0) return;
  check(driver().cuMemAlloc(&address_, static_cast<std::size_t>(size.value())),
        fmt::format("allocating {} bytes on the GPU", size.value()));
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0) driver().cuMemFree(address_);
}

PinnedMemory::PinnedMemory(Bytes size) : size_(size) {
  if (size.value() == 0) return;
  check(driver().cuMemHostAlloc(&pointer_, static_cast<std::size_t>(size.value()), CU_MEMHOSTALLOC_DEVICEMAP),
        fmt::format("allocating {} bytes of page-locked host memory", size.value()));
}

PinnedMemory::~PinnedMemory() {
  if (pointer_ != nullptr) driver().cuMemFreeHost(pointer_);
}

CUdeviceptr PinnedMemory::device_address() const {
  if (pointer_ == nullptr) return 0;
  CUdeviceptr address = 0;
  check(driver().cuMemHostGetDevicePointer(&address, pointer_, 0), "mapping host memory into the GPU");
  return address;
}

}  // namespace jitterscope::cuda
