#include "measure/session.hpp"

#include <utility>

#include "jitterscope/error.hpp"
#include "measure/check_options.hpp"
#include "measure/first_call.hpp"
#include "measure/load_probe.hpp"
#include "measure/loads.hpp"

namespace jitterscope {
namespace {

// An unknown callable may do what cannot be recorded; then short launches are timed by events as well.
Arm make_arm(const TimedWork& work, RoundShape shape, const MeasureOptions& options,
             const Calibration& calibration) {
  const bool was_asked_for = options.instrument || options.queue == QueueMode::graph;
  if (shape.instrument != Instrument::graph || was_asked_for) return Arm(work, shape, options, calibration);
  try {
    return Arm(work, shape, options, calibration);
  } catch (const Error&) {
    // Refused (UsageError) by an operator of PyTorch that waits for the GPU or draws random numbers.
    shape.instrument = Instrument::events;
    return Arm(work, shape, options, calibration);
  }
}

// Half as much behind one closing of the gate; false where nothing is left to halve.
bool halve(RoundShape& shape) {
  constexpr std::int64_t kFewestLaunches = 10;
  SlopeShape& slope = shape.slope;
  if (slope.pairs > 1) {
    slope.pairs = (slope.pairs + 1) / 2;
    shape.parts *= 2;
    return true;
  }
  if (slope.long_launches < 2 * kFewestLaunches) return false;
  slope.long_launches /= 2;
  slope.short_launches /= 2;
  return true;
}

bool fits_queue(Queue& queue, Arm& arm) {
  constexpr Nanoseconds kPatience = milliseconds(500);  // what fits is enqueued in a few milliseconds
  if (!queue.limit_gate(kPatience)) return true;
  bool fits = true;
  try {
    arm.rehearse();
  } catch (const GateTimeoutError&) {
    fits = false;
  }
  queue.limit_gate(Nanoseconds(0));
  return fits;
}

// The queue of a GPU holds 1,024 launches, and far fewer of kernels whose parameters are large: recordings of
// cuDNN's attention, or of its newest engines, fill it before the gate is opened, and the launch then waits
// for a gate that waits for the launch. Such rounds are put behind several closings.
Arm make_fitting_arm(const TimedWork& work, RoundShape shape, const MeasureOptions& options,
                     const Calibration& calibration) {
  while (true) {
    Arm arm = make_arm(work, shape, options, calibration);
    if (arm.timer().instrument() != Instrument::graph || fits_queue(work.queue, arm)) return arm;
    if (!halve(shape)) shape.instrument = Instrument::events;
  }
}

MeasuredArm start(const TimedWork& work, Load load, Nanoseconds launch_time, const MeasureOptions& options,
                  const Calibration& calibration) {
  const RoundShape shape = shape_round(launch_time, work.cache, load, options, calibration);
  MeasuredArm arm{make_fitting_arm(work, shape, options, calibration), Measurement()};
  arm.measurement.conditions = {work.cache, load, options.data, options.queue, options.fresh_data};
  arm.measurement.instrument = arm.arm.timer().instrument();
  arm.measurement.constant = arm.arm.timer().constant();
  arm.measurement.precision_asked = options.precision;
  return arm;
}

bool was_interrupted(const std::vector<MeasuredOperation>& operations) {
  for (const MeasuredOperation& operation : operations) {
    for (const MeasuredArm& arm : operation.arms) {
      if (arm.measurement.stop_reason == StopReason::interrupted) return true;
    }
  }
  return false;
}

void run(Device& device, Queue& queue, Load load, std::vector<MeasuredOperation>& operations,
         const MeasureOptions& options) {
  if (load == Load::burst) return measure_burst(device, operations, options);
  for (MeasuredOperation& operation : operations) {
    for (MeasuredArm& arm : operation.arms) {
      measure_sustained(device, queue, arm, operation.name, options);
      if (arm.measurement.stop_reason == StopReason::interrupted) return;
    }
  }
}

// The clock does not fall and no energy is counted where the device has no power limit.
bool may_probe(Device& device, const MeasureOptions& options) {
  const bool only_bursts = options.loads == std::vector{Load::burst};
  return options.load_probe && only_bursts && device.describe().power_limit.has_value();
}

LoadProbe probe_load(const TimedWork& work, const std::string& name, Nanoseconds launch_time,
                     MeasureOptions options, const Calibration& calibration) {
  options.sustained_time_limit = kLoadProbeTime;
  MeasuredArm arm = start(work, Load::sustained, launch_time, options, calibration);
  measure_sustained(work.device, work.queue, arm, name, options);
  return load_probe_of(arm.measurement);
}

// An interruption leaves cache states without a round.
void keep(MeasuredOperation& operation, Result& result) {
  for (MeasuredArm& arm : operation.arms) {
    if (!arm.measurement.rounds.empty()) result.measurements.push_back(std::move(arm.measurement));
  }
}

}  // namespace

Session::Session(Device& device)
    : device_(device), queue_(device.make_queue()), calibration_(calibrate(device, *queue_)) {}

Result Session::measure(Workload& workload, std::string name, const MeasureOptions& options) {
  return std::move(measure({{workload, std::move(name)}}, options).front());
}

std::vector<Result> Session::measure(const std::vector<NamedWorkload>& workloads,
                                     const MeasureOptions& options) {
  check_options(options);
  std::vector<Result> results(workloads.size());
  std::vector<Nanoseconds> launch_times;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const FirstCall first =
        make_first_call(device_, *queue_, workloads[i].workload, calibration_.events.value);
    results[i].operation = workloads[i].name;
    results[i].first_call = first.time;
    results[i].launch_cost = first.launch_cost;
    launch_times.push_back(first.launch_time);
  }
  for (const Load load : options.loads) {
    std::vector<MeasuredOperation> operations;
    for (std::size_t i = 0; i < workloads.size(); ++i) {
      operations.push_back({workloads[i].name, {}});
      for (const CacheState cache : options.caches) {
        const TimedWork work{device_, *queue_, workloads[i].workload, cache};
        operations.back().arms.push_back(start(work, load, launch_times[i], options, calibration_));
      }
    }
    run(device_, *queue_, load, operations, options);
    const bool stop = was_interrupted(operations);
    for (std::size_t i = 0; i < workloads.size(); ++i) keep(operations[i], results[i]);
    if (stop) return results;
  }
  // After all that is measured: it heats the chip.
  for (std::size_t i = 0; may_probe(device_, options) && i < workloads.size(); ++i) {
    const TimedWork work{device_, *queue_, workloads[i].workload, options.caches.front()};
    results[i].load_probe = probe_load(work, workloads[i].name, launch_times[i], options, calibration_);
  }
  return results;
}

namespace {

class CallableWorkload final : public Workload {
 public:
  explicit CallableWorkload(const Launch& launch) : launch_(launch) {}
  void run(NativeQueue queue) override { launch_(queue); }

 private:
  const Launch& launch_;
};

}  // namespace

Result measure(Device& device, const Launch& launch, const MeasureOptions& options) {
  CallableWorkload workload(launch);
  return Session(device).measure(workload, "callable", options);
}

}  // namespace jitterscope
