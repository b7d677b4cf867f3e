// A CUPTI without a GPU, libcupti.so.13: it calls back and gives records as CUPTI 13 does. Each thread has a
// buffer of its own; a kernel's record is begun at its launch and gets its times from a thread that stands in
// for the GPU; a buffer comes back when it is full and all of it is done, or by a flush.
#include "support/stand_in_cupti.hpp"

#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace jitterscope::stand_in;

struct Behaviour {
  std::int64_t held = 0;              ///< another has subscribed
  std::int64_t refuses_kernels = 0;   ///< kernels cannot be recorded
  std::int64_t drop_every = 0;        ///< of so many kernels one is dropped, and counted
  std::int64_t lose_times_after = 0;  ///< so many nodes of graphs have times, the others none
  std::int64_t unordered = 0;         ///< records come in a buffer from last to first
  std::int64_t wrong_names = 0;       ///< kernels whose name begins with w are named as if it were d
  std::int64_t needs_calls = 0;       ///< no correlation ids unless calls are recorded
  std::int64_t hang = 0;              ///< a forced flush never ends
  std::int64_t spoil = 0;             ///< a forced flush gives records that are not whole, and no times
  std::int64_t kernel_ns = 1'000;     ///< how long kernels run
};
Behaviour behaviour;

// Nothing is ever destroyed: threads of the program may still call when it exits.
template <class Value>
Value& lasting() {
  return *new Value;
}

std::mutex& mutex = lasting<std::mutex>();
CUpti_CallbackFunc callback = nullptr;
std::set<CUpti_CallbackDomain>& domains = lasting<std::set<CUpti_CallbackDomain>>();
std::set<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>>& calls =
    lasting<std::set<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>>>();
std::set<CUpti_ActivityKind>& kinds = lasting<std::set<CUpti_ActivityKind>>();
std::set<CUpti_CallbackId>&recorded_driver_calls = lasting<std::set<CUpti_CallbackId>>(),
    &quiet_runtime_calls = lasting<std::set<CUpti_CallbackId>>();
CUpti_BuffersCallbackRequestFunc request_buffer = nullptr;
CUpti_BuffersCallbackCompleteFunc complete_buffer = nullptr, first_complete = nullptr;
std::set<std::string>& names = lasting<std::set<std::string>>();
CUpti_TimestampCallbackFunc clock_of_records = nullptr;
std::size_t dropped = 0;
std::int64_t nodes_with_times = 0;
std::atomic<std::uint64_t> flushes{0};
std::uint32_t next_correlation = 1;

using Lock = std::unique_lock<std::mutex>;

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0, used = 0;
  unsigned under_way = 0;
  bool is_full = false;
  std::thread::id thread;
  std::vector<std::size_t> records;  // where they begin
  std::vector<Work*> works;          // whose they are
};
std::list<Buffer>& buffers = lasting<std::list<Buffer>>();
unsigned under_delivery = 0;  ///< buffers that a thread gives back just now

// Work on the GPU that is not there.
struct Running {
  Buffer* buffer;  // null: nobody records it
  std::size_t offset;
  Work* work;
  std::int64_t end;
};
std::list<Running>& running = lasting<std::list<Running>>();
std::map<std::uint32_t, std::int64_t>& free_from =
    lasting<std::map<std::uint32_t, std::int64_t>>();  // by stream
std::int64_t last_start = 0;
bool has_worker = false;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

Truth* truth() {
  static Truth* const mapped = []() -> Truth* {
    const char* path = std::getenv("STAND_IN_TRUTH");
    const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* memory = ::mmap(nullptr, sizeof(Truth), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Truth*>(memory);
  }();
  return mapped;
}

Work* new_work() {
  static std::list<Work>& unseen = lasting<std::list<Work>>();  // where nobody looks
  static const pid_t owner = ::getpid();
  if (truth() == nullptr || owner != ::getpid())
    return &unseen.emplace_back();  // CUDA does not work in a fork
  const std::uint32_t index = truth()->count.fetch_add(1);
  if (index >= Truth::kMost) std::abort();
  return &truth()->works[index];
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE: return sizeof(CUpti_ActivityGraphTrace2);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_MARKER: return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return sizeof(CUpti_ActivityMemory4);
    default: return 0;
  }
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "stand-in CUPTI: %s\n", what);
  std::abort();
}

// All below are called with the mutex held, and release it before they call back: who is called may hold
// locks of its own, and call from under them.

std::uint8_t* checked(std::uint8_t* bytes) {
  if (bytes == nullptr) fail("it was given no buffer, which crashes CUPTI before 12.9");
  if (reinterpret_cast<std::uintptr_t>(bytes) % 8 != 0) fail("it was given a buffer without alignment");
  return bytes;
}

// This thread's buffer, with room for one more record. Another thread may do anything meanwhile.
Buffer& with_room(Lock& lock, std::size_t room) {
  for (;;) {
    for (Buffer& buffer : buffers) {
      if (buffer.is_full || buffer.thread != std::this_thread::get_id()) continue;
      if (buffer.used + room <= buffer.size) return buffer;
      buffer.is_full = true;
    }
    const auto request = request_buffer;
    const auto complete = complete_buffer;
    Buffer made;
    std::size_t most = 0;
    lock.unlock();
    request(&made.bytes, &made.size, &most);
    std::memset(checked(made.bytes), 0, made.size);
    made.thread = std::this_thread::get_id();
    lock.lock();
    if (request == request_buffer) {
      buffers.push_back(std::move(made));
    } else {  // it is of one who has been replaced
      lock.unlock();
      complete(nullptr, 0, made.bytes, made.size, 0);
      lock.lock();
    }
  }
}

std::size_t append(Buffer& buffer, const void* record, std::size_t size, std::size_t room, Work* work) {
  const std::size_t offset = buffer.used;
  std::memcpy(buffer.bytes + offset, record, size);
  buffer.records.push_back(offset);
  if (work != nullptr) buffer.works.push_back(work);
  buffer.used += room;
  return offset;
}

void reverse(Buffer& buffer) {
  std::vector<std::uint8_t> reversed;
  for (auto at = buffer.records.rbegin(); at != buffer.records.rend(); ++at) {
    const std::uint8_t* record = buffer.bytes + *at;
    CUpti_ActivityKind kind{};
    std::memcpy(&kind, record, sizeof kind);
    reversed.insert(reversed.end(), record, record + size_of(kind));
  }
  std::memcpy(buffer.bytes, reversed.data(), reversed.size());
}

// Gives back the buffers for which `is_due`.
template <class IsDue>
void deliver(Lock& lock, IsDue&& is_due) {
  std::list<Buffer> due;
  for (auto buffer = buffers.begin(); buffer != buffers.end();) {
    const auto next = std::next(buffer);
    if (is_due(*buffer)) due.splice(due.end(), buffers, buffer);
    buffer = next;
  }
  const auto complete = complete_buffer;
  for (Buffer& buffer : due) {
    if (behaviour.unordered != 0) reverse(buffer);
    for (Work* work : buffer.works)
      work->fate = complete == first_complete ? Fate::delivered : Fate::to_another;
    ++under_delivery;
  }
  lock.unlock();
  for (const Buffer& buffer : due) complete(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
  lock.lock();
  under_delivery -= static_cast<unsigned>(due.size());
}

void note_times(const Running& done) {
  if (done.buffer == nullptr) return;
  --done.buffer->under_way;
  if (done.work->start == 0) return;
  // Records have the time of whoever registered a clock, also those from before.
  const std::int64_t other =
      clock_of_records == nullptr ? now() : static_cast<std::int64_t>(clock_of_records());
  const std::int64_t shift = std::abs(other - now()) < 1'000'000'000 ? 0 : other - now();
  auto& kernel = *reinterpret_cast<CUpti_ActivityKernel10*>(done.buffer->bytes + done.offset);
  const auto start = static_cast<std::uint64_t>(done.work->start + shift),
             end = start + static_cast<std::uint64_t>(done.work->duration);
  if (kernel.kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
    auto& graph = *reinterpret_cast<CUpti_ActivityGraphTrace2*>(&kernel);
    graph.start = start;
    graph.end = end;
  } else {
    kernel.start = start;
    kernel.end = end;
  }
}

void finish_work() {
  const std::int64_t time = now();
  for (auto work = running.begin(); work != running.end();) {
    if (work->end > time) {
      ++work;
      continue;
    }
    note_times(*work);
    work = running.erase(work);
  }
}

void work_on() {
  for (;;) {
    ::usleep(200);
    Lock lock(mutex);
    finish_work();
    deliver(lock, [](const Buffer& buffer) { return buffer.is_full && buffer.under_way == 0; });
  }
}

void start_worker() {
  if (has_worker) return;
  has_worker = true;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(work_on).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // A child of a fork has no worker, but may hold on to the rest.
  ::pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); },
                   [] {
                     under_delivery = 0;
                     mutex.unlock();
                   });
}

bool are_correlated() {
  return behaviour.needs_calls == 0 || kinds.contains(CUPTI_ACTIVITY_KIND_RUNTIME) ||
         recorded_driver_calls.contains(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
}

void begin_record(Lock& lock, const Launch& launch, std::uint32_t node, std::uint32_t correlation,
                  bool is_whole_graph) {
  const CUpti_ActivityKind kind =
      is_whole_graph ? CUPTI_ACTIVITY_KIND_GRAPH_TRACE : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  Buffer* buffer = kinds.contains(kind) ? &with_room(lock, size_of(kind)) : nullptr;
  if (!kinds.contains(kind)) buffer = nullptr;
  Work* work = new_work();
  const std::int64_t start = std::max({now(), free_from[launch.stream], last_start + 1});
  const std::int64_t duration =
      behaviour.kernel_ns * (is_whole_graph ? launch.nodes : 1) + 32 * (correlation % 16);
  last_start = start;
  free_from[launch.stream] = start + duration;
  *work = {Fate::under_way,
           are_correlated() ? correlation : 0,
           launch.grid,
           launch.stream,
           launch.graph,
           node,
           start,
           duration,
           {}};
  std::strncpy(work->name, launch.name, sizeof work->name - 1);
  if (node != 0 && behaviour.lose_times_after > 0 && ++nodes_with_times > behaviour.lose_times_after)
    work->start = 0;
  static std::int64_t count = 0;
  if (buffer == nullptr) {
    work->fate = Fate::not_recorded;
  } else if (behaviour.drop_every > 0 && ++count % behaviour.drop_every == 0) {
    work->fate = Fate::dropped;
    ++dropped;
    buffer = nullptr;
  }
  std::size_t offset = 0;
  if (buffer != nullptr && is_whole_graph) {
    CUpti_ActivityGraphTrace2 record{};
    record.kind = kind;
    record.correlationId = work->correlation;
    record.streamId = launch.stream;
    record.graphId = launch.graph;
    offset = append(*buffer, &record, sizeof record, sizeof record, work);
  } else if (buffer != nullptr) {
    std::string name = launch.name;
    if (behaviour.wrong_names != 0 && name.front() == 'w') name.front() = 'd';
    CUpti_ActivityKernel10 record{};
    record.kind = kind;
    record.name = names.insert(name).first->c_str();
    record.correlationId = work->correlation;
    record.streamId = launch.stream;
    record.gridX = static_cast<std::int32_t>(launch.grid);
    record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
    record.blockX = 128;
    record.registersPerThread = 40;
    record.graphId = launch.graph;
    record.graphNodeId = node;
    offset = append(*buffer, &record, sizeof record, sizeof record, work);
  }
  if (buffer != nullptr) ++buffer->under_way;
  running.push_back({buffer, offset, work, start + duration});
}

}  // namespace

extern "C" {

void stand_in_cupti_set(const char* name, std::int64_t value) {
  const std::lock_guard lock(mutex);
  if (std::string_view(name) == "mark") {  // what was launched until now
    truth()->marked = truth()->count.load();
    return;
  }
  const std::map<std::string_view, std::int64_t*> all = {{"held", &behaviour.held},
                                                         {"refuses_kernels", &behaviour.refuses_kernels},
                                                         {"drop_every", &behaviour.drop_every},
                                                         {"lose_times_after", &behaviour.lose_times_after},
                                                         {"unordered", &behaviour.unordered},
                                                         {"wrong_names", &behaviour.wrong_names},
                                                         {"needs_calls", &behaviour.needs_calls},
                                                         {"hang", &behaviour.hang},
                                                         {"spoil", &behaviour.spoil},
                                                         {"kernel_ns", &behaviour.kernel_ns}};
  const auto found = all.find(name);
  if (found == all.end()) fail("it does not know that behaviour");
  *found->second = value;
}

void stand_in_cupti_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, std::uint32_t correlation,
                         const void* parameters) {
  CUpti_CallbackFunc function = nullptr;
  {
    Lock lock(mutex);
    if (domains.contains(domain) || calls.contains({domain, id})) function = callback;
    const bool is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
    if (domain == CUPTI_CB_DOMAIN_NVTX) {
      // its record is the marker
    } else if (is_driver ? recorded_driver_calls.contains(id)
                         : kinds.contains(CUPTI_ACTIVITY_KIND_RUNTIME) && !quiet_runtime_calls.contains(id)) {
      CUpti_ActivityAPI record{};
      record.kind = is_driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
      record.cbid = id;
      record.start = static_cast<std::uint64_t>(now());
      record.end = record.start + 500;
      record.threadId = static_cast<std::uint32_t>(::gettid());
      record.correlationId = correlation;
      append(with_room(lock, sizeof record), &record, sizeof record, sizeof record, nullptr);
    }
  }
  if (function == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_NVTX) {
    const CUpti_NvtxData data{nullptr, parameters, nullptr};
    function(nullptr, domain, id, &data);
    return;
  }
  CUpti_CallbackData data{};
  data.functionParams = parameters;
  data.correlationId = correlation;
  for (const CUpti_ApiCallbackSite site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
    data.callbackSite = site;
    function(nullptr, domain, id, &data);
  }
}

void stand_in_cupti_add(const void* record, std::size_t size) {
  Lock lock(mutex);
  CUpti_ActivityKind kind{};
  std::memcpy(&kind, record, sizeof kind);
  append(with_room(lock, size_of(kind)), record, size, size_of(kind), nullptr);
}

void stand_in_cupti_launch(const Launch& launch) {
  std::uint32_t correlation = 0;
  {
    const std::lock_guard lock(mutex);
    start_worker();
    correlation = next_correlation++;
  }
  cuLaunchKernel_params parameters{};
  parameters.f = reinterpret_cast<CUfunction>(const_cast<char*>(launch.name));  // NOLINT
  stand_in_cupti_call(CUPTI_CB_DOMAIN_RUNTIME_API,
                      launch.graph == 0 ? CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000
                                        : CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
                      correlation, nullptr);
  stand_in_cupti_call(
      CUPTI_CB_DOMAIN_DRIVER_API,
      launch.graph == 0 ? CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel : CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
      correlation, &parameters);
  Lock lock(mutex);
  static std::set<std::uint32_t>& without_trace = lasting<std::set<std::uint32_t>>();
  if (launch.graph != 0 && !kinds.contains(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
    without_trace.insert(launch.graph);
  if (launch.graph != 0 && kinds.contains(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)) {
    if (without_trace.contains(launch.graph))
      fail("a graph of before is traced as a whole, which crashes CUPTI 13.0");
    begin_record(lock, launch, 0, correlation, true);
    return;
  }
  for (std::uint32_t node = 0; node < launch.nodes; ++node)
    begin_record(lock, launch, launch.graph == 0 ? 0 : node + 1, correlation, false);
}

void stand_in_cupti_wait() {
  for (;;) {
    {
      const std::lock_guard lock(mutex);
      finish_work();
      if (running.empty()) return;
    }
    ::usleep(200);
  }
}

std::uint64_t stand_in_cupti_flushes() { return flushes.load(); }

void stand_in_cupti_reset() {
  stand_in_cupti_call(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2, 0,
                      nullptr);
  Lock lock(mutex);
  running.clear();
  for (Buffer& buffer : buffers) buffer.used = 0;
  deliver(lock, [](Buffer& buffer) {
    for (Work* work : std::exchange(buffer.works, {})) work->fate = Fate::gone;
    return true;
  });
}

int InitializeInjectionNvtx2(void*) { return 1; }

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = 130000;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "what the stand-in says";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  const bool is_launch = domain == CUPTI_CB_DOMAIN_DRIVER_API
                             ? id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
                             : id == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  *name = !is_launch                             ? "cudaSomethingElse_v3020"
          : domain == CUPTI_CB_DOMAIN_DRIVER_API ? "cuLaunchKernel"
                                                 : "cudaLaunchKernel_v7000";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  const std::lock_guard lock(mutex);
  clock_of_records = function;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void*) {
  const std::lock_guard lock(mutex);
  if (behaviour.held != 0 || callback != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  callback = function;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&callback);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function, void* data,
                              CUpti_SubscriberParams* parameters) {
  const CUptiResult result = cuptiSubscribe(subscriber, function, data);
  if (result != CUPTI_SUCCESS)
    std::snprintf(parameters->oldSubscriberName, parameters->oldSubscriberSize, "CUPTI for the stand-in");
  return result;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  const std::lock_guard lock(mutex);
  callback = nullptr;
  domains.clear();
  calls.clear();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableDomain(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  const std::lock_guard lock(mutex);
  domains.insert(domain);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  const std::lock_guard lock(mutex);
  if (enable != 0) {
    calls.insert({domain, id});
  } else {
    calls.erase({domain, id});
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(mutex);
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && behaviour.refuses_kernels != 0)
    return CUPTI_ERROR_NOT_COMPATIBLE;
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) quiet_runtime_calls.clear();  // a kind sets all its calls
  kinds.insert(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  const std::lock_guard lock(mutex);
  kinds.erase(kind);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enable) {
  const std::lock_guard lock(mutex);
  if (enable != 0) {
    quiet_runtime_calls.erase(id);
  } else {
    quiet_runtime_calls.insert(id);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t enable) {
  const std::lock_guard lock(mutex);
  if (enable != 0) {
    recorded_driver_calls.insert(id);
  } else {
    recorded_driver_calls.erase(id);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  const std::lock_guard lock(mutex);
  request_buffer = request;
  complete_buffer = complete;
  if (first_complete == nullptr) first_complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  const bool is_forced = (flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) != 0;
  if (!is_forced) ++flushes;
  Lock lock(mutex);
  while (is_forced && behaviour.hang != 0) {
    lock.unlock();
    ::usleep(10'000);
    lock.lock();
  }
  finish_work();
  if (is_forced) {
    for (auto work = running.begin(); work != running.end();) {
      if (work->buffer == nullptr) {
        ++work;
        continue;
      }
      work->work->start = 0;  // it comes without times
      if (behaviour.spoil != 0) {
        const CUpti_ActivityKind none = CUPTI_ACTIVITY_KIND_INVALID;
        std::memcpy(work->buffer->bytes + work->offset, &none, sizeof none);
      }
      --work->buffer->under_way;
      work = running.erase(work);
    }
  }
  deliver(lock, [](const Buffer& buffer) { return buffer.under_way == 0; });
  while (under_delivery > 0) {  // by another thread
    lock.unlock();
    ::usleep(100);
    lock.lock();
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  if (size_of(reinterpret_cast<CUpti_Activity*>(next)->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* count) {
  const std::lock_guard lock(mutex);
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}

}  // extern "C"
