// A CUDA stream with a gate, marks, clock stamps and cache states.
#pragma once

#include <utility>
#include <vector>

#include <cuda.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// On the context's stream or a caller's; neither is destroyed with the queue, and both must outlive it, as
/// the context must. Everything that may wait for the GPU or allocate happens in the constructor, so that
/// nothing of it happens behind a closed gate.
class CudaQueue : public Queue {
 public:
  static constexpr Nanoseconds kGateLimit = seconds(10);

  CudaQueue(const Context& context, CUstream stream, Nanoseconds gate_limit = kGateLimit);
  ~CudaQueue() override;
  CudaQueue(const CudaQueue&) = delete;
  CudaQueue& operator=(const CudaQueue&) = delete;

  void close_gate() override;
  bool limit_gate(Nanoseconds limit) override {
    gate_limit_ = limit > Nanoseconds(0) ? limit : usual_gate_limit_;
    return true;
  }
  void open_gate() noexcept override;
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
  // Words of page-locked memory that the host and the gate's kernel both see.
  struct GateWords {
    std::uint32_t opened = 0, timed_out = 0;
  };

  void create_events();
  void release() noexcept;
  void require_not_recording(const char* what) const;
  void throw_if_gate_timed_out();
  volatile GateWords& gate_words() const { return *static_cast<GateWords*>(gate_memory_.pointer()); }
  volatile ClockSample& sample(std::uint32_t slot) const {
    return static_cast<ClockSample*>(samples_.pointer())[slot];
  }
  void follow_with_empty_kernels() noexcept;
  MemoryRegion eviction_buffer() const { return {eviction_.pointer(), eviction_.size()}; }

  const Context& context_;
  CUstream stream_;
  Nanoseconds usual_gate_limit_, gate_limit_;
  PinnedMemory gate_memory_, samples_;
  DeviceMemory claims_, eviction_;
  std::vector<CUevent> events_;
  CUevent waking_ = nullptr;  ///< whoever waits for it sleeps
  std::uint32_t gate_ticket_ = 0, stamp_ticket_ = 0, next_mark_ = 0;
  std::uint32_t marks_behind_gate_ = 0;
  bool gate_closed_ = false, recording_ = false;
};

// Streams and events of an operation's own.

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

// A queue on a stream of its own, whose work runs beside that of the context's stream.

class CompanionStream {
 protected:
  explicit CompanionStream(const Context& context) : stream_(made_in(context)) {}
  CUstream own_stream() const { return stream_.handle(); }

 private:
  static Stream made_in(const Context& context) {
    context.make_current();
    return Stream();
  }
  Stream stream_;
};

/// The stream is made before the queue, and destroyed after it, which leaves the context current.
class CompanionQueue final : private CompanionStream, public CudaQueue {
 public:
  explicit CompanionQueue(const Context& context)
      : CompanionStream(context), CudaQueue(context, own_stream()) {}
};

}  // namespace jitterscope::cuda
