#include "measure/method_bench.hpp"

#include <algorithm>

#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// A slope's recordings hold 160 launches or more: of a CPU's convolution that would be minutes. Where
// launches are long, few are enough, since the cost of a replay is small against one.
SlopeShape affordable(SlopeShape slope, Nanoseconds launch_time) {
  constexpr Nanoseconds kLongest = milliseconds(100);
  const auto launches = static_cast<double>(slope.short_launches + slope.long_launches);
  if (slope.short_launches == 0 || launch_time * launches <= kLongest) return slope;
  const double affordable_launches = kLongest / launch_time / 4.0;
  slope.short_launches = std::max<std::int64_t>(1, static_cast<std::int64_t>(affordable_launches));
  slope.long_launches = 3 * slope.short_launches;
  return slope;
}

}  // namespace

MethodBench::MethodBench(Session& session, const Operation& operation, const MeasureOptions& options)
    : session_(session),
      text_(operation),
      options_(options),
      prepared_(prepare_again()),
      first_(make_first_call(device(), queue(), *prepared_, calibration().events.value)) {
  first_.launch_time = std::min(first_.launch_time, shortest_launch());
  launches_ = shape(CacheState::warm, Instrument::host).values;
}

// Of a first call over 5 ms only two launches follow, and one that something interrupts would make n far too
// small for all methods.
Nanoseconds MethodBench::shortest_launch() {
  const TimedWork work{device(), queue(), *prepared_, CacheState::warm};
  RoundShape several;
  several.values = first_.launch_time < milliseconds(50) ? 10 : 2;
  Arm arm(work, several, options_, calibration());
  const Round round = arm.run_gated_round(Nanoseconds(0), Nanoseconds(0));
  return std::max(Nanoseconds(1), *std::min_element(round.launches.begin(), round.launches.end()));
}

std::unique_ptr<PreparedOperation> MethodBench::prepare_again() {
  return device().prepare(text_, {.kind = options_.data, .seed = options_.seed});
}

std::optional<Hertz> MethodBench::clock() const {
  if (clocks_.empty()) return std::nullopt;
  return Hertz(statistics::median(clocks_));
}

void MethodBench::warm_up() {
  for (std::int64_t i = 0; i < options_.conditioning_launches; ++i) queue().launch(operation());
  queue().wait();
}

RoundShape MethodBench::shape(CacheState cache, Instrument instrument) const {
  MeasureOptions options = options_;
  options.instrument = instrument;
  Calibration without_grain;  // the host's clock has none that matters, and methods state their own groups
  const Calibration& calibration = instrument == Instrument::host ? without_grain : session_.calibration();
  RoundShape shape = shape_round(first_.launch_time, cache, Load::burst, options, calibration);
  shape.slope = affordable(shape.slope, first_.launch_time);
  return shape;
}

Nanoseconds MethodBench::time_round(const std::string& method, CacheState cache, const RoundShape& shape,
                                    const Calibration& calibration) {
  auto place = arms_.find(method);
  if (place == arms_.end()) {
    const TimedWork work{device(), queue(), operation(), cache};
    place = arms_.emplace(method, Arm(work, shape, options_, calibration)).first;
    // A recording is brought to the device by its first replay.
    if (shape.instrument == Instrument::graph) place->second.run_gated_round(Nanoseconds(0), Nanoseconds(0));
  }
  const Round round = place->second.run_gated_round(Nanoseconds(0), Nanoseconds(0));
  if (round.clock) clocks_.push_back(round.clock->value());
  return round.time();
}

Recording& MethodBench::graph() {
  if (!graph_) {
    graph_ = queue().record([&](Queue& recorder) {
      for (std::int64_t i = 0; i < launches_; ++i) recorder.launch(operation());
    });
    queue().replay(*graph_);
    queue().wait();
  }
  return *graph_;
}

}  // namespace jitterscope
