#include "measure/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measure/estimate.hpp"
#include "measure/launch_details.hpp"
#include "measure/loads.hpp"
#include "measure/machine.hpp"
#include "measure/round_runner.hpp"
#include "measure/schedule.hpp"
#include "measure/steadiness.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// A callable may do what cannot be recorded: then its short launches are timed by events, too; in all
// processes, if it is so in one of them.
RoundRunner make_runner(const TimedWork& work, RoundShape shape, const MeasureOptions& options,
                        const Calibration& calibration, Decisions& decisions) {
  const bool was_asked_for = options.instrument || options.queue == QueueMode::graph;
  if (shape.instrument != Instrument::graph || was_asked_for)
    return RoundRunner(work, shape, options, calibration, &decisions);
  std::optional<RoundRunner> recorded;
  std::string problem = "another process could not record it";
  try {
    recorded.emplace(work, shape, options, calibration, &decisions);
  } catch (const Error& error) {
    // UsageError: a PyTorch operator that waits for the GPU or draws random numbers refuses to be recorded.
    problem = error.what();
  }
  if (decisions.of_all(Question::was_recorded, recorded.has_value())) return *std::move(recorded);
  work.workload.not_recorded(problem);
  shape.instrument = Instrument::events;
  return RoundRunner(work, shape, options, calibration, &decisions);
}

bool fits_queue(Queue& queue, RoundRunner& runner) {
  // A round that fits is enqueued in a few milliseconds. One that does not costs all of the patience, up to
  // nine times per trial: with 500 ms, copies of 4 KiB took 12 s of each process of `study pinned` (H200).
  constexpr Nanoseconds kPatience = milliseconds(100);
  if (!queue.limit_hold(kPatience)) return true;
  try {
    runner.rehearse(kPatience);
  } catch (const HoldTimeoutError&) {
    return false;
  }
  return true;
}

// A GPU's queue holds 1,024 launches, and far fewer of kernels with large parameters: recordings of cuDNN's
// attention, or of its newest engines, fill the held queue, and the launch then waits for a release that
// waits for the launch. Such rounds are divided over several held queues.
RoundRunner make_fitting_runner(const TimedWork& work, RoundShape shape, const MeasureOptions& options,
                                const Calibration& calibration, Decisions& decisions) {
  while (true) {
    RoundRunner runner = make_runner(work, shape, options, calibration, decisions);
    const bool was_held = runner.timer().instrument() != Instrument::graph || fits_queue(work.queue, runner);
    const std::optional<RoundShape> next = decisions.shape_after_trial(shape, was_held);
    if (!next) return runner;
    shape = *next;
  }
}

// A trial whose first launches are over.
struct StartedTrial {
  TimedWork work;
  const SessionTrial* trial;
  FirstCall first;
};

// Launches that wait for their queue can be neither saturated nor, as a rule, recorded: unless asked
// otherwise, they run as a program launches them.
MeasureOptions without_hold(MeasureOptions options) {
  if (options.queue == QueueMode::saturated) options.queue = QueueMode::eager;
  return options;
}

OpenMeasurement start(const StartedTrial& started, CacheState cache, Load load, const MeasureOptions& asked,
                      const Calibration& calibration, Decisions& decisions) {
  TimedWork work = started.work;
  work.cache = cache;
  const FirstCall& first = started.first;
  const MeasureOptions options = first.waits_for_queue ? without_hold(asked) : asked;
  LaunchFacts facts{first.launch_time, first.launch_cost, first.waits_for_queue, cache, load};
  RoundShape shape = decisions.shape_rounds(facts, options, calibration);
  if (look_at_host(work, shape, facts)) shape = decisions.shape_rounds(facts, options, calibration);
  OpenMeasurement one{make_fitting_runner(work, shape, options, calibration, decisions), started.trial->name,
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

// Recordings would change an eager queue, and events a graph: only a saturated queue allows any instrument.
bool is_read_freely(const StartedTrial& started) {
  return started.trial->options.queue == QueueMode::saturated;
}

std::vector<OpenMeasurement> start_all(const std::vector<StartedTrial>& group, Load load,
                                       std::optional<Instrument> instrument, const Calibration& calibration,
                                       Decisions& decisions) {
  std::vector<OpenMeasurement> measurements;
  for (const StartedTrial& started : group) {
    MeasureOptions options = started.trial->options;
    if (instrument && !options.instrument && is_read_freely(started)) options.instrument = instrument;
    for (const CacheState cache : options.caches) {
      measurements.push_back(start(started, cache, load, options, calibration, decisions));
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

// The constants of two instruments do not cancel in a ratio, so trials that are compared use the same one:
// slopes if one needs them and the others can be recorded. Trials with different queues do not, since each
// queue allows only one instrument.
MeasuredGroup start_group(const std::vector<StartedTrial>& group, Load load, const Calibration& calibration,
                          Decisions& decisions) {
  MeasuredGroup measured{start_all(group, load, std::nullopt, calibration, decisions), group.size()};
  for (const Instrument instrument : {Instrument::graph, Instrument::events}) {
    if (read_alike(group, measured)) return measured;
    try {
      measured.measurements = start_all(group, load, instrument, calibration, decisions);
    } catch (const Error&) {
      // Something cannot be recorded: an operator refuses (UsageError), or the driver ends the recording
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

void measure_loads(Device& device, Queue& queue, Decisions& decisions, std::vector<MeasuredGroup>& groups,
                   const MeasureOptions& options) {
  Random random(options.seed);
  for (MeasuredGroup& group : groups) {
    std::vector<OpenMeasurement*> order;
    for (OpenMeasurement& one : group.measurements) order.push_back(&one);
    // The second load meets a chip that the first has heated: the order is random in each process.
    if (group.paired_operations > 1) shuffle(order, random);
    for (OpenMeasurement* one : order) {
      measure_sustained(device, queue, decisions, *one, options);
      if (one->measurement.stop_reason == StopReason::interrupted) return;
    }
  }
}

// Without a power limit the clock does not fall and no energy is counted.
bool may_probe(Device& device, const MeasureOptions& options) {
  const bool only_bursts = options.loads == std::vector{Load::burst};
  return options.load_probe && only_bursts && device.describe().power_limit.has_value();
}

LoadProbe probe_load(const StartedTrial& started, const Calibration& calibration, Decisions& decisions) {
  MeasureOptions options = started.trial->options;
  options.sustained_time_limit = kLoadProbeTime;
  OpenMeasurement one =
      start(started, options.caches.front(), Load::sustained, options, calibration, decisions);
  measure_sustained(started.work.device, started.work.queue, decisions, one, options);
  return load_probe_of(one.measurement);
}

// Treats launches that no held queue could take, though the first ones were held, as those that wait. False
// if they already are.
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

// How a clock falls and rises again is read from a kernel that draws no power.
std::optional<Hertz> clock_of_spin(Device& device, Queue& queue) {
  constexpr std::int64_t kSpin = 1'000'000;  // ns
  const auto spin = device.prepare(Operation(Spin{.amount = kSpin}), InputData());
  const ClockStamp from = queue.stamp_clock();
  queue.launch(*spin);
  const ClockStamp to = queue.stamp_clock();
  queue.wait();
  const std::optional<ClockReading> reading = queue.clock_between(from, to);
  return reading ? std::optional(reading->frequency) : std::nullopt;
}

// A load leaves the clock of a GPU held for a while, for longer if its own idle is short.
constexpr Nanoseconds kRestAfterLoad = milliseconds(300), kLongestRest = seconds(10);

// A burst heats less than a load, whichever was asked for first.
std::vector<Load> bursts_first(std::vector<Load> loads) {
  std::ranges::stable_sort(loads, {}, [](Load load) { return load != Load::burst; });
  return loads;
}

// Skips cache states that an interruption left without a round.
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

const CacheProof& Session::cache_proof() {
  if (!cache_proof_) cache_proof_ = prove_cold(*this);
  return *cache_proof_;
}

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
      const FirstCall first =
          make_first_call(device_, *queue_, trial.workload, calibration_.events.value, decisions());
      started.back().push_back(
          {{device_, *queue_, trial.workload, trial.options.caches.front()}, &trial, first});
      Result& result = results.emplace_back();
      result.subject = Callable{trial.name};  // replaced by callers that know more
      result.first_call = first.time;
      // On a CPU a launch is only listed, and the work itself runs on the host.
      if (!device_.describe().capabilities.is_host) result.launch_cost = first.launch_cost;
      result.waits_for_device = first.waits_for_queue;
    }
  }
  const MeasureOptions& shared = groups.front().front().options;
  for (const Load load : bursts_first(shared.loads)) {
    std::vector<MeasuredGroup> measured;
    const auto measure_all = [&] {
      measured.clear();
      for (const auto& group : started)
        measured.push_back(start_group(group, load, calibration_, decisions()));
      measure_load(load, shared, measured);
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
  // The probe follows all measurements, because it heats the chip.
  std::size_t number = 0;
  for (const auto& group : started) {
    for (const StartedTrial& trial : group) {
      Result& result = results[number++];
      if (!may_probe(device_, trial.trial->options)) continue;
      begin_load();
      result.load_probe = probe_load(trial, calibration_, decisions());
    }
  }
  return results;
}

void Session::measure_load(Load load, const MeasureOptions& options, std::vector<MeasuredGroup>& groups) {
  if (load == Load::burst) {
    rest_after_load();
    return measure_burst(device_, decisions(), groups, options, wake_);
  }
  begin_load();
  measure_loads(device_, *queue_, decisions(), groups, options);
}

void Session::begin_load() {
  if (!is_after_load_ && !clock_before_loads_) {
    device_.idle(kRestAfterLoad);
    clock_before_loads_ = clock_of_spin(device_, *queue_);
  }
  is_after_load_ = true;
}

// What a burst takes must not depend on the load before it: behind one under a power cap the clock rose over
// the first blocks, which looked like a clock that sleeps while idle, and was woken by launches that heated
// all later bursts.
void Session::rest_after_load() {
  constexpr double kAsBefore = 0.95;  // the clock wanders by 2 to 5 % by itself
  if (!std::exchange(is_after_load_, false)) return;
  const Nanoseconds start = device_.host_time();
  const auto is_as_before = [&] {
    device_.idle(kRestAfterLoad);
    if (!clock_before_loads_) return true;
    const std::optional<Hertz> clock = clock_of_spin(device_, *queue_);
    return !clock || *clock >= *clock_before_loads_ * kAsBefore;
  };
  while (!is_as_before() && device_.host_time() - start < kLongestRest) {
  }
}

namespace {

// CUPTI minus slope on an H200: up to 0.07 us over spin kernels of 2 to 10 us on 1 to 1,056 blocks, read by
// torch.profiler (docs/evidence/benchmarks.md); one reading of 0.13 us at 1 us.
constexpr Nanoseconds kSlopeUncertainty = microseconds(0.1);
constexpr int kRounds = 3;
// As in the rounds that use the constant (decisions.cpp): it depends on the launches per held queue.
constexpr std::int64_t kValues = 20, kParts = 4;

struct Reading {
  Nanoseconds events, slope;
};

std::vector<double> read_rounds(const TimedWork& work, const RoundShape& shape) {
  MeasureOptions options;
  RoundRunner runner(work, shape, options, Calibration());
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    for (const Nanoseconds time : runner.run_held_round(Nanoseconds(0), Nanoseconds(0)).launches) {
      times.push_back(time.value());
    }
  }
  return times;
}

// A median of multiples of the timer's step is one itself, and the same for every kernel; a mean is not.
// Without the outer tenths no single disturbance moves it.
double mean_without_tails(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto tail = static_cast<std::ptrdiff_t>(values.size() / 10);
  const auto begin = values.begin() + tail, end = values.end() - tail;
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

Reading read_by_both(Device& device, Queue& queue, const Operation& operation) {
  const auto prepared = device.prepare(operation, InputData());
  queue.launch(*prepared);
  queue.wait();
  const TimedWork work{device, queue, *prepared, CacheState::warm};
  RoundShape shape;
  shape.values = kValues;
  shape.parts = kParts;
  Reading reading;
  reading.events = Nanoseconds(mean_without_tails(read_rounds(work, shape)));
  shape.instrument = Instrument::graph;
  shape.parts = 1;
  shape.slope.pairs = 2;
  reading.slope = Nanoseconds(mean_without_tails(read_rounds(work, shape)));
  return reading;
}

// Returns the spans between neighbouring marks, sorted.
std::vector<double> spans_of_marks(Queue& queue) {
  constexpr int kMarks = 200;
  std::vector<Mark> marks;
  for (int i = 0; i < kMarks; ++i) marks.push_back(queue.mark());
  queue.wait();
  std::vector<double> spans;
  for (std::size_t i = 1; i < marks.size(); ++i)
    spans.push_back(queue.elapsed(marks[i - 1], marks[i]).value());
  std::sort(spans.begin(), spans.end());
  return spans;
}

// Returns the smallest step between readings of neighbouring marks.
Nanoseconds timer_grain(const std::vector<double>& spans) {
  double grain = spans.back();
  for (std::size_t i = 1; i < spans.size(); ++i) {
    // Readings are floats of milliseconds: steps under half a nanosecond are rounding.
    const double step = spans[i] - spans[i - 1];
    if (step > 0.5) grain = std::min(grain, step);
  }
  return Nanoseconds(grain);
}

// Returns the mean of the differences with Student's interval; kernels of different lengths and sizes are the
// sample. No instrument has a negative cost: a mean below zero is scatter, and would lengthen all times.
InstrumentConstant constant_of(const std::vector<double>& differences, Nanoseconds grain) {
  const statistics::MeanInterval mean = statistics::mean_interval(differences);
  const Nanoseconds scatter((mean.interval.high - mean.interval.low) / 2);
  const Nanoseconds below_zero(std::max(0.0, -mean.mean));
  return {.value = Nanoseconds(std::max(0.0, mean.mean)),
          .uncertainty = std::max(scatter, below_zero),
          .grain = grain,
          .scatter = std::max(scatter, below_zero)};
}

}  // namespace

std::vector<Operation> calibration_operations(const DeviceDescription& device) {
  std::vector<std::int64_t> blocks = {1};
  if (device.capabilities.launches_have_blocks)
    blocks = {1, device.processors, std::int64_t{8} * device.processors};
  std::vector<Operation> operations;
  for (const std::int64_t count : blocks) {
    for (const std::int64_t time : {0, 5000, 30000}) {
      operations.emplace_back(Spin{.amount = time, .blocks = count, .threads = 32});
    }
  }
  return operations;
}

Calibration calibrate(Device& device, Queue& queue) {
  const DeviceDescription description = device.describe();
  const std::vector<double> spans = spans_of_marks(queue);
  const Nanoseconds grain = timer_grain(spans);
  Calibration calibration;
  if (!description.capabilities.marks_on_device) {
    // Marks are the host's clock, read beside the launch. Kernels of known length tell less about them than
    // marks without work between: on a busy host the constant was known to 40 us by those, to 10 ns by these.
    constexpr std::array kProbabilities = {0.1, 0.5, 0.9};
    const std::vector<double> q = statistics::quantiles(spans, kProbabilities);
    const Nanoseconds scatter = grain + Nanoseconds(0.5 * (q[2] - q[0]));
    calibration.method = fmt::format("{} spans between marks without work; slopes as they are", spans.size());
    calibration.marks_are_of_host = true;
    calibration.graph.grain = grain;
    calibration.events = {
        .value = Nanoseconds(q[1]), .uncertainty = scatter, .grain = grain, .scatter = scatter};
    return calibration;
  }
  std::vector<double> events_less_slope;
  for (const Operation& operation : calibration_operations(description)) {
    const Reading reading = read_by_both(device, queue, operation);
    events_less_slope.push_back((reading.events - reading.slope).value());
  }
  calibration.method =
      fmt::format("events against slopes of recordings, on {} spin kernels; slopes as they are",
                  events_less_slope.size());
  calibration.graph.uncertainty = kSlopeUncertainty;
  calibration.graph.grain = grain;
  calibration.events = constant_of(events_less_slope, grain);
  calibration.events.uncertainty += calibration.graph.uncertainty;
  return calibration;
}

}  // namespace jitterscope
