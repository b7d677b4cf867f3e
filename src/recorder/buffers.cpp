#include "recorder/buffers.hpp"

#include <sys/mman.h>
#include <time.h>

#include <cerrno>

namespace jitterscope::recorder {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAhead = 16;
// The writer looks ten times a second anyhow: it is woken only for what fills the pool before that.
constexpr unsigned kWakeEvery = 64;

// Where records go that have no buffer. As long as no more than these are out, no two threads write to one.
constexpr std::size_t kSinks = 16, kSinkSize = std::size_t{16} << 10;
struct alignas(kPage) Sink {
  std::array<std::uint8_t, kSinkSize> bytes;
};
std::array<Sink, kSinks> sinks;
std::array<std::atomic<unsigned>, kSinks> sinks_out;
std::atomic<unsigned> next_sink{0};

}  // namespace

bool BufferPool::begin(std::size_t most) {
  ::sem_init(&woken_, 0, 0);
  for (; most >= kLeast; most /= 2) {
    void* memory = ::mmap(nullptr, most * kSize, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) continue;
    begin_ = static_cast<std::uint8_t*>(memory);
    most_ = most;
    grow();
    return true;
  }
  return false;
}

std::uint8_t* BufferPool::take(std::size_t& size) noexcept {
  size = kSize;
  for (std::size_t w = 0; w < free_.size(); ++w) {
    std::uint64_t bits = free_[w].load(std::memory_order_relaxed);
    while (bits != 0) {
      if (free_[w].compare_exchange_weak(bits, bits & (bits - 1), std::memory_order_acq_rel))
        return at(64 * w + static_cast<std::size_t>(__builtin_ctzll(bits)));
    }
  }
  // One that was never used: that its memory is not there yet costs this thread some page faults, no records.
  std::size_t index = next_.load(std::memory_order_relaxed);
  while (index < most_) {
    if (next_.compare_exchange_weak(index, index + 1, std::memory_order_relaxed)) return at(index);
  }
  wake();
  return take_sink(size);
}

std::uint8_t* BufferPool::take_sink(std::size_t& size) noexcept {
  size = kSinkSize;
  for (std::size_t i = 0; i < kSinks; ++i) {
    unsigned none = 0;
    if (sinks_out[i].compare_exchange_strong(none, 1, std::memory_order_acq_rel))
      return sinks[i].bytes.data();
  }
  const std::size_t shared = next_sink.fetch_add(1, std::memory_order_relaxed) % kSinks;
  sinks_out[shared].fetch_add(1, std::memory_order_relaxed);
  return sinks[shared].bytes.data();
}

void BufferPool::complete(std::uint8_t* buffer, std::size_t valid) noexcept {
  const auto offset_from = [&](const void* begin) {
    return reinterpret_cast<std::uintptr_t>(buffer) - reinterpret_cast<std::uintptr_t>(begin);
  };
  if (const std::size_t offset = offset_from(sinks.data()); offset < sizeof sinks) {
    sinks_out[offset / sizeof(Sink)].fetch_sub(1, std::memory_order_release);
    lost_bytes_.fetch_add(valid, std::memory_order_relaxed);
    return;
  }
  const std::size_t index = offset_from(begin_) / kSize;
  if (index >= most_) return;
  valid_[index] = valid;
  full_[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);
  if (completed_.fetch_add(1, std::memory_order_relaxed) % kWakeEvery == kWakeEvery - 1) wake();
}

void BufferPool::grow() {
  std::size_t free = 0;
  for (const auto& word : free_)
    free += static_cast<std::size_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
  for (; free < kAhead; ++free) {
    std::size_t index = next_.load();
    while (index < most_ && !next_.compare_exchange_weak(index, index + 1)) {
    }
    if (index >= most_) return;
    for (std::size_t i = 0; i < kSize; i += kPage) *static_cast<volatile std::uint8_t*>(at(index) + i) = 0;
    make_free(index);
  }
}

void BufferPool::wait(std::int64_t nanoseconds) {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += nanoseconds;
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  while (::sem_clockwait(&woken_, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR) {
  }
  while (::sem_trywait(&woken_) == 0) {
  }
}

}  // namespace jitterscope::recorder
