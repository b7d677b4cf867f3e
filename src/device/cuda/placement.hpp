// Where operands lie in the GPU's memory: the same place in each process, until another is asked for.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "device/cuda/memory.hpp"

namespace jitterscope::cuda {

/// The driver gives out pages of 2 MiB in the same order in each process, so two runs have their operands in
/// the same pages, and agree; a program that allocated something before has others. Gaps between operands
/// move them against each other, as to the channels and the cache's sets that their addresses select.
class Placement {
 public:
  /// Of the operands from now on; 0 leaves no gaps. Needs the context current.
  void choose(std::int64_t number) {
    gaps_.clear();
    number_ = number;
    random_ = Random(static_cast<std::uint64_t>(number));
  }
  /// Before the next operand. Throws FailedError where memory is full.
  void leave_gap() {
    constexpr std::int64_t kPage = 2 << 20, kMostPages = 16;
    if (number_ == 0) return;
    gaps_.emplace_back(Bytes(kPage * static_cast<std::int64_t>(1 + random_.below(kMostPages))));
  }

 private:
  std::int64_t number_ = 0;
  Random random_{0};
  std::vector<DeviceMemory> gaps_;
};

}  // namespace jitterscope::cuda
