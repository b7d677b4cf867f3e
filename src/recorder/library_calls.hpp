// Calls of the program to cuDNN, cuBLASLt and cuBLAS (`capture --calls`): what they compute is described
// once, each call is an entry that the writer takes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "capture/format/tables.hpp"
#include "recorder/library_api.hpp"

namespace jitterscope::recorder {

/// The part that all calls of a plan share, or all products of this kind.
struct CallDescription {
  static constexpr std::size_t kMostOperands = 24;
  struct Operand {
    std::string name;
    std::uint64_t bytes = 0;
    capture::OperandUse use = capture::OperandUse::unknown;
    std::int64_t id = 0;  ///< cuDNN's number of the tensor
  };

  Library library = Library::cudnn;
  std::string words;   ///< the call as its library's descriptors say it
  std::string engine;  ///< tag of the engine or algorithm; empty: the library chose it without telling
  std::uint64_t workspace_bytes = 0;
  std::vector<Operand> operands;  ///< at most kMostOperands
};

struct LibraryCall {
  static constexpr std::size_t kMostLaunches = 12;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::int64_t start = 0, duration = 0;  ///< CLOCK_REALTIME; on the program's thread
  std::uint32_t thread = 0, description = kNone;
  std::uint32_t inner = kNone;        ///< the call within it, as cuBLAS makes one of cuBLASLt
  std::uint32_t launches = 0;         ///< kernels that it launched
  std::uint32_t last_launch = 0;      ///< correlation id
  std::uint64_t workspace = 0;        ///< address
  std::uint64_t workspace_bytes = 0;  ///< of this call; 0: as described
  std::array<std::uint64_t, CallDescription::kMostOperands> addresses{};  ///< 0: unknown
  std::array<std::uint32_t, kMostLaunches> correlations{};                ///< of the first launches
};

/// Never freed, as threads of the program may still call at its end. A call of a kind that was seen before
/// takes no lock and no memory.
class LibraryCalls {
 public:
  /// Null unless the settings in the environment ask for calls.
  static LibraryCalls* get() noexcept;
  LibraryCalls();

  /// Calls that begin from now on are recorded, or not.
  void turn(bool on) noexcept { is_on_.store(on, std::memory_order_relaxed); }
  bool is_on() const noexcept { return is_on_.load(std::memory_order_relaxed); }

  /// The call that this thread is in, or null.
  static LibraryCall* current() noexcept;

  /// Keeps a description for good; kNone where there are too many.
  std::uint32_t add(CallDescription description);
  const CallDescription* description(std::uint32_t index) const noexcept {
    return index < kMostDescriptions ? descriptions_[index].load(std::memory_order_acquire) : nullptr;
  }

  void push(const LibraryCall& call) noexcept;
  /// A call of which no more is known than that it was made.
  void lose() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

  // For the writer.
  bool pop(LibraryCall& call) noexcept;
  std::uint64_t take_lost() noexcept { return lost_.exchange(0); }

 private:
  static constexpr std::size_t kMostDescriptions = std::size_t{1} << 15, kCells = std::size_t{1} << 13;
  struct Cell {
    std::atomic<std::uint64_t> turn;
    LibraryCall call;
  };

  std::atomic<bool> is_on_{false};
  std::mutex mutex_;
  std::uint32_t count_ = 0;
  std::unique_ptr<std::atomic<const CallDescription*>[]> descriptions_;
  std::unique_ptr<Cell[]> cells_;  // a bounded queue: each cell's turn says who may use it next
  std::atomic<std::uint64_t> tail_{0}, lost_{0};
  std::uint64_t head_ = 0;
};

/// A call while it goes on. Launches of its thread are its own until it ends.
class OngoingCall {
 public:
  OngoingCall(LibraryCalls& calls, std::uint32_t description) noexcept;
  /// Records the call.
  ~OngoingCall();
  OngoingCall(const OngoingCall&) = delete;
  OngoingCall& operator=(const OngoingCall&) = delete;

  LibraryCall& entry() { return entry_; }
  /// The library has refused the call: it is not recorded.
  void forget() { is_forgotten_ = true; }

 private:
  LibraryCalls& calls_;
  LibraryCall entry_;
  bool is_forgotten_ = false;
};

/// For the callback of launches: adds one to the call that this thread is in.
inline void note_launch(std::uint32_t correlation) noexcept {
  LibraryCall* call = LibraryCalls::current();
  if (call == nullptr) return;
  if (call->launches < LibraryCall::kMostLaunches) call->correlations[call->launches] = correlation;
  ++call->launches;
  call->last_launch = correlation;
}

}  // namespace jitterscope::recorder
