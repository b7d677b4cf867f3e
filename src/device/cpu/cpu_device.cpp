#include "device/cpu/cpu_device.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/host.hpp"
#include "device/can_run.hpp"
#include "device/chain.hpp"
#include "device/cpu/machine.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace cpu {
namespace {

std::string name_of(const MachineFacts& machine) { return machine.model.empty() ? "CPU" : machine.model; }

std::vector<Property> properties_of(const MachineFacts& machine) {
  std::vector<Property> properties = {{"cpu_model", name_of(machine)},
                                      {"governor", machine.governor.empty() ? "unknown" : machine.governor},
                                      {"isa", onednn_instruction_set()},
                                      {"threads", std::to_string(thread_count())},
                                      {"clock_source", std::string(CycleCounter().source())}};
  if (machine.core_quota) properties.push_back({"core_quota", fmt::format("{:g}", *machine.core_quota)});
  return properties;
}

class CpuDevice final : public Device {
 public:
  DeviceDescription describe() override {
    const MachineFacts machine = read_machine();
    DeviceDescription description;
    description.id = "cpu";
    description.name = name_of(machine);
    description.processors = usable_cores(machine);
    description.memory_total = machine.memory_total;
    description.memory_free = machine.memory_free;
    description.last_level_cache = machine.last_level_cache;
    description.maximum_clock = machine.maximum_clock;
    description.data_types = product_types();
    description.further_types = further_types();
    description.capabilities = {.is_host = true,
                                .launches_return_early = false,
                                .launches_have_blocks = false,
                                .chains_have_streams = false,
                                .marks_on_device = false,
                                .traces_kernels = false,
                                .owns_last_level_cache = false,
                                .copies_depend_on_data = false,
                                .waits_can_sleep = false,
                                .allocates_memory = false,
                                .runs_queues_beside = false,
                                .has_collectives = false,
                                .operator_outputs_stay = false,
                                .fast_layout = Layout::nchw,
                                .pytorch_device = "cpu",
                                .host_memories = {},
                                .allocators = cpu::allocators(),
                                .reason_not_fusible = reason_not_fusible_on_cpu};
    // A product takes a tenth of a second. In f64 our own loops reach 1.4 GFLOP/s, and 1536 would take 5 s.
    description.large_work = {
        .copy = Bytes(256 << 20), .product = 1536, .slow_type = DataType::f64, .product_in_slow_type = 256};
    description.libraries = cpu_libraries();
    description.properties = properties_of(machine);
    return description;
  }

  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& data) override {
    if (!std::holds_alternative<Chain>(operation.parameters()))
      return cpu::prepare(operation, table(data, data.seed));
    refuse_streams(operation, "cpu");
    refuse_unfusible(operation, "cpu", {.reason_not_fusible = reason_not_fusible_on_cpu});
    return std::make_unique<PreparedChain>(
        operation, data,
        [this, seed = data.seed](const Operation& step, const InputData& own, std::size_t, std::size_t) {
          return cpu::prepare(step, table(own, seed));
        });
  }

  std::unique_ptr<Queue> make_queue() override {
    return std::make_unique<CpuQueue>(read_machine().last_level_cache);
  }

  std::unique_ptr<Queue> adopt_queue(NativeQueue stream) override {
    if (stream == nullptr) return make_queue();
    throw UsageError("a cpu has no streams, so none can be measured on: give no stream, or open cuda:0");
  }

  SensorReading read_sensors() override {
    SensorReading reading;
    reading.sm_clock = current_clock();
    reading.temperature = current_temperature();
    return reading;
  }

  std::vector<Check> check() override { return checks_of(read_machine(), cpu_libraries()); }

  std::unique_ptr<KernelTracer> trace_kernels() override {
    throw MissingError("a CPU has no kernels to trace");
  }
  std::unique_ptr<ClockLock> lock_clocks(std::string_view) override {
    throw UsageError(
        "the cpu's clock cannot be locked from here: leave out --lock-clocks, or set the governor "
        "with 'cpupower frequency-set' as root");
  }

  Nanoseconds host_time() override { return host_time_now(); }

  // Returns early if a signal arrives, so that Ctrl-C takes effect at once.
  void idle(Nanoseconds duration) override {
    if (duration <= Nanoseconds(0)) return;
    const double whole = std::floor(to_seconds(duration));
    timespec time{};
    time.tv_sec = static_cast<time_t>(whole);
    time.tv_nsec = static_cast<long>(duration.value() - whole * 1e9);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  }
  void idle_awake(Nanoseconds time) override { stay_awake(time); }

 private:
  // Making a table takes 50 ms. A model prepares hundreds of operations from one, and a chain a thousand
  // steps, each of which takes other parts of it, by its own seed.
  const InputTable& table(const InputData& data, std::uint64_t seed) {
    if (!table_ || table_data_.kind != data.kind || table_data_.seed != seed) {
      table_data_ = data;
      table_data_.seed = seed;
      table_ = std::make_unique<InputTable>(table_data_);
    }
    table_->use_for(data);
    return *table_;
  }

  InputData table_data_;
  std::unique_ptr<InputTable> table_;
};

}  // namespace
}  // namespace cpu

std::unique_ptr<Device> open_cpu_device() { return std::make_unique<cpu::CpuDevice>(); }

DeviceListing list_cpu_device() { return {"cpu", cpu::name_of(cpu::read_machine()), ""}; }

std::vector<LibraryInfo> cpu_libraries() { return {cpu::onednn_library(), torch::torch_library()}; }

}  // namespace jitterscope

namespace jitterscope::cpu {
namespace {

template <class Slots>
const auto& passed(const Slots& slots, std::uint32_t slot) {
  const auto& value = slots[slot % Queue::kRingSize];
  if (!value) throw FailedError("the queue has not passed this point yet: wait for it first");
  return *value;
}

}  // namespace

void CpuQueue::hold() {
  refuse_while_recording("hold the queue");
  run_pending();
  is_held_ = true;
}

// Held commands run in the next call that may throw, because a workload may throw.
void CpuQueue::release() noexcept { is_held_ = false; }

void CpuQueue::launch(Workload& workload) { launch_in_a_row(workload, 1); }

void CpuQueue::launch_in_a_row(Workload& workload, std::int64_t launches) {
  enqueue({.kind = Command::Kind::launch, .workload = &workload, .launches = launches});
}

Mark CpuQueue::mark() {
  const Mark mark{next_mark_++ % kRingSize};
  marks_[mark.slot].reset();
  enqueue({.kind = Command::Kind::mark, .slot = mark.slot});
  return mark;
}

ClockStamp CpuQueue::stamp_clock() {
  const ClockStamp stamp{next_stamp_++ % kRingSize};
  stamps_[stamp.slot].reset();
  enqueue({.kind = Command::Kind::stamp, .slot = stamp.slot});
  return stamp;
}

void CpuQueue::set_cache(CacheState state, Workload& workload) {
  enqueue({.kind = Command::Kind::set_cache, .workload = &workload, .cache = state});
}

std::unique_ptr<Recording> CpuQueue::record(const std::function<void(Queue&)>& work) {
  refuse_while_recording("record");
  auto recording = std::make_unique<CpuRecording>();
  recorded_ = &recording->commands;
  try {
    work(*this);
  } catch (...) {
    recorded_ = nullptr;
    throw;
  }
  recorded_ = nullptr;
  return recording;
}

void CpuQueue::replay(Recording& recording) {
  const auto* own = dynamic_cast<CpuRecording*>(&recording);
  if (own == nullptr) throw UsageError("a recording of another device cannot be replayed on the cpu");
  enqueue({.kind = Command::Kind::replay, .recording = own});
}

void CpuQueue::wait() {
  refuse_while_recording("wait");
  const bool forgotten = is_held_ && !pending_.empty();
  is_held_ = false;
  run_pending();
  // The thread that would release the queue is the one that waits.
  if (forgotten) throw FailedError("the queue was waited for in a held queue: release it first");
}

void CpuQueue::wait_for(Mark) { wait(); }

CpuQueue::PassedMark CpuQueue::pass_mark() {
  constexpr Nanoseconds kLongInterval = microseconds(100);  // the thread's times cost 0.5 % of it
  PassedMark mark;
  mark.reached = mark.left = host_time_now();
  if (mark.reached - last_mark_ >= kLongInterval && counts_work_and_waits()) {
    mark.thread = ThreadTimes::read();
    mark.left = host_time_now();
  }
  last_mark_ = mark.left;
  return mark;
}

Nanoseconds CpuQueue::elapsed(Mark from, Mark to) {
  if (from.slot == to.slot) return Nanoseconds(0);
  return passed(marks_, to.slot).reached - passed(marks_, from.slot).left;
}

std::optional<Nanoseconds> CpuQueue::taken_by_others(Mark from, Mark to) {
  const std::optional<ThreadTimes>&first = passed(marks_, from.slot).thread,
        &second = passed(marks_, to.slot).thread;
  if (!first || !second || first->waits != second->waits) return std::nullopt;
  // Another program that gets the core while a mark reads the thread's times changes neither term.
  return std::max(Nanoseconds(0), elapsed(from, to) - (second->worked - first->worked));
}

std::optional<ClockReading> CpuQueue::clock_between(ClockStamp from, ClockStamp to) {
  return CycleCounter::between(passed(stamps_, from.slot), passed(stamps_, to.slot));
}

void CpuQueue::enqueue(const Command& command) {
  if (recorded_ != nullptr) {
    recorded_->push_back(command);
  } else if (is_held_) {
    pending_.push_back(command);
  } else {
    run_pending();
    run(command);
  }
}

void CpuQueue::run(const Command& command) {
  switch (command.kind) {
    case Command::Kind::launch: return command.workload->run_in_a_row(nullptr, command.launches);
    case Command::Kind::mark: marks_[command.slot] = pass_mark(); return;
    case Command::Kind::stamp: stamps_[command.slot] = counter_.read(); return;
    case Command::Kind::set_cache: return caches_.set(command.cache, *command.workload);
    case Command::Kind::replay:
      for (const Command& recorded : command.recording->commands) run(recorded);
  }
}

// After a failure the rest is dropped: it was queued behind work that never happened.
void CpuQueue::run_pending() {
  if (pending_.empty()) return;
  struct Clear {
    std::vector<Command>& commands;
    ~Clear() { commands.clear(); }
  } clear{pending_};
  for (const Command& command : pending_) run(command);
}

void CpuQueue::refuse_while_recording(const char* what) const {
  if (recorded_ != nullptr) throw UsageError(std::string("a queue cannot ") + what + " while it records");
}

namespace {

// Counts user space only, as allowed up to a perf_event_paranoid level of 2, the kernel's default.
int open_cycles_event() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_HARDWARE;
  attributes.config = PERF_COUNT_HW_CPU_CYCLES;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

struct EventCount {
  std::uint64_t cycles = 0, enabled = 0, running = 0;
};

// Time that the thread had a core: no cycles are counted during sleep and preemption.
Nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Nanoseconds(static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec));
}

}  // namespace

ThreadTimes ThreadTimes::read() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  ThreadTimes times;
  times.waits = usage.ru_nvcsw;
  times.worked = thread_time();
  return times;
}

namespace {

// A thread that sleeps has to be counted as one that waits, and one that spins as one that works.
bool find_out_what_is_counted() {
  const ThreadTimes awake = ThreadTimes::read();
  timespec time{};
  time.tv_nsec = 50'000;
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  if (ThreadTimes::read().waits == awake.waits) return false;
  constexpr int kTries = 10;  // others may have the core in some
  for (int i = 0; i < kTries; ++i) {
    const Nanoseconds start = host_time_now(), worked = thread_time();
    stay_awake(microseconds(200));
    if ((thread_time() - worked) / (host_time_now() - start) > 0.98) return true;
  }
  return false;
}

}  // namespace

bool counts_work_and_waits() {
  static const bool counts = find_out_what_is_counted();
  return counts;
}

CycleCounter::CycleCounter() : event_(open_cycles_event()) {}

CycleCounter::~CycleCounter() {
  if (event_ >= 0) close(event_);
}

CycleCounter::Reading CycleCounter::read() const {
  Reading reading;
  if (event_ < 0) {
    reading.frequency = time_known_cycles();
    reading.wall = host_time_now();
    return reading;
  }
  EventCount count;
  reading.wall = host_time_now();
  reading.running = thread_time();
  const bool complete = ::read(event_, &count, sizeof count) == static_cast<ssize_t>(sizeof count);
  // If other users of the counters left it only part of the time, the count is scaled up as perf does.
  if (complete && count.running > 0) {
    const double share = static_cast<double>(count.enabled) / static_cast<double>(count.running);
    reading.cycles = static_cast<double>(count.cycles) * share;
  }
  return reading;
}

std::optional<ClockReading> CycleCounter::between(const Reading& from, const Reading& to) {
  const Nanoseconds window = to.wall - from.wall;
  if (from.frequency && to.frequency) return ClockReading{0.5 * (*from.frequency + *to.frequency), window};
  const double cycles = to.cycles - from.cycles;
  const Nanoseconds running = to.running - from.running;
  if (cycles <= 0 || running <= Nanoseconds(0)) return std::nullopt;
  return ClockReading{Hertz(cycles / to_seconds(running)), window};
}

std::string_view CycleCounter::source() const { return event_ >= 0 ? "perf_events" : "known_cycles"; }

namespace {

// A chain of dependent adds takes one cycle per add on every x86-64 and AArch64 core of the last 15 years.
// Both operands are registers, because Golden Cove and later add small constants at renaming, in no time at
// all.
#if defined(__x86_64__)
inline void chain_of_64(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(addend) : "cc");
}
inline void chain_of_1(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile("add %1, %0" : "+r"(sum) : "r"(addend) : "cc");
}
#elif defined(__aarch64__)
inline void chain_of_64(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(addend));
}
inline void chain_of_1(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile("add %0, %0, %1" : "+r"(sum) : "r"(addend));
}
#else
inline void chain_of_1(std::uint64_t& sum, std::uint64_t addend) {
  sum += addend;
  asm volatile("" : "+r"(sum));
}
inline void chain_of_64(std::uint64_t& sum, std::uint64_t addend) {
  for (int i = 0; i < 64; ++i) chain_of_1(sum, addend);
}
#endif

using Clock = std::chrono::steady_clock;

double nanoseconds_of(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

// Time of the two clock readings themselves: some 20 ns of the 12 us that are timed.
double reading_time() {
  double shortest = 1e9;
  for (int i = 0; i < 64; ++i) {
    const Clock::time_point begin = Clock::now();
    shortest = std::min(shortest, nanoseconds_of(Clock::now() - begin));
  }
  return shortest;
}

}  // namespace

void spend_cycles(std::int64_t cycles) {
  std::uint64_t sum = 0;
  for (std::int64_t i = cycles / 64; i > 0; --i) chain_of_64(sum, 3);
  for (std::int64_t i = cycles % 64; i > 0; --i) chain_of_1(sum, 3);
}

Hertz time_known_cycles() {
  static const double kReading = reading_time();
  constexpr std::int64_t kCycles = 40'000;
  // The shortest of three is kept: an interrupt can only lengthen a run.
  double shortest = 1e18;
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point begin = Clock::now();
    spend_cycles(kCycles);
    shortest = std::min(shortest, nanoseconds_of(Clock::now() - begin));
  }
  return Hertz(static_cast<double>(kCycles) / (shortest - kReading) * 1e9);
}

}  // namespace jitterscope::cpu
