// The host's side of a copy, by each way to allocate it.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>

#include "device/cuda/memory.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cuda {

/// Page-locked by the driver, or as malloc gives it; that is page-locked where it is to be `registered`. From
/// one NUMA node, where one is named.
class HostBuffer {
 public:
  HostBuffer(Bytes size, HostMemory memory, std::optional<int> node = {});

  void* pointer() const { return pageable_ ? pageable_.get() : pinned_.pointer(); }
  Bytes size() const { return size_; }
  /// Of memory that the driver allocated: where a kernel finds it.
  CUdeviceptr device_address() const { return pinned_.device_address(); }

 private:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  Bytes size_;
  PinnedMemory pinned_;
  std::unique_ptr<void, Free> pageable_;
  std::unique_ptr<Registration> registration_;  // ends before the memory does
};

}  // namespace jitterscope::cuda
