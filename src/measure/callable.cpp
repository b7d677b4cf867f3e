#include "measure/callable.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"
#include "measure/round_timer.hpp"
#include "measure/schedule.hpp"

namespace jitterscope {
namespace {

// Measures a callable without a name. Work that it puts on other streams is not looked for.
Result measure_one(Session& session, const Launch& launch, const MeasureOptions& options) {
  refuse_loops(options);
  const CallableWork work{.name = "callable", .launch = launch};
  CallableWorkload workload(session.device(), work);
  Result result = session.measure(workload, work.name, options);
  forget_operands(result);
  if (!is_interrupted(options)) add_launch_details(session, workload, options, result);
  return result;
}

}  // namespace

void refuse_loops(const MeasureOptions& options) {
  if (options.iterations.empty()) return;
  throw UsageError(
      "MeasureOptions: iterations are for operations: give a callable that launches so many times");
}

void forget_operands(Result& result) {
  for (Measurement& measurement : result.measurements) {
    measurement.conditions.data.reset();
    measurement.conditions.placement.reset();
  }
}

Result measure(Device& device, const Launch& launch, const MeasureOptions& options) {
  real_capabilities(device);
  Session session(device);
  return measure_one(session, launch, options);
}

Result measure(Device& device, NativeQueue stream, const Launch& launch, const MeasureOptions& options) {
  real_capabilities(device);
  Session session(device, stream);
  return measure_one(session, launch, options);
}

CallableWorkload::CallableWorkload(Device& device, CallableWork work)
    : device_(device), work_(std::move(work)) {}

void CallableWorkload::run(NativeQueue queue) {
  ++calls_;
  work_.launch(queue);
  if (waits_for_queue()) device_.wait_for_all();
}

void CallableWorkload::run_in_a_row(NativeQueue queue, std::int64_t launches) {
  if (launches == 1 || !work_.repeat || waits_for_queue()) return Workload::run_in_a_row(queue, launches);
  calls_ += launches;
  work_.repeat(queue, launches);
}

void CallableWorkload::prepare_recording(NativeQueue queue) {
  if (graph_ == nullptr && work_.record) graph_ = work_.record(queue);
}

void CallableWorkload::not_recorded(std::string_view reason) {
  if (why_not_recorded_.empty()) why_not_recorded_ = reason;
}

// Queues launches for some milliseconds of work, then waits for the queue, and then for the whole device.
// Work on another stream makes the second wait take a good part of the total, in each try. A host that
// notices the end late, loads a kernel or frees memory is late by some ten microseconds for any number of
// launches, and not in each try: on an H200 it took over 16 us three times in a row, enough to mistake a
// product of 180 us for work on another stream.
bool leaves_work_elsewhere(Session& session, Workload& workload) {
  constexpr Nanoseconds kWork = milliseconds(5), kLeast = microseconds(100), kMost = milliseconds(1);
  constexpr double kShare = 0.05, kMostLaunches = 400;
  constexpr int kTries = 5;
  Device& device = session.device();
  const auto run_and_wait = [&](std::int64_t launches) {
    session.queue().launch_in_a_row(workload, launches);
    session.queue().wait();
    const Nanoseconds queue_ended = device.host_time();
    device.wait_for_all();
    return device.host_time() - queue_ended;
  };
  Nanoseconds start = device.host_time();
  run_and_wait(1);
  const Nanoseconds one = std::max(Nanoseconds(1), device.host_time() - start);
  const auto launches = static_cast<std::int64_t>(std::clamp(std::ceil(kWork / one), 1.0, kMostLaunches));
  for (int i = 0; i < kTries; ++i) {
    start = device.host_time();
    const Nanoseconds behind = run_and_wait(launches);
    const Nanoseconds all = device.host_time() - start;
    if (behind <= std::clamp(all * kShare, kLeast, kMost)) return false;
  }
  return true;
}

bool launches_nothing(Session& session, Workload& workload) {
  constexpr Nanoseconds kShorterThanAnyKernel = Nanoseconds(400);  // an empty kernel takes 0.6 us (H200)
  constexpr int kLaunches = 5;
  Queue& queue = session.queue();
  std::vector<Mark> marks;
  try {
    QueueHold hold(queue);
    hold.begin();
    marks.push_back(queue.mark());
    for (int i = 0; i < kLaunches; ++i) {
      queue.launch(workload);
      marks.push_back(queue.mark());
    }
    hold.release();
    queue.wait();
  } catch (const HoldTimeoutError&) {  // the launch put something on the held queue
    return false;
  }
  Nanoseconds least = seconds(1);
  for (std::size_t i = 1; i < marks.size(); ++i) {
    least = std::min(least, queue.elapsed(marks[i - 1], marks[i]));
  }
  return least - session.calibration().events.value < kShorterThanAnyKernel;
}

std::string sentence_of_place(const CallableWork& work) {
  if (work.place == WorkPlace::nowhere) {
    return fmt::format(
        "{} launched nothing on this stream: its work is on another stream or device, or it has none. So "
        "each launch is timed with a wait for the whole device, and the host's work is in the time; "
        "launch on the current stream for the device's own time, or read kernels of other streams by "
        "--instrument cupti.",
        work.name);
  }
  return fmt::format(
      "{} launches on another stream than the current one, so each launch is timed with a wait for the "
      "whole device, and the host's work is in the time; launch on the current stream for the device's "
      "own time, or read its kernels by --instrument cupti.",
      work.name);
}

DeviceCapabilities real_capabilities(Device& device) {
  const DeviceDescription description = device.describe();
  if (!description.capabilities.is_simulated) return description.capabilities;
  throw UsageError(
      description.id +
      " is simulated and runs no code, so a callable would take no time there: open cpu or cuda:0, or "
      "measure an operation");
}

}  // namespace jitterscope
