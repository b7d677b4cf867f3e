#include "measure/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "measure/round_runner.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// CUPTI less slope on an H200: up to 0.07 us over spin kernels of 2 to 10 us on 1 to 1,056 blocks, read by
// torch.profiler (docs/evidence/benchmarks.md); one reading of 0.13 us at 1 us.
constexpr Nanoseconds kSlopeUncertainty = microseconds(0.1);
constexpr int kRounds = 3;
// As the rounds that the constant is for (round_shape.cpp): it depends on how many launches one gate holds.
constexpr std::int64_t kValues = 20, kParts = 4;

struct Reading {
  Nanoseconds events, slope;
};

std::vector<double> read_rounds(const TimedWork& work, const RoundShape& shape) {
  MeasureOptions options;
  RoundRunner runner(work, shape, options, Calibration());
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    for (const Nanoseconds time : runner.run_gated_round(Nanoseconds(0), Nanoseconds(0)).launches) {
      times.push_back(time.value());
    }
  }
  return times;
}

// A median of readings that are multiples of the timer's step is one itself, and the same for every kernel; a
// mean is not. Without the outer tenths no single disturbance moves it.
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

// Smallest step between readings of neighbouring marks.
Nanoseconds timer_grain(Queue& queue) {
  constexpr int kMarks = 200;
  std::vector<Mark> marks;
  for (int i = 0; i < kMarks; ++i) marks.push_back(queue.mark());
  queue.wait();
  std::vector<double> spans;
  for (std::size_t i = 1; i < marks.size(); ++i)
    spans.push_back(queue.elapsed(marks[i - 1], marks[i]).value());
  std::sort(spans.begin(), spans.end());
  double grain = spans.back();
  for (std::size_t i = 1; i < spans.size(); ++i) {
    // Readings come as floats of milliseconds: steps under half a nanosecond are rounding.
    const double step = spans[i] - spans[i - 1];
    if (step > 0.5) grain = std::min(grain, step);
  }
  return Nanoseconds(grain);
}

// Mean of the differences with Student's interval: kernels of other lengths and sizes are the sample. No
// instrument takes less than nothing: a mean below zero is scatter, and would lengthen all times.
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
  const Nanoseconds grain = timer_grain(queue);
  std::vector<double> events_less_slope;
  for (const Operation& operation : calibration_operations(description)) {
    const Reading reading = read_by_both(device, queue, operation);
    events_less_slope.push_back((reading.events - reading.slope).value());
  }
  Calibration calibration;
  calibration.method = "events against slopes of recordings, on " + std::to_string(events_less_slope.size()) +
                       " spin kernels; slopes as they are";
  const bool is_exact =
      !description.capabilities.marks_on_device;  // the host's clock, read beside the launch
  calibration.graph.uncertainty = is_exact ? Nanoseconds(0) : kSlopeUncertainty;
  calibration.graph.grain = grain;
  calibration.events = constant_of(events_less_slope, grain);
  calibration.events.uncertainty += calibration.graph.uncertainty;
  return calibration;
}

}  // namespace jitterscope
