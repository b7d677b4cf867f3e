// Small GPUs with round numbers, and what tests of the virtual device do over and over.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "device/virtual/virtual_device.hpp"

namespace jitterscope::virtual_gpu {

/// 100 processors at 1,000 MHz without any cause of variation but the caches. Launch calls cost 3 us, gaps
/// are 1 us and in recordings 0.5 us, an empty kernel takes 1 us.
physics::Parameters plain_gpu();

/// A device with one queue, and a log of what its GPU ran.
struct Bench {
  explicit Bench(const physics::Parameters& parameters = plain_gpu(), std::uint64_t seed = 1);

  std::unique_ptr<PreparedOperation> prepare(std::string_view operation,
                                             DataKind kind = DataKind::normal) const;
  /// Median by marks around each of 15 launches in a held queue, less what the marks add.
  Nanoseconds time_of(PreparedOperation& operation, CacheState cache = CacheState::warm) const;

  std::unique_ptr<VirtualDevice> device;
  std::unique_ptr<Queue> queue;
  std::vector<physics::Execution> ran;
};

}  // namespace jitterscope::virtual_gpu
