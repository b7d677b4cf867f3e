#include "recorder/buffers.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace jitterscope::recorder {
namespace {

constexpr unsigned kFirst = 4;

std::uint8_t* map_buffer() {
  void* memory = ::mmap(nullptr, BufferPool::kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

}  // namespace

bool BufferPool::begin() {
  ::sem_init(&woken_, 0, 0);
  discard_ = map_buffer();
  for (unsigned i = 0; i < kFirst; ++i) {
    if (!add()) return false;
  }
  return discard_ != nullptr;
}

bool BufferPool::add() {
  const unsigned index = count_.load();
  if (index == kMost || (buffers_[index] = map_buffer()) == nullptr) return false;
  count_.store(index + 1, std::memory_order_release);
  free_.fetch_or(std::uint64_t{1} << index, std::memory_order_release);
  return true;
}

std::uint8_t* BufferPool::take() noexcept {
  std::uint64_t free = free_.load(std::memory_order_acquire);
  while (free != 0) {
    if (free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acq_rel)) {
      return buffers_[static_cast<unsigned>(__builtin_ctzll(free))];
    }
  }
  wake();
  return discard_;
}

void BufferPool::complete(std::uint8_t* buffer, std::size_t valid) noexcept {
  if (buffer == discard_) {
    lost_bytes_.fetch_add(valid);
    return;
  }
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    if (buffers_[i] != buffer) continue;
    valid_[i] = valid;
    full_.fetch_or(std::uint64_t{1} << i, std::memory_order_release);
    wake();
    return;
  }
}

void BufferPool::give_back(unsigned index) {
  std::memset(buffers_[index], 0, std::min(valid_[index], kSize));
  free_.fetch_or(std::uint64_t{1} << index, std::memory_order_release);
}

void BufferPool::grow() {
  const std::uint64_t free = free_.load();
  if ((free & (free - 1)) == 0) add();
}

void BufferPool::wait(std::int64_t nanoseconds) {
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += nanoseconds;
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  while (::sem_timedwait(&woken_, &until) != 0 && errno == EINTR) {
  }
  while (::sem_trywait(&woken_) == 0) {
  }
}

}  // namespace jitterscope::recorder
