// Owners of device memory and of page-locked host memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <cuda.h>

#include "base/random.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

/// Plain device memory (cuMemAlloc: aligned to 256 bytes or more). The context must be current.
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

/// Page-locks host memory that somebody else owns, while it lives.
class Registration {
 public:
  Registration(void* pointer, Bytes size);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  void* pointer_;
};

// Device memory whose physical memory can be exchanged while its address stays.

using PhysicalMemory = CUmemGenericAllocationHandle;

/// Physical memory of one GPU, in blocks. The block that an operand lies in decides which slices of the L2
/// and which memory channels it uses: a relu that fills half of an H200's L2 takes 1.6 % (sd) more or less in
/// another block, and a process that allocates in the same order gets much the same blocks. A block is
/// allocated in one piece, as a program does: with pages drawn one by one the same relu took 12 % longer and
/// a copy of 256 MiB 3 %. The context must be current.
class PhysicalPool {
 public:
  PhysicalPool(int ordinal, CUdevice device);
  ~PhysicalPool() { release_free(); }
  PhysicalPool(const PhysicalPool&) = delete;
  PhysicalPool& operator=(const PhysicalPool&) = delete;

  /// False if the driver or the GPU cannot map memory so.
  bool is_usable() const { return granularity_ > 0; }
  /// Later choices follow from the seed, and from the memory that the driver gives out.
  void choose(std::uint64_t seed) { random_ = Random(seed); }
  /// Page size of the GPU; 0 if the pool is not usable.
  Bytes page() const { return Bytes(granularity_); }
  /// Rounds up to whole pages.
  Bytes rounded(Bytes size) const;
  /// Returns a random free block of a rounded size; while the pool may grow, a new block is among them.
  /// Throws FailedError if memory is full.
  PhysicalMemory take(Bytes size);
  /// Returns `count` blocks of a rounded size in random order. While the pool may grow, they are drawn from
  /// twice as many, so that memory between them is left out. Throws FailedError if memory is full.
  std::vector<PhysicalMemory> take_scattered(Bytes size, std::size_t count);
  void give_back(Bytes size, PhysicalMemory block);
  /// Gives free blocks back to the driver.
  void release_free();
  Bytes free() const { return free_; }
  CUmemLocation location() const { return {CU_MEM_LOCATION_TYPE_DEVICE, ordinal_}; }

 private:
  PhysicalMemory make(Bytes size);
  void leave_gap(Bytes room);

  int ordinal_;
  std::int64_t granularity_ = 0;
  Bytes free_{0};                                               // size of free blocks and gaps
  std::map<std::int64_t, std::vector<PhysicalMemory>> blocks_;  // free blocks by size
  std::vector<PhysicalMemory> gaps_;
  Random random_{0};
};

/// Device memory at a fixed address. It can be moved to other blocks unless it was made without a pool.
class PlacedMemory {
 public:
  /// Takes one block, or pieces of `pages_per_piece` of the GPU's pages scattered over its memory; plain
  /// memory without a usable pool.
  PlacedMemory(PhysicalPool* pool, Bytes size, std::int64_t pages_per_piece = 0);
  ~PlacedMemory();
  PlacedMemory(const PlacedMemory&) = delete;
  PlacedMemory& operator=(const PlacedMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  void* pointer() const { return reinterpret_cast<void*>(address_); }  // NOLINT: as the libraries take it
  Bytes size() const { return size_; }
  /// Moves the contents to another block; the GPU must be idle. False for plain memory, or if there is no
  /// room for a second copy.
  bool place_anew(CUstream stream);

 private:
  std::vector<PhysicalMemory> take() const;
  void give_back(const std::vector<PhysicalMemory>& blocks) const;
  void map(CUdeviceptr address, const std::vector<PhysicalMemory>& blocks) const;
  void unmap(CUdeviceptr address) const;

  PhysicalPool* pool_;
  Bytes size_, mapped_{0}, block_size_{0};
  DeviceMemory plain_;
  CUdeviceptr address_ = 0;
  std::vector<PhysicalMemory> blocks_;  ///< in the order of addresses; empty for plain memory
};

// Memory that an operation needs only while it runs.

class Context;

/// Hands the same memory to one operation after the other, as PyTorch's caching allocator does: there a
/// workspace is free again as soon as its call is enqueued, and the next call gets the smallest free block
/// that is large enough (c10/cuda/CUDACachingAllocator.cpp). In a network whose calls run in sequence, the
/// L2's contents depend on it. Correct only for work on one stream, such as Context::stream().
template <class Memory>
class WorkspacePool {
 public:
  /// Returns a block that is shared with all who hold it, and freed when nobody does. A new block is made
  /// from `how` and the size.
  template <class... How>
  std::shared_ptr<const Memory> take(Bytes size, How&&... how) {
    std::erase_if(blocks_, [](const auto& block) { return block.expired(); });
    std::shared_ptr<Memory> smallest;
    for (const std::weak_ptr<Memory>& known : blocks_) {
      const std::shared_ptr<Memory> block = known.lock();
      if (block->size() < size || (smallest && smallest->size() <= block->size())) continue;
      smallest = block;
    }
    if (!smallest) {
      smallest = std::make_shared<Memory>(std::forward<How>(how)..., size);
      blocks_.push_back(smallest);
    }
    return smallest;
  }
  /// Calls `visit` with each block that somebody holds.
  template <class Visitor>
  void visit(const Visitor& visit) const {
    for (const std::weak_ptr<Memory>& known : blocks_) {
      if (const std::shared_ptr<Memory> block = known.lock()) visit(*block);
    }
  }

 private:
  std::vector<std::weak_ptr<Memory>> blocks_;
};

/// A workspace of the size that was asked for; its block may be larger.
class Workspace {
 public:
  Workspace() = default;
  Workspace(const Context& context, Bytes size);
  void* pointer() const { return block_ ? block_->pointer() : nullptr; }
  Bytes size() const { return size_; }

 private:
  std::shared_ptr<const PlacedMemory> block_;
  Bytes size_{0};
};

}  // namespace jitterscope::cuda
