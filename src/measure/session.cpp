#include "measure/session.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measure/check_options.hpp"
#include "measure/environment.hpp"
#include "measure/estimate.hpp"
#include "measure/first_call.hpp"
#include "measure/host_rounds.hpp"
#include "measure/load_probe.hpp"
#include "measure/measuring_loops.hpp"

namespace jitterscope {
namespace {

// An unknown callable may do what cannot be recorded; then short launches are timed by events as well.
RoundRunner make_runner(const TimedWork& work, RoundShape shape, const MeasureOptions& options,
                        const Calibration& calibration) {
  const bool was_asked_for = options.instrument || options.queue == QueueMode::graph;
  if (shape.instrument != Instrument::graph || was_asked_for)
    return RoundRunner(work, shape, options, calibration);
  try {
    return RoundRunner(work, shape, options, calibration);
  } catch (const Error& error) {
    // Refused (UsageError) by an operator of PyTorch that waits for the GPU or draws random numbers.
    work.workload.not_recorded(error.what());
    shape.instrument = Instrument::events;
    return RoundRunner(work, shape, options, calibration);
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

bool fits_queue(Queue& queue, RoundRunner& runner) {
  // What fits is enqueued in a few milliseconds. What does not costs all of the patience, up to nine times
  // for a trial: with 500 ms, copies of 4 KiB took 12 s of each process of `study pinned` (H200).
  constexpr Nanoseconds kPatience = milliseconds(100);
  if (!queue.limit_gate(kPatience)) return true;
  try {
    runner.rehearse(kPatience);
  } catch (const GateTimeoutError&) {
    return false;
  }
  return true;
}

// The queue of a GPU holds 1,024 launches, and far fewer of kernels whose parameters are large: recordings of
// cuDNN's attention, or of its newest engines, fill it before the gate is opened, and the launch then waits
// for a gate that waits for the launch. Such rounds are put behind several closings.
RoundRunner make_fitting_runner(const TimedWork& work, RoundShape shape, const MeasureOptions& options,
                                const Calibration& calibration) {
  while (true) {
    RoundRunner runner = make_runner(work, shape, options, calibration);
    if (runner.timer().instrument() != Instrument::graph || fits_queue(work.queue, runner)) return runner;
    if (!halve(shape)) shape.instrument = Instrument::events;
  }
}

// A trial whose first launches are over.
struct StartedTrial {
  TimedWork work;
  const SessionTrial* trial;
  FirstCall first;
};

// What waits for its queue can be neither saturated nor, as a rule, recorded: where that was not asked for,
// it runs as a program launches it.
MeasureOptions without_gate(MeasureOptions options) {
  if (options.queue == QueueMode::saturated) options.queue = QueueMode::eager;
  return options;
}

// How long a round's gate holds. Ten seconds were lost with each round of a function that loads a kernel
// late.
constexpr Nanoseconds kLeastPatience = seconds(1), kMostPatience = seconds(10);

OpenMeasurement start(const StartedTrial& started, CacheState cache, Load load, const MeasureOptions& asked,
                      const Calibration& calibration) {
  TimedWork work = started.work;
  work.cache = cache;
  const bool waits = started.first.waits_for_queue;
  const MeasureOptions options = waits ? without_gate(asked) : asked;
  RoundShape shape = shape_round(started.first.launch_time, cache, load, options, calibration);
  shape.launches_wait = waits;
  const auto launches = static_cast<double>(shape.values * shape.group + shape.conditioning_launches);
  shape.patience = std::clamp(started.first.launch_cost * (4.0 * launches), kLeastPatience, kMostPatience);
  fit_to_host(shape, work, started.first.launch_time, options, calibration);
  OpenMeasurement one{make_fitting_runner(work, shape, options, calibration), started.trial->name,
                      Measurement()};
  one.measurement.conditions = {cache,
                                load,
                                options.data,
                                options.queue,
                                options.fresh_data,
                                options.locked_clock,
                                options.placement,
                                options.seed};
  one.measurement.instrument = one.runner.timer().instrument();
  one.measurement.constant = one.runner.timer().constant();
  one.measurement.precision_asked = options.precision;
  one.measurement.process_variation = options.process_variation.value();
  one.measurement.reference_clock_asked = options.reference_clock;
  return one;
}

// An eager queue read by recordings would be none, and a graph read by events neither.
bool is_read_freely(const StartedTrial& started) {
  return started.trial->options.queue == QueueMode::saturated;
}

std::vector<OpenMeasurement> start_all(const std::vector<StartedTrial>& group, Load load,
                                       std::optional<Instrument> instrument, const Calibration& calibration) {
  std::vector<OpenMeasurement> measurements;
  for (const StartedTrial& started : group) {
    MeasureOptions options = started.trial->options;
    if (instrument && !options.instrument && is_read_freely(started)) options.instrument = instrument;
    for (const CacheState cache : options.caches) {
      measurements.push_back(start(started, cache, load, options, calibration));
    }
  }
  return measurements;
}

bool read_alike(const std::vector<StartedTrial>& group, const MeasuredGroup& measured) {
  const std::size_t states = measured.measurements.size() / measured.paired_operations;
  std::vector<std::optional<Instrument>> first(states);
  for (std::size_t i = 0; i < measured.measurements.size(); ++i) {
    if (!is_read_freely(group[i / states])) continue;
    const Instrument own = measured.measurements[i].measurement.instrument;
    if (first[i % states].value_or(own) != own) return false;
    first[i % states] = own;
  }
  return true;
}

// The constants of two instruments do not cancel in a ratio: what is compared is read alike, by slopes where
// one of them needs these and the others can be recorded. Queues that are unlike are not, as each allows one
// instrument alone.
MeasuredGroup start_group(const std::vector<StartedTrial>& group, Load load, const Calibration& calibration) {
  MeasuredGroup measured{start_all(group, load, std::nullopt, calibration), group.size()};
  for (const Instrument instrument : {Instrument::graph, Instrument::events}) {
    if (read_alike(group, measured)) return measured;
    try {
      measured.measurements = start_all(group, load, instrument, calibration);
    } catch (const Error&) {
      // Something cannot be recorded: an operator refuses that (UsageError), the driver ends it
      // (FailedError).
    }
  }
  return measured;
}

bool was_interrupted(const std::vector<MeasuredGroup>& groups) {
  for (const MeasuredGroup& group : groups) {
    for (const OpenMeasurement& one : group.measurements) {
      if (one.measurement.stop_reason == StopReason::interrupted) return true;
    }
  }
  return false;
}

void run(Device& device, Queue& queue, Load load, std::vector<MeasuredGroup>& groups,
         const MeasureOptions& options, Nanoseconds& wake) {
  if (load == Load::burst) return measure_burst(device, groups, options, wake);
  Random random(options.seed);
  for (MeasuredGroup& group : groups) {
    std::vector<OpenMeasurement*> order;
    for (OpenMeasurement& one : group.measurements) order.push_back(&one);
    // What comes second meets a chip that the first has heated: of a pair each process draws who that is.
    if (group.paired_operations > 1) shuffle(order, random);
    for (OpenMeasurement* one : order) {
      measure_sustained(device, queue, *one, options);
      if (one->measurement.stop_reason == StopReason::interrupted) return;
    }
  }
}

// The clock does not fall and no energy is counted where the device has no power limit.
bool may_probe(Device& device, const MeasureOptions& options) {
  const bool only_bursts = options.loads == std::vector{Load::burst};
  return options.load_probe && only_bursts && device.describe().power_limit.has_value();
}

LoadProbe probe_load(const StartedTrial& started, const Calibration& calibration) {
  MeasureOptions options = started.trial->options;
  options.sustained_time_limit = kLoadProbeTime;
  OpenMeasurement one = start(started, options.caches.front(), Load::sustained, options, calibration);
  measure_sustained(started.work.device, started.work.queue, one, options);
  return load_probe_of(one.measurement);
}

// Launches that no closed queue held, though the first ones were held, are measured as those that wait. False
// where they are taken for that already.
bool take_for_waiting(std::vector<std::vector<StartedTrial>>& groups, const Workload& workload,
                      std::vector<Result>& results) {
  std::size_t number = 0;
  bool any = false;
  for (std::vector<StartedTrial>& group : groups) {
    for (StartedTrial& started : group) {
      Result& result = results[number++];
      if (&started.work.workload != &workload || started.first.waits_for_queue) continue;
      started.first.waits_for_queue = result.waits_for_device = any = true;
    }
  }
  return any;
}

// An interruption leaves cache states without a round.
void keep(std::vector<MeasuredGroup>& groups, std::vector<Result>& results) {
  std::size_t trial = 0;
  for (MeasuredGroup& group : groups) {
    const std::size_t states = group.measurements.size() / group.paired_operations;
    for (std::size_t i = 0; i < group.measurements.size(); ++i) {
      Measurement& measurement = group.measurements[i].measurement;
      if (!measurement.rounds.empty())
        results[trial + i / states].measurements.push_back(std::move(measurement));
    }
    trial += group.paired_operations;
  }
}

}  // namespace

Session::Session(Device& device, std::unique_ptr<Queue> queue)
    : device_(device),
      queue_(std::move(queue)),
      calibration_(calibrate(device, *queue_)),
      process_variation_(
          assumed_process_variation(!device.describe().capabilities.is_host, !hypervisor().empty())) {}

Result Session::measure(Workload& workload, std::string name, const MeasureOptions& options) {
  return std::move(measure({{{workload, std::move(name), options}}}).front());
}

std::vector<Result> Session::measure(const std::vector<TrialGroup>& asked) {
  std::vector<TrialGroup> groups = asked;
  std::vector<Result> results;
  std::vector<std::vector<StartedTrial>> started;
  for (TrialGroup& group : groups) {
    started.emplace_back();
    for (SessionTrial& trial : group) {
      check_options(trial.options);
      if (!trial.options.process_variation) trial.options.process_variation = process_variation_;
      const FirstCall first = make_first_call(device_, *queue_, trial.workload, calibration_.events.value);
      started.back().push_back(
          {{device_, *queue_, trial.workload, trial.options.caches.front()}, &trial, first});
      Result& result = results.emplace_back();
      result.subject = Callable{trial.name};  // until who knows better says what it is
      result.first_call = first.time;
      // On a CPU a launch is put into a list, and the work itself runs on the host.
      if (!device_.describe().capabilities.is_host) result.launch_cost = first.launch_cost;
      result.waits_for_device = first.waits_for_queue;
    }
  }
  const MeasureOptions& shared = groups.front().front().options;
  for (const Load load : shared.loads) {
    std::vector<MeasuredGroup> measured;
    const auto measure_all = [&] {
      measured.clear();
      for (const auto& group : started) measured.push_back(start_group(group, load, calibration_));
      run(device_, *queue_, load, measured, shared, wake_);
    };
    while (true) {
      try {
        measure_all();
        break;
      } catch (const CannotBeHeldError& error) {
        if (!take_for_waiting(started, *error.workload, results)) throw;
      }
    }
    const bool stop = was_interrupted(measured);
    keep(measured, results);
    if (stop) return results;
  }
  // After all that is measured: it heats the chip.
  std::size_t number = 0;
  for (const auto& group : started) {
    for (const StartedTrial& trial : group) {
      Result& result = results[number++];
      if (may_probe(device_, trial.trial->options)) result.load_probe = probe_load(trial, calibration_);
    }
  }
  return results;
}

}  // namespace jitterscope
