// Memory whose place in the GPU can be exchanged below an address that stays.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "device/cuda/memory.hpp"

namespace jitterscope::cuda {

using PhysicalMemory = CUmemGenericAllocationHandle;

/// Physical memory of one GPU, in blocks. Which of it an operand lies in decides which slices of the L2 and
/// which channels it uses: a relu that fills half of an H200's L2 takes 1.6 % (sd) more or less in another
/// block, and a process that allocates in the same order gets much the same ones. A block is asked for as
/// one, as a program's is: of pages drawn one by one the same relu took 12 % longer and a copy of 256 MiB 3
/// %. Needs the context current.
class PhysicalPool {
 public:
  PhysicalPool(int ordinal, CUdevice device);
  ~PhysicalPool() { release_free(); }
  PhysicalPool(const PhysicalPool&) = delete;
  PhysicalPool& operator=(const PhysicalPool&) = delete;

  /// False where driver or GPU cannot map memory so.
  bool is_usable() const { return granularity_ > 0; }
  /// What is drawn from now on follows from the seed, and from the memory that the driver gives out.
  void choose(std::uint64_t seed) { random_ = Random(seed); }
  /// Of the GPU; 0 where it is not usable.
  Bytes page() const { return Bytes(granularity_); }
  /// In whole pages.
  Bytes rounded(Bytes size) const;
  /// A random block of a rounded size among those that are free, a new one among them while the pool may
  /// grow. Throws FailedError where memory is full.
  PhysicalMemory take(Bytes size);
  /// So many blocks of a rounded size, in random order and, while the pool may grow, drawn from twice as
  /// many: what lies between them is not among them. Throws FailedError where memory is full.
  std::vector<PhysicalMemory> take_scattered(Bytes size, std::size_t count);
  void give_back(Bytes size, PhysicalMemory block);
  /// Gives blocks that nobody uses to the driver.
  void release_free();
  Bytes free() const { return free_; }
  CUmemLocation location() const { return {CU_MEM_LOCATION_TYPE_DEVICE, ordinal_}; }

 private:
  PhysicalMemory make(Bytes size);
  void leave_gap(Bytes room);

  int ordinal_;
  std::int64_t granularity_ = 0;
  Bytes free_{0};                                               // of blocks and gaps
  std::map<std::int64_t, std::vector<PhysicalMemory>> blocks_;  // free ones, by their size
  std::vector<PhysicalMemory> gaps_;
  Random random_{0};
};

/// Device memory at one address. It can be moved to other blocks unless it was made without a pool.
class PlacedMemory {
 public:
  /// Without a usable pool it is plain memory. In one block, or in pieces of so many of the GPU's pages that
  /// are scattered over its memory.
  PlacedMemory(PhysicalPool* pool, Bytes size, std::int64_t pages_per_piece = 0);
  ~PlacedMemory();
  PlacedMemory(const PlacedMemory&) = delete;
  PlacedMemory& operator=(const PlacedMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  void* pointer() const { return reinterpret_cast<void*>(address_); }  // NOLINT: as the libraries take it
  Bytes size() const { return size_; }
  /// Moves what it holds to another block; the GPU must be idle. False where it is plain memory, or where
  /// there is no room for a second copy.
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
  std::vector<PhysicalMemory> blocks_;  ///< one behind the other; none of plain memory
};

}  // namespace jitterscope::cuda
