// The buffers into which CUPTI writes its records: taken on the program's threads, emptied by the writer's.
#pragma once

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitterscope::recorder {

/// Up to 64 buffers of 2 MB. Taking one and giving one back takes a few atomic operations and no memory,
/// since that happens on the program's threads, in the midst of a launch.
class BufferPool {
 public:
  static constexpr std::size_t kSize = std::size_t{2} << 20;
  static constexpr unsigned kMost = 64;

  /// Maps the first buffers. False where there is no memory for them.
  bool begin();

  /// A zeroed buffer. Where none is left: one whose records nobody reads, and this is counted.
  std::uint8_t* take() noexcept;
  /// Notes that a buffer holds so many bytes of records and wakes the writer. Buffers of others (a profiler
  /// of the program's own) are passed over.
  void complete(std::uint8_t* buffer, std::size_t valid) noexcept;

  /// For the writer: calls `consume(bytes, size)` for each buffer that is full, zeroes it and gives it back.
  template <class Consume>
  void drain(Consume&& consume) {
    for (std::uint64_t full = full_.exchange(0, std::memory_order_acquire); full != 0; full &= full - 1) {
      const unsigned index = static_cast<unsigned>(__builtin_ctzll(full));
      consume(buffers_[index], valid_[index]);
      give_back(index);
    }
  }
  /// For the writer: adds a buffer where less than two are free.
  void grow();
  /// For the writer: sleeps until a buffer is full, or so long.
  void wait(std::int64_t nanoseconds);
  /// Wakes the writer.
  void wake() noexcept { ::sem_post(&woken_); }

  /// How many bytes of records went into buffers that nobody reads, since the last call.
  std::uint64_t take_lost_bytes() noexcept { return lost_bytes_.exchange(0); }
  unsigned count() const { return count_; }

 private:
  bool add();
  void give_back(unsigned index);

  std::array<std::uint8_t*, kMost> buffers_{};
  std::array<std::size_t, kMost> valid_{};
  std::atomic<std::uint64_t> free_{0}, full_{0};
  std::atomic<std::uint64_t> lost_bytes_{0};
  std::atomic<unsigned> count_{0};
  std::uint8_t* discard_ = nullptr;
  ::sem_t woken_{};
};

}  // namespace jitterscope::recorder
