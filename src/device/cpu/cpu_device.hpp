// The CPU as a device: oneDNN runs layers, our own loops the rest; times are measured.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "device/cpu/memory.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

std::unique_ptr<Device> open_cpu_device();
DeviceListing list_cpu_device();
/// Lists oneDNN, with its version and file, and the plug-in for PyTorch.
std::vector<LibraryInfo> cpu_libraries();

}  // namespace jitterscope

// Measures the core's clock between two moments: by perf events if allowed, else by known cycles.

namespace jitterscope::cpu {

/// Counts cycles of the thread that made it.
class CycleCounter {
 public:
  struct Reading {
    Nanoseconds wall, running;       ///< running: time that this thread had a core
    double cycles = 0.0;             ///< from perf events
    std::optional<Hertz> frequency;  ///< from known cycles
  };

  CycleCounter();
  ~CycleCounter();
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;

  Reading read() const;
  static std::optional<ClockReading> between(const Reading& from, const Reading& to);
  /// "perf_events" or "known_cycles".
  std::string_view source() const;

 private:
  int event_ = -1;  ///< file descriptor; negative without perf events
};

/// The calling thread's times until now.
struct ThreadTimes {
  Nanoseconds worked;      ///< time that it had a core
  std::int64_t waits = 0;  ///< times that it gave its core away

  static ThreadTimes read();
};

/// Tells whether this system counts a thread's work and waits, so that what is left of the time is what other
/// programs had of its core. Some sandboxes count neither.
bool counts_work_and_waits();

// The CPU's queue. Commands run in the calling thread: at once, or if the queue is held, in the first wait or
// command after the release.

struct CpuRecording;

class CpuQueue final : public Queue {
 public:
  explicit CpuQueue(Bytes last_level_cache) : caches_(last_level_cache) {}

  void hold() override;
  void release() noexcept override;
  void launch(Workload& workload) override;
  void launch_in_a_row(Workload& workload, std::int64_t launches) override;
  Mark mark() override;
  ClockStamp stamp_clock() override;
  void set_cache(CacheState state, Workload& workload) override;
  std::unique_ptr<Recording> record(const std::function<void(Queue&)>& work) override;
  void replay(Recording& recording) override;
  void wait() override;
  void wait_for(Mark mark) override;
  Nanoseconds elapsed(Mark from, Mark to) override;
  std::optional<Nanoseconds> taken_by_others(Mark from, Mark to) override;
  std::optional<ClockReading> clock_between(ClockStamp from, ClockStamp to) override;
  NativeQueue native() override { return nullptr; }

  struct Command {
    enum class Kind { launch, mark, stamp, set_cache, replay };
    Kind kind = Kind::launch;
    Workload* workload = nullptr;
    std::int64_t launches = 1;  ///< launches in a row
    const CpuRecording* recording = nullptr;
    std::uint32_t slot = 0;
    CacheState cache = CacheState::warm;
  };

 private:
  void enqueue(const Command& command);
  void run(const Command& command);
  void run_pending();
  void refuse_while_recording(const char* what) const;

  CycleCounter counter_;
  CacheControl caches_;
  std::vector<Command> pending_;
  std::vector<Command>* recorded_ = nullptr;  ///< receives the commands while recording
  bool is_held_ = false;
  std::uint32_t next_mark_ = 0, next_stamp_ = 0;
  // Reading the thread's times takes 0.5 us. That lies between two readings of the clock, in no interval.
  struct PassedMark {
    Nanoseconds reached, left;
    std::optional<ThreadTimes> thread;  ///< behind long intervals only
  };
  PassedMark pass_mark();

  Nanoseconds last_mark_;
  // An empty slot has not been passed yet.
  std::array<std::optional<PassedMark>, kRingSize> marks_;
  std::array<std::optional<CycleCounter::Reading>, kRingSize> stamps_;
};

struct CpuRecording final : Recording {
  std::vector<CpuQueue::Command> commands;
};

/// Takes `cycles` cycles of the core, plus a few dozen for loop branches.
void spend_cycles(std::int64_t cycles);

/// Returns the core's clock now, by timing known cycles for about 40 us.
Hertz time_known_cycles();

}  // namespace jitterscope::cpu
