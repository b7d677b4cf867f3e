// Treatments: what a round does to a plain loop of launches, with the level of every factor.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <sched.h>

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/measurement.hpp"
#include "measure/session.hpp"

namespace jitterscope::explain {

/// How the host waits after each launch.
enum class WaitBehindEach {
  none,     ///< only once, after the loop
  usual,    ///< Queue::wait
  polling,  ///< asks again and again
  asleep,   ///< sleeps until an interrupt wakes it
};

/// Work of our own that runs beside the loop, on another queue or in another process.
enum class CompanionWork {
  kernels,  ///< kernels on all processors
  memory,   ///< copies within the device's memory
  link,     ///< copies from the host's memory
};
std::string_view to_string(CompanionWork);
struct Companion {
  CompanionWork work = CompanionWork::kernels;
  double duty = 1.0;  ///< share of the time during which it runs
  bool operator==(const Companion&) const = default;
};

/// The default is the loop of a first benchmark: launches one after the other, a pair of events around each,
/// a short idle before.
struct Treatment {
  Nanoseconds idle = milliseconds(10);  ///< before the loop
  Nanoseconds load = {};                ///< duration of a large product, again and again, before the idle
  double load_duty = 1.0;               ///< share of that time during which the product runs
  CacheState cache = CacheState::warm;  ///< at each launch
  Bytes traffic = {};                   ///< bytes that another kernel reads and writes before each launch
  QueueMode queue = QueueMode::eager;
  Nanoseconds host_delay = {};  ///< within each launch call
  WaitBehindEach wait = WaitBehindEach::none;
  /// The launching thread stays on one core, where another thread of ours is busy for this share of the time.
  std::optional<double> core_shared = {};
  std::optional<MemorySource> allocator =
      {};                       ///< memory of the outputs' size is allocated and freed around each launch
  Bytes offset = {};            ///< distance of the operands from their usual start
  RowStride rows = {};          ///< row stride of the matrices among the operands
  std::int64_t heap_piece = 0;  ///< InputData::heap_piece
  DataKind data = DataKind::normal;
  std::string engine = {};                  ///< empty: the operation's own
  std::int64_t launches = 0;                ///< in the loop; 0: the usual number
  bool is_own_reading = false;              ///< use jitterscope's own instrument, not a pair of events
  std::optional<Companion> companion = {};  ///< on a second queue
  std::optional<Companion> neighbour = {};  ///< in a second process

  bool operator==(const Treatment&) const = default;
};

/// Returns the launches of a loop: 5 ms, but 10 to 50 launches; fewer if 10 last longer than 0.2 s.
std::int64_t usual_launches(Nanoseconds launch_time);

/// Returns one unit of the work beside the loop, on whichever queue: 50 us of kernels, a copy as large as the
/// cache, or a copy of 8 MiB from the host.
Operation companion_work(CompanionWork work, const DeviceDescription& device);

class CompanionLoad {
 public:
  /// Throws UsageError if the device has no second queue.
  CompanionLoad(Session& session, std::uint64_t seed);

  /// Starts the work on the second queue; prepares what it needs at first use.
  void start(const Companion& companion);
  /// Enqueues more if little is left. Call it again and again while the loop lasts.
  void keep_up();
  /// Waits until the second queue is empty.
  void stop();

 private:
  /// Work that is repeated, with a rest after it.
  struct Unit {
    std::unique_ptr<PreparedOperation> work;
    Nanoseconds time;                                            ///< without the rest
    std::map<double, std::unique_ptr<PreparedOperation>> rests;  ///< by duty
  };
  Unit& unit(CompanionWork work);
  PreparedOperation* rest(Unit& unit, double duty);

  Session& session_;
  std::uint64_t seed_;
  std::unique_ptr<Queue> queue_;
  std::map<CompanionWork, Unit> units_;
  PreparedOperation *work_ = nullptr, *rest_ = nullptr;
  std::deque<Mark> ends_;  ///< ends of what is in the queue
};

// Another process of ours works on the same device when it is told to.

/// The other process cannot be started, has ended, or does not answer. This costs only the rounds that need
/// it.
struct NeighbourLostError : FailedError {
  explicit NeighbourLostError(const std::string& message) : FailedError(message) {}
};

class Neighbour {
 public:
  /// Ends the process.
  virtual ~Neighbour() = default;
  /// Returns once the work runs. Throws NeighbourLostError, and then on every later call.
  virtual void begin(const Companion& work) = 0;
  /// Returns once none of its work is on the device. Throws NeighbourLostError.
  virtual void rest() = 0;
};

/// Throws NeighbourLostError.
using StartNeighbour = std::function<std::unique_ptr<Neighbour>()>;

/// Lets the neighbour work during this object's lifetime.
class NeighbourAtWork {
 public:
  NeighbourAtWork(Neighbour& neighbour, const Companion& work) : neighbour_(neighbour) {
    neighbour_.begin(work);
  }
  ~NeighbourAtWork() {
    try {
      neighbour_.rest();
    } catch (const NeighbourLostError&) {  // a lost process does no work; the next begin() reports it
    }
  }
  NeighbourAtWork(const NeighbourAtWork&) = delete;
  NeighbourAtWork& operator=(const NeighbourAtWork&) = delete;

 private:
  Neighbour& neighbour_;
};

/// Keeps the calling thread on its current core. The destructor, called by the same thread, restores the
/// cores that it may use.
class PinnedThread {
 public:
  /// Throws UsageError if the system does not allow it.
  PinnedThread();
  ~PinnedThread();
  PinnedThread(const PinnedThread&) = delete;
  PinnedThread& operator=(const PinnedThread&) = delete;

 private:
  cpu_set_t before_{};
};

/// Computes for a share of each 2 ms and sleeps for the rest, on the cores that the calling thread may use.
class BusyNeighbour {
 public:
  /// Returns once it computes.
  explicit BusyNeighbour(double share);
  ~BusyNeighbour();
  BusyNeighbour(const BusyNeighbour&) = delete;
  BusyNeighbour& operator=(const BusyNeighbour&) = delete;

 private:
  void compute(double share);

  std::atomic<bool> runs_{false}, stops_{false};
  std::thread thread_;
};

}  // namespace jitterscope::explain
