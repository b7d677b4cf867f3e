#include "measure/callable_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "jitterscope/error.hpp"
#include "measure/gate_guard.hpp"

namespace jitterscope {

CallableWorkload::CallableWorkload(Device& device, CallableWork work)
    : device_(device), work_(std::move(work)) {}

void CallableWorkload::run(NativeQueue queue) {
  work_.launch(queue);
  if (waits_for_queue()) device_.wait_for_all();
}

void CallableWorkload::run_in_a_row(NativeQueue queue, std::int64_t launches) {
  if (launches == 1 || !work_.repeat || waits_for_queue()) return Workload::run_in_a_row(queue, launches);
  work_.repeat(queue, launches);
}

void CallableWorkload::prepare_recording(NativeQueue queue) {
  if (graph_ == nullptr && work_.record) graph_ = work_.record(queue);
}

void CallableWorkload::not_recorded(std::string_view reason) {
  if (why_not_recorded_.empty()) why_not_recorded_ = reason;
}

// Right behind a wait for its queue a device has nothing left to do, but for what went elsewhere. How long an
// idle one needs to say so is asked right after. Short work is launched several times in a row, since a wait
// takes some microseconds, in which one launch of 25 us has ended.
bool leaves_work_elsewhere(Session& session, Workload& workload) {
  constexpr Nanoseconds kLonger = microseconds(10), kShort = milliseconds(1);
  constexpr int kTries = 3, kLaunches = 8;
  Device& device = session.device();
  const auto wait = [&] {
    const Nanoseconds start = device.host_time();
    device.wait_for_all();
    return device.host_time() - start;
  };
  Nanoseconds least = seconds(1), idle = seconds(1);
  const auto look = [&](int launches) {
    session.queue().launch_in_a_row(workload, launches);
    session.queue().wait();
    least = std::min(least, wait());
    idle = std::min(idle, wait());
  };
  wait();
  const Nanoseconds start = device.host_time();
  look(1);
  const bool is_short = device.host_time() - start < kShort;
  if (is_short) least = seconds(1);
  for (int i = is_short ? 0 : 1; i < kTries; ++i) look(is_short ? kLaunches : 1);
  return least > idle * 2.0 + kLonger;
}

bool launches_nothing(Session& session, Workload& workload) {
  constexpr Nanoseconds kShorterThanAnyKernel = Nanoseconds(400);  // an empty one takes 0.6 us (H200)
  constexpr int kLaunches = 5;
  Queue& queue = session.queue();
  std::vector<Mark> marks;
  GateGuard gate(queue);
  gate.close();
  marks.push_back(queue.mark());
  for (int i = 0; i < kLaunches; ++i) {
    queue.launch(workload);
    marks.push_back(queue.mark());
  }
  gate.open();
  queue.wait();
  Nanoseconds least = seconds(1);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    least = std::min(least, queue.elapsed(marks[i - 1], marks[i]));
  }
  return least - session.calibration().events.value < kShorterThanAnyKernel;
}

std::string sentence_of_place(const CallableWork& work) {
  if (work.place == WorkPlace::nowhere) {
    return fmt::format(
        "{} launched nothing that this stream waits for, so its time is the host's, with a wait for the whole "
        "device behind each call; check that it runs on this device and on the current stream, or read the "
        "kernels of other streams by --instrument cupti.",
        work.name);
  }
  return fmt::format(
      "{} puts work on another stream than the one that it is called with, so each launch is timed with a "
      "wait for the whole device and holds the host's work; launch on the current stream for the device's "
      "own time, or read its kernels by --instrument cupti.",
      work.name);
}

DeviceCapabilities real_capabilities(Device& device) {
  const DeviceDescription description = device.describe();
  if (!description.capabilities.is_simulated) return description.capabilities;
  throw UsageError(description.id +
                   " is simulated and runs none of a program's code, so a callable would take no time there: "
                   "open cpu or cuda:0 for it, or measure an operation");
}

}  // namespace jitterscope
