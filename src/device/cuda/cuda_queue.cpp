#include "device/cuda/cuda_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "device/cuda/child_graph.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/temporary_memory.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
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

}  // namespace jitterscope::cuda
