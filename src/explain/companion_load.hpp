// Work on a second queue that runs beside a loop.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "explain/treatment.hpp"
#include "measure/session.hpp"

namespace jitterscope::explain {

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

}  // namespace jitterscope::explain
