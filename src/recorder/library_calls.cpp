#include "recorder/library_calls.hpp"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "capture/format/settings.hpp"

namespace jitterscope::recorder {
namespace {

thread_local LibraryCall* ongoing_call = nullptr;

std::int64_t realtime() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::uint32_t thread_id() {
  thread_local std::uint32_t id = 0;
  if (id == 0) id = static_cast<std::uint32_t>(::gettid());
  return id;
}

LibraryCalls* begin() noexcept {
  const char* folder = std::getenv(capture::kFolderVariable);
  const char* settings = std::getenv(capture::kSettingsVariable);
  if (folder == nullptr || *folder == '\0' || settings == nullptr) return nullptr;
  try {
    if (!capture::parse_settings(settings).calls) return nullptr;
    auto* calls = new LibraryCalls;
    // A fork without exec has no writer.
    ::pthread_atfork(nullptr, nullptr, [] {
      if (LibraryCalls* here = LibraryCalls::get(); here != nullptr) here->turn(false);
    });
    return calls;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

LibraryCalls* LibraryCalls::get() noexcept {
  static LibraryCalls* const calls = begin();
  return calls;
}

LibraryCalls::LibraryCalls()
    : descriptions_(new std::atomic<const CallDescription*>[kMostDescriptions]()), cells_(new Cell[kCells]) {
  for (std::size_t i = 0; i < kCells; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
}

LibraryCall* LibraryCalls::current() noexcept { return ongoing_call; }

std::uint32_t LibraryCalls::add(CallDescription description) {
  const std::lock_guard lock(mutex_);
  if (count_ == kMostDescriptions) return LibraryCall::kNone;
  descriptions_[count_].store(new CallDescription(std::move(description)), std::memory_order_release);
  return count_++;
}

void LibraryCalls::push(const LibraryCall& call) noexcept {
  std::uint64_t place = tail_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[place % kCells];
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn == place) {
      if (!tail_.compare_exchange_weak(place, place + 1, std::memory_order_relaxed)) continue;
      cell.call = call;
      cell.turn.store(place + 1, std::memory_order_release);
      return;
    }
    if (turn < place) return lose();  // the writer is a whole round behind
    place = tail_.load(std::memory_order_relaxed);
  }
}

bool LibraryCalls::pop(LibraryCall& call) noexcept {
  Cell& cell = cells_[head_ % kCells];
  if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
  call = cell.call;
  cell.turn.store(head_ + kCells, std::memory_order_release);
  ++head_;
  return true;
}

OngoingCall::OngoingCall(LibraryCalls& calls, std::uint32_t description) noexcept : calls_(calls) {
  entry_.description = description;
  entry_.thread = thread_id();
  entry_.start = realtime();
  ongoing_call = &entry_;
}

OngoingCall::~OngoingCall() {
  ongoing_call = nullptr;
  if (is_forgotten_) return;
  entry_.duration = realtime() - entry_.start;
  calls_.push(entry_);
}

}  // namespace jitterscope::recorder
