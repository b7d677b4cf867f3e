// A program that uses CUDA as its arguments say, on a GPU and with a CUPTI that stand in for NVIDIA's. It is
// recorded as any other.
//
//   set:NAME=VALUE   how the stand-in CUPTI behaves; loads it, as PyTorch does before cuInit
//   init             cuInit
//   launch:N[:T[:S]] N kernels, in T threads and streams, of S shapes
//   graph:L:N        L launches of a graph of N nodes
//   work             records of copies, sets, allocations and overheads, one of each
//   push:NAME        begins a range, as NVTX does; pop: ends the last one
//   ranges:N         N ranges with one inside, a mark, and a range that another thread ends first; NVTX does
//   not
//                    call for them
//   open_range       a range that never ends
//   calls:N          N calls of the runtime that are no launches
//   wait             until the GPU is done
//   mark             what has been launched until now must be there later
//   written          waits until the recorder has written all that CUPTI gives back without force
//   until:TABLE:N    launches kernels of three shapes until the recorder's file of a table has N rows
//   until:TABLE:N:graph  … launches graphs of 50 nodes
//   until:details    … until there was a window of each detail
//   forks:HOW        a child that does HOW without exec: exits, leaves (_exit) or launches and exits
//   exec             itself, with the rest of the arguments
//   profile[:unseen] registers as a profiler does, launches 100 kernels, and ends; `unseen` by dlsym
//   profile_on       the first half of it
//   callbacks        subscribes to callbacks, as a profiler does first; no_callbacks: ends that
//   limit_files:N    no file may be larger; free_files: they may again
//   no_memory        the recorder's thread gets none any more; free_memory: it does again
//   remove_folder    of the recording
//   reset            ends the context
//   flushes:N        another thread flushes while this one launches N kernels
//   nvtx             initialises NVTX
//   signals          SIGPROF and SIGALRM every millisecond from now on
//   convolution, linear, product …  calls of libraries: library_calls_of_program.hpp
//   leave:CODE       _exit; kill: SIGKILL; abort_threads: exits while threads launch
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "capture/format/arrow_stream.hpp"
#include "support/library_calls_of_program.hpp"
#include "support/stand_in_cupti.hpp"

namespace {

using namespace jitterscope::stand_in;
namespace files = std::filesystem;

constexpr CUpti_CallbackId kOtherCall = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "recorded_program: %s\n", what.c_str());
  std::_Exit(99);
}

void* cupti() {
  void* library = ::dlopen("libcupti.so.13", RTLD_NOW);
  if (library == nullptr) fail(::dlerror());
  return library;
}

template <class Function>
Function stand_in_function(const char* name) {
  return reinterpret_cast<Function>(::dlsym(cupti(), name));
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(':');
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string name_of_shape(unsigned shape) {
  constexpr const char* kBeginnings[] = {"wgrad_", "kernel_of_a_library_", "fprop_"};
  return kBeginnings[shape % 3] + std::to_string(shape);
}
// They live as long as the program, as a module's names do.
const char* kept_name(unsigned shape) {
  static const std::vector<std::string>* const names = [] {
    auto* all = new std::vector<std::string>;
    for (unsigned i = 0; i < 4096; ++i) all->push_back(name_of_shape(i));
    return all;
  }();
  return (*names)[shape % names->size()].c_str();
}

void launch(unsigned count, unsigned threads, unsigned shapes) {
  const auto launch_kernel = stand_in_function<LaunchWork>(kLaunchName);
  const auto launch_some = [&](unsigned thread) {
    for (unsigned i = thread; i < count; i += threads)
      launch_kernel({kept_name(i % shapes), i % shapes + 1, thread + 7, 0, 1});
  };
  std::vector<std::thread> all;
  for (unsigned thread = 1; thread < threads; ++thread) all.emplace_back(launch_some, thread);
  launch_some(0);
  for (std::thread& thread : all) thread.join();
}

template <class Record>
void add(const Record& record) {
  stand_in_function<Add>(kAddName)(&record, sizeof record);
}

void add_work() {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.start = 1'000;
  copy.end = 3'000;
  copy.bytes = 4'096;
  add(copy);
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  set.start = 5'000;
  set.end = 4'000;  // damaged
  add(set);
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.bytes = 1 << 20;
  memory.address = 0x7000'0000;
  memory.timestamp = 9'000;
  add(memory);
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
  overhead.start = 11'000;
  overhead.end = 12'500;
  add(overhead);
}

void add_marker(std::uint32_t flags, std::uint32_t id, std::uint64_t time, const char* name) {
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = static_cast<CUpti_ActivityFlag>(flags);
  marker.timestamp = time;
  marker.id = id;
  marker.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  marker.objectId.pt.threadId = 77;
  marker.name = name;
  add(marker);
}

std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

std::vector<std::uint32_t> open_ranges;
void push(const std::string& name) {
  static std::set<std::string>& names = *new std::set<std::string>;  // as CUPTI's own copies last
  static std::uint32_t last_id = 3'000'000;
  const char* const text = names.insert(name).first->c_str();
  stand_in_function<Call>(kCallName)(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxRangePushA, 0, &text);
  open_ranges.push_back(++last_id);
  add_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, last_id, now(), text);
}
void pop() {
  add_marker(CUPTI_ACTIVITY_FLAG_MARKER_END, open_ranges.back(), now(), nullptr);
  open_ranges.pop_back();
}

void add_ranges(unsigned count) {
  constexpr std::uint32_t kStart = CUPTI_ACTIVITY_FLAG_MARKER_START, kEnd = CUPTI_ACTIVITY_FLAG_MARKER_END;
  for (unsigned i = 0; i < count; ++i) {
    const std::uint64_t time = 10'000 * (i + 1);
    add_marker(kStart, 4 * i + 1, time, "step");
    add_marker(kStart, 4 * i + 2, time + 1'000, "forward");
    add_marker(CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 4 * i + 3, time + 1'500, "here");
    add_marker(kEnd, 4 * i + 2, time + 2'000, nullptr);
    add_marker(kEnd, 4 * i + 1, time + 5'000, nullptr);
  }
  std::thread([] { add_marker(kEnd, 1'000'001, 900'000, nullptr); }).join();
  add_marker(kStart, 1'000'001, 800'000, "across threads");
}

// The file of a table of this process's recording.
std::string path_of_table(const std::string& table) {
  const char* capture = std::getenv("JITTERSCOPE_CAPTURE");
  if (capture == nullptr) fail("nobody records");
  const std::string beginning = "p" + std::to_string(::getpid()) + "-";
  std::error_code ignored;
  std::string newest;
  for (const auto& entry : files::directory_iterator(capture, ignored)) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with(beginning) && path > newest) newest = path;
  }
  return newest + "/" + table + ".arrows";
}

// The recorder writes after each flush: when a flush begins, all is written that the one before has given.
void wait_until_written() {
  const auto flushes = stand_in_function<Flushes>(kFlushesName);
  for (const std::uint64_t before = flushes(); flushes() < before + 2;) ::usleep(500);
}

void launch_graphs(unsigned count, unsigned nodes) {
  for (unsigned i = 0; i < count; ++i) stand_in_function<LaunchWork>(kLaunchName)({"node", 3, 5, 9, nodes});
}

template <class Table>
void launch_until(std::size_t rows, bool are_graphs) {
  for (;;) {
    Table table;
    jitterscope::capture::read_table(path_of_table(Table::kName), table);
    std::size_t count = 0;
    describe(table, [&](const char*, const auto& column) { count = column.size(); });
    if (count >= rows) return;
    if (are_graphs) {
      launch_graphs(1, 50);
    } else {
      launch(30, 1, 3);
    }
    ::usleep(1'000);
  }
}

void launch_until_all_details() {
  for (;;) {
    jitterscope::capture::Windows windows;
    jitterscope::capture::read_table(path_of_table("windows"), windows);
    if (std::set(windows.detail.begin(), windows.detail.end()).size() == 3) return;
    launch(30, 1, 3);
    ::usleep(1'000);
  }
}

// A profiler of the program's own, as torch.profiler is one.

std::set<std::uint8_t*> profiler_buffers;  // its own: others may come to it
unsigned profiled_buffers = 0;
std::mutex profiler_mutex;
void request_of_profiler(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 1 << 16;
  *most = 0;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  std::memset(*buffer, 0xAB, *size);  // as memory is
  const std::lock_guard lock(profiler_mutex);
  profiler_buffers.insert(*buffer);
}
void complete_of_profiler(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) {
  const std::lock_guard lock(profiler_mutex);
  if (profiler_buffers.erase(buffer) == 0) return;
  ++profiled_buffers;
  std::free(buffer);
}

template <class Function>
Function* profiler_function(const char* name, bool is_unseen) {
  void* function =
      is_unseen ? nullptr : ::dlsym(RTLD_DEFAULT, name);  // what a program that links CUPTI calls
  if (function == nullptr) function = ::dlsym(cupti(), name);
  return reinterpret_cast<Function*>(function);
}

// PyTorch's profiler counts the processor's cycles.
std::uint64_t clock_of_profiler() { return static_cast<std::uint64_t>(std::clock()); }

void begin_profile(bool is_unseen) {
  profiler_function<decltype(cuptiActivityRegisterTimestampCallback)>(
      "cuptiActivityRegisterTimestampCallback", is_unseen)(clock_of_profiler);
  profiler_function<decltype(cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks", is_unseen)(
      request_of_profiler, complete_of_profiler);
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME})
    profiler_function<decltype(cuptiActivityEnable)>("cuptiActivityEnable", is_unseen)(kind);
}

CUpti_SubscriberHandle subscriber_of_profiler = nullptr;
void ignore_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void end_profile(bool is_unseen) {
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME})
    profiler_function<decltype(cuptiActivityDisable)>("cuptiActivityDisable", is_unseen)(kind);
  profiler_function<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll",
                                                     is_unseen)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (profiled_buffers == 0) fail("the program's profiler got no records");
}

void limit(int resource, rlim_t value) {
  rlimit limits{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limits);
  limits.rlim_cur = std::min(value, limits.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &limits);
}

std::atomic<bool> refuses_memory{false};
[[maybe_unused]] bool is_recorders_thread() {  // used where no sanitizer has its own malloc
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  return std::string_view(name) == "jitterscope";
}

void forks(const std::string& how) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (how == "launches") launch(500, 1, 4);
    if (how == "leaves") ::_exit(0);
    std::exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0)
    fail("the child ended with status " + std::to_string(status));
}

std::atomic<unsigned> signals{0};
void send_signals() {
  for (const auto& [signal, timer] : {std::pair(SIGALRM, ITIMER_REAL), std::pair(SIGPROF, ITIMER_PROF)}) {
    struct sigaction action {};
    action.sa_handler = [](int) { ++signals; };
    ::sigaction(signal, &action, nullptr);
    const itimerval every{{0, 1'000}, {0, 1'000}};
    ::setitimer(timer, &every, nullptr);
  }
}

void carry_out(const std::string& command, char** rest, char** arguments) {
  const std::vector<std::string> parts = parts_of(command);
  const auto number = [&](std::size_t i, unsigned otherwise) {
    return i < parts.size() ? static_cast<unsigned>(std::stoul(parts[i])) : otherwise;
  };
  const std::string& verb = parts.front();
  if (verb == "set") {
    const std::size_t equals = parts.at(1).find('=');
    stand_in_function<Set>(kSetName)(parts[1].substr(0, equals).c_str(),
                                     std::stoll(parts[1].substr(equals + 1)));
  } else if (verb == "init") {
    void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) fail(::dlerror());
    reinterpret_cast<int (*)(unsigned)>(::dlsym(driver, "cuInit"))(0);
  } else if (verb == "launch") {
    launch(number(1, 1), number(2, 1), number(3, 1));
  } else if (verb == "graph") {
    launch_graphs(number(1, 1), number(2, 1));
  } else if (verb == "work") {
    add_work();
  } else if (verb == "push") {
    push(parts.at(1));
  } else if (verb == "pop") {
    pop();
  } else if (verb == "ranges") {
    add_ranges(number(1, 1));
  } else if (verb == "open_range") {
    add_marker(CUPTI_ACTIVITY_FLAG_MARKER_START, 2'000'001, 50'000, "open");
  } else if (verb == "calls") {
    for (unsigned i = 0; i < number(1, 1); ++i)
      stand_in_function<Call>(kCallName)(CUPTI_CB_DOMAIN_RUNTIME_API, kOtherCall, 0, nullptr);
  } else if (verb == "wait") {
    stand_in_function<Wait>(kWaitName)();
  } else if (verb == "mark") {
    stand_in_function<Set>(kSetName)("mark", 1);
  } else if (verb == "written") {
    wait_until_written();
  } else if (verb == "until") {
    const bool are_graphs = parts.size() > 3;
    if (parts.at(1) == "windows") launch_until<jitterscope::capture::Windows>(number(2, 1), are_graphs);
    if (parts.at(1) == "calls") launch_until<jitterscope::capture::Calls>(number(2, 1), are_graphs);
    if (parts.at(1) == "details") launch_until_all_details();
    if (parts.at(1) == "losses") launch_until<jitterscope::capture::Losses>(number(2, 1), are_graphs);
    if (parts.at(1) == "launches") launch_until<jitterscope::capture::Launches>(number(2, 1), are_graphs);
  } else if (verb == "forks") {
    forks(parts.at(1));
  } else if (verb == "exec") {
    std::vector<char*> next{arguments[0]};
    for (; *rest != nullptr; ++rest) next.push_back(*rest);
    next.push_back(nullptr);
    ::execv("/proc/self/exe", next.data());
    fail("exec");
  } else if (verb == "profile" || verb == "profile_on") {
    const bool is_unseen = parts.size() > 1;
    begin_profile(is_unseen);
    launch(100, 1, 4);
    if (verb == "profile_on") return;
    stand_in_function<Wait>(kWaitName)();
    end_profile(is_unseen);
  } else if (verb == "callbacks") {
    const auto subscribe = profiler_function<decltype(cuptiSubscribe)>("cuptiSubscribe", false);
    if (subscribe(&subscriber_of_profiler, ignore_call, nullptr) != CUPTI_SUCCESS)
      fail("the program's profiler gets no callbacks");
  } else if (verb == "no_callbacks") {
    profiler_function<decltype(cuptiUnsubscribe)>("cuptiUnsubscribe", false)(subscriber_of_profiler);
  } else if (verb == "limit_files") {
    ::signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, number(1, 0));
  } else if (verb == "free_files") {
    limit(RLIMIT_FSIZE, RLIM_INFINITY);
  } else if (verb == "no_memory" || verb == "free_memory") {
    refuses_memory = verb == "no_memory";
  } else if (verb == "remove_folder") {
    files::remove_all(std::getenv("JITTERSCOPE_CAPTURE"));
  } else if (verb == "reset") {
    stand_in_function<Reset>(kResetName)();
  } else if (verb == "flushes") {
    std::atomic<bool> stop{false};
    std::thread other([&] {
      const auto flush = profiler_function<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll", false);
      while (!stop) flush(0);
    });
    launch(number(1, 1), 2, 5);
    stop = true;
    other.join();
  } else if (verb == "nvtx") {
    void* library = ::dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
    const auto begin = reinterpret_cast<int (*)(void*)>(::dlsym(library, "InitializeInjectionNvtx2"));
    std::printf("nvtx %d\n", begin(nullptr));
  } else if (verb == "signals") {
    send_signals();
  } else if (verb == "abort_threads") {
    for (int i = 0; i < 3; ++i) {
      std::thread([] {
        for (;;) launch(10, 1, 4);
      }).detach();
    }
    launch(1'000, 1, 4);
    std::exit(0);
  } else if (verb == "leave") {
    std::fflush(nullptr);
    ::_exit(static_cast<int>(number(1, 0)));
  } else if (verb == "kill") {
    ::raise(SIGKILL);
  } else if (!call_library(parts)) {
    fail("no such command: " + command);
  }
}

}  // namespace

// The whole process's malloc.
#if !defined(__SANITIZE_THREAD__) && !defined(JITTERSCOPE_TESTS_UNDER_ADDRESS_SANITIZER)
extern "C" void* __libc_malloc(std::size_t size);  // NOLINT
extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t size) {
  return refuses_memory && is_recorders_thread() ? nullptr : __libc_malloc(size);
}
#endif

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(arguments[i]).starts_with("#")) continue;  // for the command line's sake
    carry_out(arguments[i], arguments + i + 1, arguments);
  }
  return 0;
}
