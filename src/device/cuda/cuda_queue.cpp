#include "device/cuda/cuda_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include <cuda.h>
#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

// Recorded work of somebody else's as a part of a recording of ours.

namespace jitterscope::cuda {

/// Puts a copy of `graph` behind what the capturing stream has recorded so far. Throws FailedError, and
/// MissingError where the driver is too old.
void add_to_capture(CUstream stream, CUgraph graph);

// Memory of the GPU for a moment, as a program takes it around a launch.

/// By cuMemAlloc and cuMemFree, which waits for all that the GPU does.
class DriverMemory final : public TemporaryMemory {
 public:
  DriverMemory(const Context& context, Bytes size) : context_(context), memory_(size) {}
  ~DriverMemory() override { context_.make_current(); }

 private:
  const Context& context_;
  DeviceMemory memory_;
};

/// By cuMemAllocAsync and cuMemFreeAsync of the GPU's own pool, in stream order. As the pool is by default,
/// it gives what is free back to the driver at each synchronization.
class PooledMemory final : public TemporaryMemory {
 public:
  /// Throws UsageError where the GPU has no such pool.
  PooledMemory(const Context& context, CUstream stream, Bytes size);
  ~PooledMemory() override;
  PooledMemory(const PooledMemory&) = delete;
  PooledMemory& operator=(const PooledMemory&) = delete;

 private:
  const Context& context_;
  CUstream stream_;
  CUdeviceptr address_ = 0;
};

namespace {

// Twice the L2, since replacement is not exactly least-recently-used; at least 64 MiB for small caches.
Bytes eviction_size(const Context& context) {
  const Bytes l2(context.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  return std::max(2 * l2, Bytes(std::int64_t{64} << 20));
}

class CudaRecording : public Recording {
 public:
  explicit CudaRecording(CUgraph graph) {
    check(driver().cuGraphInstantiate(&executable_, graph, 0), "instantiating a recording");
  }
  ~CudaRecording() override { driver().cuGraphExecDestroy(executable_); }
  CudaRecording(const CudaRecording&) = delete;
  CudaRecording& operator=(const CudaRecording&) = delete;
  CUgraphExec executable() const { return executable_; }

 private:
  CUgraphExec executable_ = nullptr;
};

}  // namespace

CudaQueue::CudaQueue(const Context& context, CUstream stream, Nanoseconds gate_limit)
    : context_(context), stream_(stream), usual_gate_limit_(gate_limit), gate_limit_(gate_limit) {
  context_.make_current();
  gate_memory_ = PinnedMemory(Bytes(sizeof(GateWords)));
  samples_ = PinnedMemory(Bytes(sizeof(ClockSample) * kRingSize));
  claims_ = DeviceMemory(Bytes(sizeof(std::uint32_t) * kRingSize));
  eviction_ = DeviceMemory(eviction_size(context_));
  std::memset(gate_memory_.pointer(), 0, sizeof(GateWords));
  std::memset(samples_.pointer(), 0, sizeof(ClockSample) * kRingSize);
  check(driver().cuMemsetD8Async(claims_.address(), 0, sizeof(std::uint32_t) * kRingSize, stream_),
        "clearing the clock stamps");
  // Lines that another library of the process made persistent would survive every eviction. A GPU without
  // that feature answers with an error that means nothing here.
  driver().cuCtxResetPersistingL2Cache();
  try {
    create_events();
    check(driver().cuCtxSynchronize(), "making a queue");
  } catch (...) {
    release();
    throw;
  }
}

CudaQueue::~CudaQueue() {
  open_gate();
  try {
    context_.make_current();
  } catch (const Error&) {  // a GPU that is lost: nothing is left to free
  }
  driver().cuStreamSynchronize(stream_);
  release();
}

void CudaQueue::create_events() {
  events_.reserve(kRingSize);
  for (std::uint32_t i = 0; i < kRingSize; ++i) {
    CUevent event = nullptr;
    check(driver().cuEventCreate(&event, CU_EVENT_DEFAULT), "making an event");
    events_.push_back(event);
  }
  check(driver().cuEventCreate(&waking_, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING),
        "making an event to sleep for");
}

void CudaQueue::release() noexcept {
  for (CUevent event : events_) driver().cuEventDestroy(event);
  if (waking_ != nullptr) driver().cuEventDestroy(waking_);
}

void CudaQueue::require_not_recording(const char* what) const {
  if (recording_) throw std::logic_error(fmt::format("{} cannot be part of a recording", what));
}

void CudaQueue::close_gate() {
  require_not_recording("a gate");
  if (gate_closed_) throw std::logic_error("the gate is closed already");
  context_.make_current();
  const CUdeviceptr words = gate_memory_.device_address();
  context_.kernels().gate(stream_, words + offsetof(GateWords, opened),
                          words + offsetof(GateWords, timed_out), ++gate_ticket_, gate_limit_);
  gate_closed_ = true;
  marks_behind_gate_ = 0;
}

// Between marks, the last ten launches or so of a held queue take 0.6 us less than those before them (H200,
// kernels of 2 and of 50 us alike). Empty kernels take that place, so that one constant fits all that is
// timed.
void CudaQueue::follow_with_empty_kernels() noexcept {
  constexpr int kEmptyKernels = 16;
  // 511 launches with a mark each fit behind the gate of an H200; more would wait for it to open.
  constexpr std::uint32_t kRoomFor = 400;
  if (marks_behind_gate_ > kRoomFor) return;
  try {
    context_.make_current();
    for (int i = 0; i < kEmptyKernels; ++i) context_.kernels().empty(stream_);
  } catch (const Error&) {  // whoever waits next is told what happened to the GPU
  }
}

void CudaQueue::open_gate() noexcept {
  if (gate_closed_) follow_with_empty_kernels();
  gate_words().opened = gate_ticket_;
  gate_closed_ = false;
}

void CudaQueue::launch(Workload& workload) {
  if (gate_closed_ && workload.waits_for_queue()) open_gate();
  context_.make_current();
  const NativeGraph graph = recording_ ? workload.graph() : nullptr;
  if (graph != nullptr) {
    add_to_capture(stream_, static_cast<CUgraph>(graph));
  } else {
    workload.run(stream_);
  }
}

Mark CudaQueue::mark() {
  require_not_recording("a mark");
  const Mark mark{next_mark_++ % kRingSize};
  ++marks_behind_gate_;
  check(driver().cuEventRecord(events_[mark.slot], stream_), "recording an event");
  return mark;
}

ClockStamp CudaQueue::stamp_clock() {
  require_not_recording("a clock stamp");
  context_.make_current();
  const ClockStamp stamp{++stamp_ticket_ % kRingSize};
  // Zeros stay where no block of the kernel lands on SM 0.
  sample(stamp.slot).cycles = 0;
  sample(stamp.slot).nanoseconds = 0;
  context_.kernels().stamp_clock(stream_, samples_.device_address() + stamp.slot * sizeof(ClockSample),
                                 claims_.address() + stamp.slot * sizeof(std::uint32_t), stamp_ticket_);
  return stamp;
}

void CudaQueue::set_cache(CacheState state, Workload& workload) {
  if (state == CacheState::warm) return;
  context_.make_current();
  context_.kernels().evict_write(stream_, eviction_buffer());
  if (state == CacheState::cold) context_.kernels().evict_read(stream_, eviction_buffer());
  if (state == CacheState::produced && !workload.produce_inputs(stream_)) {
    throw UsageError(
        "cache state 'produced' is not possible here: the inputs cannot be written by another kernel; "
        "take warm, cold or dirty");
  }
}

std::unique_ptr<Recording> CudaQueue::record(const std::function<void(Queue&)>& work) {
  require_not_recording("a recording");
  if (gate_closed_) throw std::logic_error("a recording must be made while the gate is open");
  context_.make_current();
  check(driver().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "beginning a recording");
  recording_ = true;
  CUgraph graph = nullptr;
  const auto end = [&] {
    recording_ = false;
    return driver().cuStreamEndCapture(stream_, &graph);
  };
  try {
    work(*this);
  } catch (...) {
    end();
    if (graph != nullptr) driver().cuGraphDestroy(graph);
    throw;
  }
  check(end(), "ending a recording");
  std::unique_ptr<CudaRecording> recording;
  try {
    recording = std::make_unique<CudaRecording>(graph);
    check(driver().cuGraphUpload(recording->executable(), stream_), "uploading a recording");
  } catch (...) {
    driver().cuGraphDestroy(graph);
    throw;
  }
  driver().cuGraphDestroy(graph);
  return recording;
}

void CudaQueue::replay(Recording& recording) {
  require_not_recording("a replay");
  context_.make_current();
  check(driver().cuGraphLaunch(dynamic_cast<CudaRecording&>(recording).executable(), stream_),
        "replaying a recording");
}

void CudaQueue::wait() {
  require_not_recording("a wait");
  open_gate();
  context_.make_current();
  check(driver().cuStreamSynchronize(stream_), "waiting for the GPU");
  throw_if_gate_timed_out();
}

void CudaQueue::wait_for(Mark mark) {
  // Slots of the marks that were taken since the gate closed end just before next_mark_.
  const std::uint32_t age = (next_mark_ - 1 - mark.slot) % kRingSize;
  if (gate_closed_ && age < marks_behind_gate_) open_gate();
  check(driver().cuEventSynchronize(events_[mark.slot]), "waiting for the GPU");
  throw_if_gate_timed_out();
}

void CudaQueue::wait_asleep() {
  require_not_recording("a wait");
  open_gate();
  context_.make_current();
  check(driver().cuEventRecord(waking_, stream_), "recording an event");
  check(driver().cuEventSynchronize(waking_), "waiting for the GPU");
  throw_if_gate_timed_out();
}

bool CudaQueue::has_passed(Mark mark) {
  const CUresult state = driver().cuEventQuery(events_[mark.slot]);
  if (state == CUDA_ERROR_NOT_READY) return false;
  check(state, "asking whether the GPU is done");
  return true;
}

std::unique_ptr<TemporaryMemory> CudaQueue::allocate(Bytes size, MemorySource source) {
  require_not_recording("an allocation");
  context_.make_current();
  if (source == MemorySource::pool) return std::make_unique<PooledMemory>(context_, stream_, size);
  return std::make_unique<DriverMemory>(context_, size);
}

void CudaQueue::throw_if_gate_timed_out() {
  if (gate_words().timed_out == 0) return;
  gate_words().timed_out = 0;
  throw GateTimeoutError(
      fmt::format("the gate of the queue opened by itself after {:.1f} s, so the times of this round are "
                  "not valid: the host was stopped, or something waits for the GPU while the gate is closed",
                  to_seconds(gate_limit_)));
}

Nanoseconds CudaQueue::elapsed(Mark from, Mark to) {
  float milliseconds_between = 0;
  check(driver().cuEventElapsedTime(&milliseconds_between, events_[from.slot], events_[to.slot]),
        "reading the time between two events");
  return milliseconds(milliseconds_between);
}

std::optional<ClockReading> CudaQueue::clock_between(ClockStamp from, ClockStamp to) {
  const volatile ClockSample& first = sample(from.slot);
  const volatile ClockSample& last = sample(to.slot);
  if (first.nanoseconds == 0 || last.nanoseconds <= first.nanoseconds) return std::nullopt;
  const Nanoseconds window(static_cast<double>(last.nanoseconds - first.nanoseconds));
  return ClockReading{Hertz(static_cast<double>(last.cycles - first.cycles) / to_seconds(window)), window};
}

Stream::Stream(StreamPriority priority) {
  int least = 0, greatest = 0;
  check(driver().cuCtxGetStreamPriorityRange(&least, &greatest), "asking for the priorities of streams");
  check(driver().cuStreamCreateWithPriority(&handle_, CU_STREAM_NON_BLOCKING,
                                            priority == StreamPriority::highest ? greatest : least),
        "making a stream");
}

Stream::~Stream() {
  if (handle_ != nullptr) driver().cuStreamDestroy(handle_);
}

OrderEvent::OrderEvent(unsigned flags) {
  check(driver().cuEventCreate(&handle_, CU_EVENT_DISABLE_TIMING | flags), "making an event");
}

OrderEvent::~OrderEvent() {
  if (handle_ != nullptr) driver().cuEventDestroy(handle_);
}

void OrderEvent::record(CUstream stream) const {
  check(driver().cuEventRecord(handle_, stream), "recording an event");
}

void OrderEvent::hold(CUstream stream) const {
  check(driver().cuStreamWaitEvent(stream, handle_, 0), "making a stream wait for another");
}

namespace {

// As CUDA 11.3 has them. The headers of CUDA 13 declare newer ones by these names, with parameters for edges
// that no node of ours has; every driver still exports these.
using GetCaptureInfo = CUresult(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                                std::size_t*);
using UpdateDependencies = CUresult(CUstream, CUgraphNode*, std::size_t, unsigned);
using AddChildGraph = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, std::size_t, CUgraph);

template <class Function>
Function* find(const char* name) {
  if (Function* function = driver().library.find_function<Function>(name)) return function;
  throw MissingError(
      fmt::format("the NVIDIA driver is too old for recordings: it has no {}; install 470 or newer", name));
}

}  // namespace

void add_to_capture(CUstream stream, CUgraph graph) {
  static GetCaptureInfo* const get_info = find<GetCaptureInfo>("cuStreamGetCaptureInfo_v2");
  static UpdateDependencies* const update = find<UpdateDependencies>("cuStreamUpdateCaptureDependencies");
  static AddChildGraph* const add = find<AddChildGraph>("cuGraphAddChildGraphNode");
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph whole = nullptr;
  const CUgraphNode* before = nullptr;
  std::size_t count = 0;
  check(get_info(stream, &status, nullptr, &whole, &before, &count), "asking for a recording's end");
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    throw FailedError("the recording was ended by what it recorded");
  CUgraphNode node = nullptr;
  check(add(&node, whole, before, count, graph), "adding recorded work to a recording");
  check(update(stream, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES), "going on behind recorded work");
}

PooledMemory::PooledMemory(const Context& context, CUstream stream, Bytes size)
    : context_(context), stream_(stream) {
  if (context_.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0) {
    throw UsageError("this GPU has no pool of memory in stream order");
  }
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(size.value(), 1));
  check(driver().cuMemAllocAsync(&address_, bytes, stream_), "taking memory from the GPU's pool");
}

// A GPU that is lost says so to whoever waits next.
PooledMemory::~PooledMemory() { driver().cuMemFreeAsync(address_, stream_); }

}  // namespace jitterscope::cuda
