#include "device/cuda/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/quantity_text.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

std::string locked_memory_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return bytes_text(Bytes(static_cast<std::int64_t>(limit.rlim_cur)));
}

// The driver answers that memory is out where it is the host's that may not be locked.
void check_page_locking(CUresult result, Bytes size) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_OPERATING_SYSTEM ||
      result == CUDA_ERROR_NOT_PERMITTED) {
    throw FailedError(fmt::format(
        "the system refuses to page-lock {} of host memory; take less, free some, or raise the limit "
        "(ulimit -l, now {})",
        bytes_text(size), locked_memory_limit()));
  }
  check(result, fmt::format("page-locking {} of host memory", bytes_text(size)));
}

}  // namespace

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
  check_page_locking(
      driver().cuMemHostAlloc(&pointer_, static_cast<std::size_t>(size.value()), CU_MEMHOSTALLOC_DEVICEMAP),
      size);
}

PinnedMemory::~PinnedMemory() {
  if (pointer_ != nullptr) driver().cuMemFreeHost(pointer_);
}

Registration::Registration(void* pointer, Bytes size) : pointer_(pointer) {
  check_page_locking(driver().cuMemHostRegister(pointer, static_cast<std::size_t>(size.value()), 0), size);
}

Registration::~Registration() { driver().cuMemHostUnregister(pointer_); }

CUdeviceptr PinnedMemory::device_address() const {
  if (pointer_ == nullptr) return 0;
  CUdeviceptr address = 0;
  check(driver().cuMemHostGetDevicePointer(&address, pointer_, 0), "mapping host memory into the GPU");
  return address;
}

}  // namespace jitterscope::cuda
