// Owned memory of the GPU and page-locked memory of the host.
#pragma once

#include <cuda.h>

#include <utility>

#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

/// Plain device memory (cuMemAlloc: aligned to 256 bytes or more). Needs the context current.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(Bytes size);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept
      : address_(std::exchange(other.address_, 0)), size_(std::exchange(other.size_, Bytes(0))) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  CUdeviceptr address() const { return address_; }
  void* pointer() const { return reinterpret_cast<void*>(address_); }  // NOLINT: as the libraries take it
  Bytes size() const { return size_; }

 private:
  CUdeviceptr address_ = 0;
  Bytes size_{0};
};

/// Page-locked host memory, mapped into the GPU's address space.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(Bytes size);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept
      : pointer_(std::exchange(other.pointer_, nullptr)), size_(std::exchange(other.size_, Bytes(0))) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(size_, other.size_);
    return *this;
  }
  void* pointer() const { return pointer_; }
  CUdeviceptr device_address() const;
  Bytes size() const { return size_; }

 private:
  void* pointer_ = nullptr;
  Bytes size_{0};
};

/// Page-locks host memory of another's while it lives.
class Registration {
 public:
  Registration(void* pointer, Bytes size);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  void* pointer_;
};

}  // namespace jitterscope::cuda
