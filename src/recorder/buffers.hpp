// The buffers into which CUPTI writes its records: taken on the program's threads, emptied by the writer's.
#pragma once

#include <semaphore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitterscope::recorder {

/// Buffers of one mapping of 128 MB, of which memory is what has been used. CUPTI 13 gives each thread of the
/// program a buffer of its own, so that hundreds may be out at once; it gives none back in which a kernel
/// still runs, so that what a kill loses is what a buffer holds, and it zeroes a buffer on the program's
/// thread: they are small. Taking one and giving one back takes a few atomic operations and no system call,
/// since that happens on the program's threads, in the midst of a launch.
class BufferPool {
 public:
  static constexpr std::size_t kSize = std::size_t{128} << 10;  ///< 600 kernels
  static constexpr std::size_t kMost = 1024, kLeast = 64;

  /// Maps the buffers: as many as there is memory for. False where there is none.
  bool begin(std::size_t most = kMost);

  /// A buffer and its size. Where none is left: one whose records nobody reads, and this is counted.
  std::uint8_t* take(std::size_t& size) noexcept;
  /// A buffer whose records nobody reads, in a process without a pool: CUPTI before 12.9 crashes on none.
  static std::uint8_t* take_sink(std::size_t& size) noexcept;
  /// Notes that a buffer holds so many bytes of records. Buffers of others (a profiler of the program's own)
  /// are passed over.
  void complete(std::uint8_t* buffer, std::size_t valid) noexcept;

  /// For the writer: calls `consume(bytes, size)` for each buffer that has come back, and makes it free.
  template <class Consume>
  void drain(Consume&& consume) {
    for (std::size_t w = 0; w < full_.size(); ++w) {
      for (std::uint64_t full = full_[w].exchange(0, std::memory_order_acquire); full != 0;
           full &= full - 1) {
        const std::size_t index = 64 * w + static_cast<std::size_t>(__builtin_ctzll(full));
        consume(at(index), std::min(valid_[index], kSize));
        make_free(index);
      }
    }
  }
  /// For the writer: keeps some buffers free whose memory is there, so that no launch waits for the kernel.
  void grow();
  /// For the writer: sleeps until many buffers are full, or so long.
  void wait(std::int64_t nanoseconds);
  /// Wakes the writer.
  void wake() noexcept { ::sem_post(&woken_); }

  /// How many bytes of records went into buffers that nobody reads, since the last call.
  std::uint64_t take_lost_bytes() noexcept { return lost_bytes_.exchange(0); }

 private:
  std::uint8_t* at(std::size_t index) const { return begin_ + index * kSize; }
  void make_free(std::size_t index) {
    free_[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);
  }

  std::uint8_t* begin_ = nullptr;
  std::size_t most_ = 0;
  std::atomic<std::size_t> next_{0};  ///< the first that was never used
  std::array<std::atomic<std::uint64_t>, kMost / 64> free_{}, full_{};
  std::array<std::size_t, kMost> valid_{};
  std::atomic<unsigned> completed_{0};
  std::atomic<std::uint64_t> lost_bytes_{0};
  ::sem_t woken_{};
};

}  // namespace jitterscope::recorder
