#include "device/cuda/cuda_queue.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <cuda.h>
#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/nccl.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

// Adds a graph that somebody else recorded to a recording of ours.

namespace jitterscope::cuda {

/// Appends a copy of `graph` to what the capturing stream has recorded so far. Throws FailedError, or
/// MissingError if the driver is too old.
void add_to_capture(CUstream stream, CUgraph graph);

// GPU memory that a program takes for a moment around a launch.

/// Memory from cuMemAlloc. Its cuMemFree waits for all work on the GPU.
class DriverMemory final : public TemporaryMemory {
 public:
  DriverMemory(const Context& context, Bytes size) : context_(context), memory_(size) {}
  ~DriverMemory() override { context_.make_current(); }

 private:
  const Context& context_;
  DeviceMemory memory_;
};

/// Memory from the GPU's default pool in stream order (cuMemAllocAsync, cuMemFreeAsync). By default the pool
/// gives free memory back to the driver at each synchronization.
class PooledMemory final : public TemporaryMemory {
 public:
  /// Throws UsageError if the GPU has no such pool.
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

// A thread that sleeps while it waits for other ranks looks so often, as it must ask NCCL for errors.
constexpr std::chrono::microseconds kBetweenQuestions(50);

bool has_passed(CUevent event) {
  const CUresult state = driver().cuEventQuery(event);
  if (state == CUDA_ERROR_NOT_READY) return false;
  check(state, "asking whether the GPU is done");
  return true;
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

CudaQueue::CudaQueue(const Context& context, CUstream stream, Nanoseconds hold_limit)
    : context_(context), stream_(stream), usual_hold_limit_(hold_limit), hold_limit_(hold_limit) {
  context_.make_current();
  hold_memory_ = PinnedMemory(Bytes(sizeof(HoldWords)));
  samples_ = PinnedMemory(Bytes(sizeof(ClockSample) * kRingSize));
  claims_ = DeviceMemory(Bytes(sizeof(std::uint32_t) * kRingSize));
  eviction_ = DeviceMemory(eviction_size(context_));
  std::memset(hold_memory_.pointer(), 0, sizeof(HoldWords));
  std::memset(samples_.pointer(), 0, sizeof(ClockSample) * kRingSize);
  check(driver().cuMemsetD8Async(claims_.address(), 0, sizeof(std::uint32_t) * kRingSize, stream_),
        "clearing the clock stamps");
  // Lines that another library of the process made persistent would survive every eviction. A GPU without
  // persistent lines returns an error, which is ignored.
  driver().cuCtxResetPersistingL2Cache();
  try {
    create_events();
    check(driver().cuCtxSynchronize(), "making a queue");
  } catch (...) {
    destroy_events();
    throw;
  }
}

CudaQueue::~CudaQueue() {
  release();
  try {
    context_.make_current();
    wait_for_stream();
  } catch (const Error&) {  // the GPU is lost, or a communicator was aborted: nothing is left to wait for
  }
  destroy_events();
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

void CudaQueue::destroy_events() noexcept {
  for (CUevent event : events_) driver().cuEventDestroy(event);
  if (waking_ != nullptr) driver().cuEventDestroy(waking_);
}

void CudaQueue::require_not_recording(const char* what) const {
  if (recording_) throw std::logic_error(fmt::format("{} cannot be part of a recording", what));
}

void CudaQueue::hold() {
  require_not_recording("holding the queue");
  if (is_held_) throw std::logic_error("the queue is held already");
  context_.make_current();
  const CUdeviceptr words = hold_memory_.device_address();
  context_.kernels().hold(stream_, words + offsetof(HoldWords, opened),
                          words + offsetof(HoldWords, timed_out), ++hold_ticket_, hold_limit_);
  is_held_ = true;
  marks_behind_hold_ = 0;
}

// Between marks, the last ten or so launches in a held queue take 0.6 us less than those before them (H200,
// kernels of 2 and of 50 us alike). Empty kernels take the last places, so that one constant fits all timed
// launches.
void CudaQueue::follow_with_empty_kernels() noexcept {
  constexpr int kEmptyKernels = 16;
  // 511 launches with a mark each fit into a held queue on an H200; further ones would wait for its release.
  constexpr std::uint32_t kRoomFor = 400;
  if (marks_behind_hold_ > kRoomFor) return;
  try {
    context_.make_current();
    for (int i = 0; i < kEmptyKernels; ++i) context_.kernels().empty(stream_);
  } catch (const Error&) {  // the next wait reports what happened to the GPU
  }
}

void CudaQueue::release() noexcept {
  if (is_held_) follow_with_empty_kernels();
  hold_words().opened = hold_ticket_;
  is_held_ = false;
}

void CudaQueue::launch(Workload& workload) {
  if (is_held_ && workload.waits_for_queue()) release();
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
  ++marks_behind_hold_;
  check(driver().cuEventRecord(events_[mark.slot], stream_), "recording an event");
  return mark;
}

ClockStamp CudaQueue::stamp_clock() {
  require_not_recording("a clock stamp");
  context_.make_current();
  const ClockStamp stamp{++stamp_ticket_ % kRingSize};
  // Zeros remain if no block of the kernel runs on SM 0.
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
  if (is_held_) throw std::logic_error("a recording must be made while the queue is not held");
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
  release();
  context_.make_current();
  wait_for_stream();
  throw_if_hold_timed_out();
}

void CudaQueue::wait_for_stream() {
  if (context_.communicator() == nullptr)
    return check(driver().cuStreamSynchronize(stream_), "waiting for the GPU");
  check(driver().cuEventRecord(waking_, stream_), "recording an event");
  wait_for_event(waking_);
}

void CudaQueue::wait_for_event(CUevent event, const std::function<void()>& pause) {
  Communicator* communicator = context_.communicator();
  if (communicator == nullptr) return check(driver().cuEventSynchronize(event), "waiting for the GPU");
  communicator->wait([event] { return cuda::has_passed(event); }, pause);
}

void CudaQueue::wait_for(Mark mark) {
  // The slots of the marks taken since the queue was held end just before next_mark_.
  const std::uint32_t age = (next_mark_ - 1 - mark.slot) % kRingSize;
  if (is_held_ && age < marks_behind_hold_) release();
  wait_for_event(events_[mark.slot]);
  throw_if_hold_timed_out();
}

void CudaQueue::wait_asleep() {
  require_not_recording("a wait");
  release();
  context_.make_current();
  check(driver().cuEventRecord(waking_, stream_), "recording an event");
  wait_for_event(waking_, [] { std::this_thread::sleep_for(kBetweenQuestions); });
  throw_if_hold_timed_out();
}

bool CudaQueue::has_passed(Mark mark) { return cuda::has_passed(events_[mark.slot]); }

std::unique_ptr<TemporaryMemory> CudaQueue::allocate(Bytes size, MemorySource source) {
  require_not_recording("an allocation");
  context_.make_current();
  if (source == MemorySource::pool) return std::make_unique<PooledMemory>(context_, stream_, size);
  return std::make_unique<DriverMemory>(context_, size);
}

void CudaQueue::throw_if_hold_timed_out() {
  if (hold_words().timed_out == 0) return;
  hold_words().timed_out = 0;
  throw HoldTimeoutError(
      fmt::format("the held queue was released by its time limit of {:.1f} s, so the times of this round are "
                  "not valid: the host was stopped, or something waits for the GPU while the queue is held",
                  to_seconds(hold_limit_)));
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

CudaSideStream::CudaSideStream(const Context& context, std::size_t parts)
    : context_(context), stream_(Stream::made_in(context)), reached_(parts), ended_(parts) {}

// Work that still runs there ends first.
CudaSideStream::~CudaSideStream() {
  try {
    context_.make_current();
  } catch (const Error&) {  // the GPU is lost: nothing is left to wait for
  }
  driver().cuStreamSynchronize(stream_.handle());
}

namespace {

// Signatures of CUDA 11.3, which every driver still exports. The headers of CUDA 13 declare newer functions
// by these names, with parameters for edge data that our nodes do not have.
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

// If the GPU is lost, the next wait reports it.
PooledMemory::~PooledMemory() { driver().cuMemFreeAsync(address_, stream_); }

}  // namespace jitterscope::cuda
