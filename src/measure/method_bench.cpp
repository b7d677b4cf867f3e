#include "measure/method_bench.hpp"

#include <algorithm>

#include "statistics/statistics.hpp"

namespace jitterscope {

MethodBench::MethodBench(Session& session, const Operation& operation, const MeasureOptions& options)
    : session_(session),
      text_(operation),
      options_(options),
      prepared_(prepare_again()),
      first_(make_first_call(device(), queue(), *prepared_, calibration().events.value)) {
  constexpr Nanoseconds kLong = milliseconds(50);
  if (first_.launch_time < kLong) first_.launch_time = std::min(first_.launch_time, shortest_launch());
  launches_ = shape(CacheState::warm, Instrument::host).values;
}

// Of a first call over 5 ms only two launches follow, and one that something interrupts would make n far too
// small for all methods.
Nanoseconds MethodBench::shortest_launch() {
  const TimedWork work{device(), queue(), *prepared_, CacheState::warm};
  RoundShape several;
  several.values = 10;
  several.launches_wait = first_.waits_for_queue;
  RoundRunner runner(work, several, options_, calibration());
  const Round round = runner.run_gated_round(Nanoseconds(0), Nanoseconds(0));
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
  queue().launch_in_a_row(operation(), shape(CacheState::warm, Instrument::host).conditioning_launches);
  queue().wait();
}

RoundShape MethodBench::shape(CacheState cache, Instrument instrument) const {
  MeasureOptions options = options_;
  options.instrument = instrument;
  Calibration without_grain;  // the host's clock has none that matters, and methods state their own groups
  const Calibration& calibration = instrument == Instrument::host ? without_grain : session_.calibration();
  RoundShape shape = shape_round(first_.launch_time, cache, Load::burst, options, calibration);
  shape.launches_wait = first_.waits_for_queue;
  return shape;
}

Nanoseconds MethodBench::time_round(const std::string& method, CacheState cache, const RoundShape& shape,
                                    const Calibration& calibration) {
  auto place = runners_.find(method);
  if (place == runners_.end()) {
    const TimedWork work{device(), queue(), operation(), cache};
    place = runners_.emplace(method, RoundRunner(work, shape, options_, calibration)).first;
  }
  const Round round = place->second.run_gated_round(Nanoseconds(0), Nanoseconds(0));
  if (round.clock) clocks_.push_back(round.clock->value());
  return round.time();
}

Recording& MethodBench::graph() {
  if (!graph_) {
    graph_ = queue().record([&](Queue& recorder) { recorder.launch_in_a_row(operation(), launches_); });
  }
  return *graph_;
}

}  // namespace jitterscope
