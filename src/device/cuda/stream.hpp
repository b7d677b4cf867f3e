// Streams and events of an operation's own.
#pragma once

#include <cuda.h>

#include <utility>

namespace jitterscope::cuda {

enum class StreamPriority { usual, highest };

/// Needs the context current throughout.
class Stream {
 public:
  explicit Stream(StreamPriority priority = StreamPriority::usual);
  ~Stream();
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  CUstream handle() const { return handle_; }

 private:
  CUstream handle_ = nullptr;
};

/// Carries order from one stream to others, or to the host; it reads no time.
class OrderEvent {
 public:
  /// `flags` besides: CU_EVENT_BLOCKING_SYNC lets a host that waits sleep.
  explicit OrderEvent(unsigned flags = 0);
  ~OrderEvent();
  OrderEvent(OrderEvent&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  OrderEvent& operator=(OrderEvent&&) = delete;
  CUevent handle() const { return handle_; }
  void record(CUstream stream) const;
  /// What `stream` gets from now on begins when the last record has passed.
  void hold(CUstream stream) const;

 private:
  CUevent handle_ = nullptr;
};

}  // namespace jitterscope::cuda
