#include "device/cpu/cycle_counter.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/host_time.hpp"
#include "device/cpu/known_cycles.hpp"

namespace jitterscope::cpu {
namespace {

// User space only: that much is allowed up to a paranoid level of 2, the kernel's default.
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

// Time on a core, without sleep and preemption, in which no cycles are counted.
Nanoseconds thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Nanoseconds(static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec));
}

}  // namespace

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
  // Where other users of the counters left it only part of the time, the count is scaled up as perf does.
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

}  // namespace jitterscope::cpu
