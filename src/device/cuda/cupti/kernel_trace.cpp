#include "device/cuda/cupti/kernel_trace.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "device/cuda/cupti/cupti.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// NVIDIA recommends 1 to 10 MB; 8 MiB hold about 38,000 kernels of 216 bytes.
constexpr std::size_t kBufferSize = std::size_t{8} << 20;

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMSET};

// Records only ever grow at their end, so the oldest layout that has a graph's nodes (CUDA 11) reads those of
// every version.
using Kernel = CUpti_ActivityKernel5;
using Copy = CUpti_ActivityMemcpy3;
using Set = CUpti_ActivityMemset2;
static_assert(offsetof(Kernel, graphNodeId) == offsetof(CUpti_ActivityKernel9, graphNodeId));
static_assert(offsetof(Copy, graphNodeId) == offsetof(CUpti_ActivityMemcpy5, graphNodeId));
static_assert(offsetof(Set, graphNodeId) == offsetof(CUpti_ActivityMemset4, graphNodeId));

struct Freed {
  void operator()(std::uint8_t* memory) const { std::free(memory); }
};
struct Buffer {
  std::unique_ptr<std::uint8_t, Freed> memory;
  std::size_t size = 0;  // size of the records in it
};

// One per process: CUPTI records the whole process, and its callbacks carry no user data.
struct Recorder {
  std::mutex mutex;
  const KernelTrace* owner = nullptr;  // the trace that is recording
  CUpti_SubscriberHandle subscriber = nullptr;
  LaunchNames names;
  LaunchCalls calls;
  std::vector<Buffer> completed;
  bool lost = false;  // a buffer could not be kept
};
Recorder& recorder() {
  // Never destroyed: CUPTI may complete a buffer while the process ends.
  static auto* instance = new Recorder;
  return *instance;
}

void CUPTIAPI request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::malloc(kBufferSize));
  *size = *buffer == nullptr ? 0 : kBufferSize;
  *most_records = 0;  // as many as fit
}

// Records are parsed in stop(), so that this takes no time from the recorded program.
void CUPTIAPI complete_buffer(CUcontext, std::uint32_t, std::uint8_t* memory, std::size_t, std::size_t size) {
  Buffer buffer{.memory = std::unique_ptr<std::uint8_t, Freed>(memory), .size = size};
  if (size == 0) return;
  const std::lock_guard lock(recorder().mutex);
  try {
    recorder().completed.push_back(std::move(buffer));
  } catch (const std::bad_alloc&) {
    recorder().lost = true;  // an exception must not pass through CUPTI
  }
}

// Callback of CUPTI's only subscriber in the process. Subscribing fails if another profiler holds CUPTI.
void CUPTIAPI note_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) recorder().names.note(id, data);
  recorder().calls.note(data);
}

std::string demangled(const char* name) {
  if (name == nullptr) return "(unnamed kernel)";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

// The kernels of holds, clock stamps and evictions run between the launches that are judged.
bool is_helper(const char* name) {
  return name != nullptr && std::string_view(name).starts_with("jitterscope_");
}

// Keeps CUPTI's own time, nanoseconds since 1970, of which a double would keep only multiples of 256.
struct RawRecord {
  std::uint64_t start, end;
  KernelTime kernel;  // without its times
};

std::uint32_t extent(std::int32_t size) { return static_cast<std::uint32_t>(size); }

// Reads the fields that records of all kinds have.
template <class Activity>
RawRecord raw_record(std::string name, const Activity& activity) {
  KernelTime kernel{.name = std::move(name), .start = {}, .end = {}};
  kernel.launch = recorder().calls.find(activity.correlationId);
  kernel.device = static_cast<int>(activity.deviceId);
  kernel.stream = activity.streamId;
  kernel.correlation = activity.correlationId;
  if (activity.graphNodeId != 0) kernel.graph_node = activity.graphNodeId;
  return {.start = activity.start, .end = activity.end, .kernel = std::move(kernel)};
}

void read_kernel(const Kernel& activity, std::vector<RawRecord>& records) {
  const std::string launched = recorder().names.find(activity.correlationId);
  const char* const name = launched.empty() ? activity.name : launched.c_str();
  if (is_helper(name)) return;
  records.push_back(raw_record(demangled(name), activity));
  KernelTime& kernel = records.back().kernel;
  kernel.grid = {extent(activity.gridX), extent(activity.gridY), extent(activity.gridZ)};
  kernel.block = {extent(activity.blockX), extent(activity.blockY), extent(activity.blockZ)};
}

void read_record(const CUpti_Activity* record, std::vector<RawRecord>& records) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      read_kernel(*reinterpret_cast<const Kernel*>(record), records);
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      records.push_back(raw_record("memcpy", *reinterpret_cast<const Copy*>(record)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      records.push_back(raw_record("memset", *reinterpret_cast<const Set*>(record)));
      break;
    default: break;
  }
}

std::vector<RawRecord> read_records(const std::vector<Buffer>& buffers) {
  std::vector<RawRecord> records;
  for (const Buffer& buffer : buffers) {
    CUpti_Activity* record = nullptr;
    CUptiResult result = CUPTI_SUCCESS;
    while ((result = cupti().cuptiActivityGetNextRecord(buffer.memory.get(), buffer.size, &record)) ==
           CUPTI_SUCCESS) {
      read_record(record, records);
    }
    if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) check_cupti(result, "cuptiActivityGetNextRecord");
  }
  return records;
}

// Throws if records are missing: an incomplete trace is no reference for others.
void check_complete(const std::vector<RawRecord>& records) {
  std::size_t dropped = 0;
  check_cupti(cupti().cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped),
              "cuptiActivityGetNumDroppedRecords");
  if (dropped > 0) throw FailedError(fmt::format("CUPTI dropped {} records: record fewer launches", dropped));
  const auto untimed =
      std::count_if(records.begin(), records.end(), [](const RawRecord& record) { return record.end == 0; });
  if (untimed > 0) {
    throw FailedError(
        fmt::format("CUPTI gave {} of {} records no time: record fewer launches", untimed, records.size()));
  }
}

// Returns the records in order of start, with times that count from the first start.
std::vector<KernelTime> from_first_start(std::vector<RawRecord> raw) {
  std::stable_sort(raw.begin(), raw.end(),
                   [](const RawRecord& a, const RawRecord& b) { return a.start < b.start; });
  std::vector<KernelTime> records;
  records.reserve(raw.size());
  for (RawRecord& record : raw) {
    const auto since_first = [&](std::uint64_t time) {
      return Nanoseconds(static_cast<double>(time - raw.front().start));
    };
    record.kernel.start = since_first(record.start);
    record.kernel.end = since_first(record.end);
    records.push_back(std::move(record.kernel));
  }
  return records;
}

void disable_all() noexcept {
  for (const CUpti_ActivityKind kind : kKinds) cupti().cuptiActivityDisable(kind);
}

void end_recording() noexcept {
  disable_all();
  cupti().cuptiUnsubscribe(recorder().subscriber);
  const std::lock_guard lock(recorder().mutex);
  recorder().owner = nullptr;
  recorder().completed.clear();
  recorder().names.clear();
  recorder().calls.clear();
}

// Flushes, and returns the records as CUPTI wrote them.
std::vector<RawRecord> collect() {
  // Forced: also flushes buffers that are not yet full. Not under the lock, which the callback takes.
  check_cupti(cupti().cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  disable_all();
  std::vector<Buffer> buffers;
  {
    const std::lock_guard lock(recorder().mutex);
    buffers.swap(recorder().completed);
    if (std::exchange(recorder().lost, false)) throw FailedError("no memory for CUPTI's records");
  }
  std::vector<RawRecord> records = read_records(buffers);
  check_complete(records);
  return records;
}

}  // namespace

KernelTrace::KernelTrace() {
  cupti();
  {
    const std::lock_guard lock(recorder().mutex);
    if (recorder().owner != nullptr) {
      throw FailedError("a kernel trace is running already: stop it before the next");
    }
    check_cupti(cupti().cuptiSubscribe(&recorder().subscriber, &note_call, nullptr), "cannot record kernels");
    recorder().owner = this;
  }
  try {
    LaunchCalls::enable(recorder().subscriber);
    check_cupti(cupti().cuptiActivityRegisterCallbacks(&request_buffer, &complete_buffer),
                "cuptiActivityRegisterCallbacks");
    for (const CUpti_ActivityKind kind : kKinds) {
      check_cupti(cupti().cuptiActivityEnable(kind), "cannot record kernels");
    }
  } catch (...) {
    end_recording();
    throw;
  }
}

KernelTrace::~KernelTrace() {
  if (recorder().owner == this) end_recording();
}

bool KernelTrace::is_recording() {
  const std::lock_guard lock(recorder().mutex);
  return recorder().owner != nullptr;
}

void KernelTrace::begin_launch(std::uint64_t launch) {
  if (recorder().owner == this) recorder().calls.begin(launch);
}
void KernelTrace::end_launch() { recorder().calls.end(); }

std::vector<KernelTime> KernelTrace::stop() {
  if (recorder().owner != this) return {};
  std::vector<RawRecord> records;
  try {
    records = collect();
  } catch (...) {
    end_recording();
    throw;
  }
  end_recording();
  return from_first_start(std::move(records));
}

}  // namespace jitterscope::cuda
