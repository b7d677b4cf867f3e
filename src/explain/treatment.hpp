// What is done to a plain loop of launches: the levels of all factors of one round.
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

/// How the host waits behind each launch.
enum class WaitBehindEach {
  none,     ///< it waits once, behind the loop
  usual,    ///< Queue::wait
  polling,  ///< it asks again and again
  asleep,   ///< until an interrupt wakes it
};

/// Work of our own that runs beside the loop, on another queue or in another process.
enum class CompanionWork {
  kernels,  ///< that occupy all processors
  memory,   ///< copies within the device's memory
  link,     ///< copies from the host's memory
};
std::string_view to_string(CompanionWork);
struct Companion {
  CompanionWork work = CompanionWork::kernels;
  double duty = 1.0;  ///< share of the time in which it runs
  bool operator==(const Companion&) const = default;
};

/// As it stands here it is the loop that a first benchmark has: launches one after the other, a pair of
/// events around each, a short idle before.
struct Treatment {
  Nanoseconds idle = milliseconds(10);  ///< before the loop
  Nanoseconds load = {};                ///< a large product again and again, before the idle
  double load_duty = 1.0;               ///< share of that time in which it runs; it rests in the others
  CacheState cache = CacheState::warm;  ///< at each launch
  Bytes traffic = {};                   ///< that another kernel reads and writes before each launch
  QueueMode queue = QueueMode::eager;
  Nanoseconds host_delay = {};  ///< within each launch call
  WaitBehindEach wait = WaitBehindEach::none;
  /// The launching thread stays on one core, where another thread of ours is busy for this share of the time.
  std::optional<double> core_shared = {};
  std::optional<MemorySource> allocator =
      {};                       ///< memory of the outputs' size is taken and given back around each
  Bytes offset = {};            ///< of the operands, from where they usually begin
  RowStride rows = {};          ///< of the matrices among them
  std::int64_t heap_piece = 0;  ///< InputData::heap_piece
  DataKind data = DataKind::normal;
  std::string engine = {};                  ///< empty: the operation's own
  std::int64_t launches = 0;                ///< in the loop; 0: as many as usual
  bool is_own_reading = false;              ///< jitterscope's own instrument, and not a pair of events
  std::optional<Companion> companion = {};  ///< on a second queue
  std::optional<Companion> neighbour = {};  ///< in a second process

  bool operator==(const Treatment&) const = default;
};

/// Launches in a loop: 5 ms, but 10 to 50 launches; fewer where 10 last longer than 0.2 s.
std::int64_t usual_launches(Nanoseconds launch_time);

// Work on a second queue that runs beside a loop.

/// What runs beside the loop once, on whichever queue: 50 us of kernels, a copy as large as the cache, or one
/// of 8 MiB from the host.
Operation companion_work(CompanionWork work, const DeviceDescription& device);

class CompanionLoad {
 public:
  /// Throws UsageError where the device has no second queue.
  CompanionLoad(Session& session, std::uint64_t seed);

  /// From now on this runs on the second queue; what it needs is prepared where it was not before.
  void start(const Companion& companion);
  /// Enqueues more where little is left. To be called again and again while the loop lasts.
  void keep_up();
  /// Waits until the second queue is empty.
  void stop();

 private:
  /// What is done over and over: some work, and a rest behind it.
  struct Unit {
    std::unique_ptr<PreparedOperation> work;
    Nanoseconds time;                                            ///< of the work alone
    std::map<double, std::unique_ptr<PreparedOperation>> rests;  ///< by duty
  };
  Unit& unit(CompanionWork work);
  PreparedOperation* rest(Unit& unit, double duty);

  Session& session_;
  std::uint64_t seed_;
  std::unique_ptr<Queue> queue_;
  std::map<CompanionWork, Unit> units_;
  PreparedOperation *work_ = nullptr, *rest_ = nullptr;
  std::deque<Mark> ends_;  ///< of what is in the queue
};

// Another process of ours that works on the same device when it is told to.

/// The other process cannot be started, has ended, or does not answer. Costs the rounds that need it, and no
/// others.
struct NeighbourLostError : FailedError {
  explicit NeighbourLostError(const std::string& message) : FailedError(message) {}
};

class Neighbour {
 public:
  /// Ends the process: none is left.
  virtual ~Neighbour() = default;
  /// Returns when the work runs. Throws NeighbourLostError; after that it always does.
  virtual void begin(const Companion& work) = 0;
  /// Returns when none of its work is on the device. Throws NeighbourLostError.
  virtual void rest() = 0;
};

/// Throws NeighbourLostError.
using StartNeighbour = std::function<std::unique_ptr<Neighbour>()>;

/// Works while this lives.
class NeighbourAtWork {
 public:
  NeighbourAtWork(Neighbour& neighbour, const Companion& work) : neighbour_(neighbour) {
    neighbour_.begin(work);
  }
  ~NeighbourAtWork() {
    try {
      neighbour_.rest();
    } catch (const NeighbourLostError&) {  // what is lost rests; the next beginning says so
    }
  }
  NeighbourAtWork(const NeighbourAtWork&) = delete;
  NeighbourAtWork& operator=(const NeighbourAtWork&) = delete;

 private:
  Neighbour& neighbour_;
};

// A core that the launching thread keeps to, and a thread of ours that is busy there.

/// Keeps the calling thread on the core that it is on. Whatever it was allowed before it is again when this
/// is destroyed, by the same thread.
class PinnedThread {
 public:
  /// Throws UsageError where the system does not let it.
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
  /// Returns when it computes.
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
