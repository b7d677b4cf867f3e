// Memory for operands and buffers, asked for only where it is there.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "jitterscope/units.hpp"

namespace jitterscope::cpu {

/// Aligned to a cache line, its size rounded up to whole lines, so that no two share one.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  explicit AlignedMemory(Bytes size);
  /// Takes pages that the system mapped for this program: whole ones, which it unmaps.
  static AlignedMemory mapped(std::byte* data, Bytes size);

  std::byte* data() const { return data_.get(); }
  Bytes size() const { return size_; }

 private:
  struct Free {
    Bytes mapped;  ///< 0: from the allocator
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  Bytes size_;
};

/// Throws UsageError with both numbers where less than `size` is available. Linux promises memory that
/// it does not have and kills the process later; so this is asked before.
void require_memory(Bytes size, std::string_view purpose);

}  // namespace jitterscope::cpu
