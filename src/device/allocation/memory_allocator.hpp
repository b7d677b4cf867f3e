// What gives a pattern its memory.
#pragma once

#include <cstdint>
#include <optional>

#include "jitterscope/units.hpp"

namespace jitterscope {

class MemoryAllocator {
 public:
  virtual ~MemoryAllocator() = default;
  /// Throws FailedError where memory is full.
  virtual std::uintptr_t allocate(Bytes size) = 0;
  virtual void release(std::uintptr_t address) = 0;
  /// What it has of the device now.
  virtual Bytes held() const = 0;
  /// Of that, the largest block that is not in use; nothing where that is unknown.
  virtual std::optional<Bytes> largest_free() const { return std::nullopt; }
};

}  // namespace jitterscope
