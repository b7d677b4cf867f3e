// A CUDA stream with a hold, marks, clock stamps and cache states.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <cuda.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// Queue on the context's stream or a caller's. It does not destroy the stream; stream and context must
/// outlive it. The constructor does everything that may wait for the GPU or allocate, so that nothing of it
/// happens while the queue is held.
class CudaQueue : public Queue {
 public:
  static constexpr Nanoseconds kHoldLimit = seconds(10);

  CudaQueue(const Context& context, CUstream stream, Nanoseconds hold_limit = kHoldLimit);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void hold() override;
  bool limit_hold(Nanoseconds limit) override {
    hold_limit_ = limit > Nanoseconds(0) ? limit : usual_hold_limit_;
    return true;
  }
  void release() noexcept override;
  void launch(Workload& workload) override;
  Mark mark() override;
  ClockStamp stamp_clock() override;
  void set_cache(CacheState state, Workload& workload) override;
  std::unique_ptr<Recording> record(const std::function<void(Queue&)>& work) override;
  void replay(Recording& recording) override;
  void wait() override;
  void wait_for(Mark mark) override;
  void wait_asleep() override;
  bool has_passed(Mark mark) override;
  std::unique_ptr<TemporaryMemory> allocate(Bytes size, MemorySource source) override;
  Nanoseconds elapsed(Mark from, Mark to) override;
  std::optional<ClockReading> clock_between(ClockStamp from, ClockStamp to) override;
  NativeQueue native() override { return stream_; }

 private:
  // Words in page-locked memory that the host and the kernel that holds the queue both access.
  struct HoldWords {
    std::uint32_t opened = 0, timed_out = 0;
  };

  void create_events();
  void destroy_events() noexcept;
  void require_not_recording(const char* what) const;
  void throw_if_hold_timed_out();
  /// Waits for an event that was recorded, for ever only where no other rank takes part.
  void wait_for_event(CUevent event, const std::function<void()>& pause = {});
  void wait_for_stream();
  volatile HoldWords& hold_words() const { return *static_cast<HoldWords*>(hold_memory_.pointer()); }
  volatile ClockSample& sample(std::uint32_t slot) const {
    return static_cast<ClockSample*>(samples_.pointer())[slot];
  }
  void follow_with_empty_kernels() noexcept;
  MemoryRegion eviction_buffer() const { return {eviction_.pointer(), eviction_.size()}; }

  const Context& context_;
  CUstream stream_;
  Nanoseconds usual_hold_limit_, hold_limit_;
  PinnedMemory hold_memory_, samples_;
  DeviceMemory claims_, eviction_;
  std::vector<CUevent> events_;
  CUevent waking_ = nullptr;  ///< a thread that waits for it sleeps
  std::uint32_t hold_ticket_ = 0, stamp_ticket_ = 0, next_mark_ = 0;
  std::uint32_t marks_behind_hold_ = 0;
  bool is_held_ = false, recording_ = false;
};

// Streams and events that an operation owns.

enum class StreamPriority { usual, highest };

/// Owns a stream. The context must be current at construction and destruction.
class Stream {
 public:
  explicit Stream(StreamPriority priority = StreamPriority::usual);
  /// Makes the context current first.
  static Stream made_in(const Context& context) {
    context.make_current();
    return Stream();
  }
  ~Stream();
  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  CUstream handle() const { return handle_; }

 private:
  CUstream handle_ = nullptr;
};

/// Event that makes other streams or the host wait for a stream; it records no time.
class OrderEvent {
 public:
  /// `flags` are added: with CU_EVENT_BLOCKING_SYNC a host thread that waits sleeps.
  explicit OrderEvent(unsigned flags = 0);
  ~OrderEvent();
  OrderEvent(OrderEvent&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  OrderEvent& operator=(OrderEvent&&) = delete;
  CUevent handle() const { return handle_; }
  void record(CUstream stream) const;
  /// Work that `stream` gets from now on begins after the last record() has passed.
  void hold(CUstream stream) const;

 private:
  CUevent handle_ = nullptr;
};

/// Parts are ordered by events, which recordings hold as edges of their graph.
class CudaSideStream final : public SideStream {
 public:
  CudaSideStream(const Context& context, std::size_t parts);
  ~CudaSideStream() override;
  CudaSideStream(const CudaSideStream&) = delete;
  CudaSideStream& operator=(const CudaSideStream&) = delete;

  NativeQueue begin(NativeQueue queue, std::size_t part) override {
    reached_.at(part).record(static_cast<CUstream>(queue));
    reached_.at(part).hold(stream_.handle());
    return stream_.handle();
  }
  void end(NativeQueue, std::size_t part) override { ended_.at(part).record(stream_.handle()); }
  void join(NativeQueue queue, std::size_t part) override {
    ended_.at(part).hold(static_cast<CUstream>(queue));
  }

 private:
  const Context& context_;
  Stream stream_;
  std::vector<OrderEvent> reached_, ended_;
};

// A queue on its own stream, whose work runs beside that of the context's stream.

class CompanionStream {
 protected:
  explicit CompanionStream(const Context& context) : stream_(Stream::made_in(context)) {}
  CUstream own_stream() const { return stream_.handle(); }

 private:
  Stream stream_;
};

/// Makes the stream before the queue and destroys it after the queue, whose end leaves the context current.
class CompanionQueue final : private CompanionStream, public CudaQueue {
 public:
  explicit CompanionQueue(const Context& context)
      : CompanionStream(context), CudaQueue(context, own_stream()) {}
};

}  // namespace jitterscope::cuda
