#include "measure/first_call.hpp"

#include <algorithm>

#include "jitterscope/error.hpp"
#include "measure/gate_guard.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// What returns without a wait is enqueued in a few milliseconds.
constexpr Nanoseconds kPatience = milliseconds(500);

class FirstLaunches {
 public:
  FirstLaunches(Device& device, Queue& queue, Workload& workload)
      : device_(device), queue_(queue), workload_(workload) {}

  Nanoseconds launch_and_wait() {
    const Nanoseconds start = device_.host_time();
    queue_.launch(workload_);
    queue_.wait();
    return device_.host_time() - start;
  }

  // False where the gate gave up before all was launched.
  bool launch_behind_gate(std::size_t launches, Nanoseconds limit) {
    const GateLimit limited(queue_, limit);
    GateGuard gate(queue_);
    try {
      gate.close();
      launch(launches);
      gate.open();
      queue_.wait();
    } catch (const GateTimeoutError&) {
      return false;
    }
    return true;
  }

  void launch_without_gate(std::size_t launches) {
    launch(launches);
    queue_.wait();
  }

  Nanoseconds cost() const { return Nanoseconds(statistics::median(costs_)); }
  Nanoseconds time() const {
    std::vector<double> times;
    for (std::size_t i = 1; i < marks_.size(); ++i)
      times.push_back(queue_.elapsed(marks_[i - 1], marks_[i]).value());
    return Nanoseconds(statistics::median(times));
  }

 private:
  void launch(std::size_t launches) {
    marks_ = {queue_.mark()};
    costs_.clear();
    for (std::size_t i = 0; i < launches; ++i) {
      const Nanoseconds before = device_.host_time();
      queue_.launch(workload_);
      costs_.push_back((device_.host_time() - before).value());
      marks_.push_back(queue_.mark());
    }
  }

  Device& device_;
  Queue& queue_;
  Workload& workload_;
  std::vector<Mark> marks_;
  std::vector<double> costs_;
};

// A launch that waits holds the host until the gate gives up, each time. A launch that loads a kernel, tunes
// or allocates holds it once, and one on a slow host returns in the end: so a single launch is tried again,
// each time after one without a gate.
bool waits_for_queue(FirstLaunches& launches) {
  constexpr int kTries = 3;
  constexpr Nanoseconds kShortPatience = milliseconds(200);
  for (int i = 0; i < kTries; ++i) {
    const Nanoseconds without_gate = launches.launch_and_wait();
    if (launches.launch_behind_gate(1, std::max(kShortPatience, without_gate * 4.0))) return false;
  }
  return true;
}

}  // namespace

FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant) {
  FirstLaunches launches(device, queue, workload);
  FirstCall first;
  first.time = launches.launch_and_wait();

  // A second launch alone tells whether more can be afforded: a CPU's convolution may take a second.
  constexpr Nanoseconds kLong = milliseconds(5);
  const std::size_t more = first.time > kLong ? 2 : 8;
  first.waits_for_queue = workload.waits_for_queue();
  if (!first.waits_for_queue && !launches.launch_behind_gate(more, kPatience)) {
    first.waits_for_queue = waits_for_queue(launches);
  }
  if (first.waits_for_queue) launches.launch_without_gate(more);
  first.launch_cost = launches.cost();
  first.launch_time = std::max(Nanoseconds(1), launches.time() - events_constant);
  return first;
}

}  // namespace jitterscope
