#include <algorithm>
#include <array>
#include <cmath>

#include "measure/gate_guard.hpp"
#include "measure/method_bench.hpp"
#include "measure/method_sentences.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

struct Span {
  Mark from, to;
};

Nanoseconds mean(const std::vector<double>& times) {
  double sum = 0.0;
  for (const double time : times) sum += time;
  return Nanoseconds(sum / static_cast<double>(times.size()));
}

Nanoseconds wall_without_wait(MethodBench& bench) {
  bench.warm_up();
  const Nanoseconds start = bench.device().host_time();
  for (std::int64_t i = 0; i < bench.launches(); ++i) bench.queue().launch(bench.operation());
  const Nanoseconds time = bench.device().host_time() - start;
  bench.queue().wait();
  return time / static_cast<double>(bench.launches());
}

Nanoseconds wall_with_wait(MethodBench& bench) {
  bench.warm_up();
  std::vector<double> times;
  for (std::int64_t i = 0; i < bench.launches(); ++i) {
    const Nanoseconds start = bench.device().host_time();
    bench.queue().launch(bench.operation());
    bench.queue().wait();
    times.push_back((bench.device().host_time() - start).value());
  }
  return mean(times);
}

Span launch_between_marks(MethodBench& bench, Workload& workload) {
  const Mark from = bench.queue().mark();
  bench.queue().launch(workload);
  return {from, bench.queue().mark()};
}

Nanoseconds events_empty_queue(MethodBench& bench) {
  bench.warm_up();
  std::vector<double> times;
  for (std::int64_t i = 0; i < bench.launches(); ++i) {
    const Span span = launch_between_marks(bench, bench.operation());
    bench.queue().wait();
    times.push_back(bench.queue().elapsed(span.from, span.to).value());
  }
  return mean(times);
}

// Ten launches are what a hurried script averages; of an operation so long that ten take over a fifth of a
// second, fewer.
Nanoseconds events_without_warm_up(MethodBench& bench) {
  constexpr Nanoseconds kAffordable = milliseconds(200);
  const double affordable = kAffordable / std::max(bench.first_call().launch_time, Nanoseconds(1));
  const auto launches = static_cast<std::int64_t>(std::clamp(std::floor(affordable), 2.0, 10.0));
  const auto fresh = bench.prepare_again();
  bench.queue().wait();
  bench.device().idle(seconds(1));
  std::vector<Span> spans;
  for (std::int64_t i = 0; i < launches; ++i) spans.push_back(launch_between_marks(bench, *fresh));
  bench.queue().wait();
  std::vector<double> times;
  for (const Span& span : spans) times.push_back(bench.queue().elapsed(span.from, span.to).value());
  return mean(times);
}

Nanoseconds events_behind_gate(MethodBench& bench) {
  RoundShape shape = bench.shape(CacheState::warm, Instrument::events);
  shape.values *= shape.group;
  shape.group = 1;
  return bench.time_round("events_behind_gate", CacheState::warm, shape, Calibration());
}

template <CacheState cache>
Nanoseconds events_less_constant(MethodBench& bench) {
  const RoundShape shape = bench.shape(cache, Instrument::events);
  return bench.time_round("events_less_constant " + std::string(to_string(cache)), cache, shape,
                          bench.calibration());
}

Nanoseconds graph_total(MethodBench& bench) {
  Recording& graph = bench.graph();
  Queue& queue = bench.queue();
  bench.warm_up();
  GateGuard gate(queue);
  gate.close();
  // The first replay after an idle takes 15 to 30 us more (H200): that is no part of what this method gets
  // wrong.
  queue.replay(graph);
  const Mark from = queue.mark();
  queue.replay(graph);
  const Mark to = queue.mark();
  gate.open();
  queue.wait();
  return queue.elapsed(from, to) / static_cast<double>(bench.launches());
}

Nanoseconds graph_slope(MethodBench& bench) {
  const RoundShape shape = bench.shape(CacheState::warm, Instrument::graph);
  return bench.time_round("graph_slope", CacheState::warm, shape, bench.calibration());
}

namespace say = method_sentences;
constexpr CacheState kWarm = CacheState::warm;
constexpr std::array kMethods = {
    Method{"wall_without_wait", "wall time without synchronize", kWarm, wall_without_wait,
           say::wall_without_wait},
    Method{"wall_with_wait", "wall time, launch and synchronize", kWarm, wall_with_wait, say::wall_with_wait},
    Method{"events_empty_queue", "events on an empty queue", kWarm, events_empty_queue,
           say::events_empty_queue},
    Method{"events_without_warm_up", "events without warm-up, first 10 launches", kWarm,
           events_without_warm_up, say::events_without_warm_up},
    Method{"events_behind_gate", "events behind a gate", kWarm, events_behind_gate, say::events_behind_gate},
    Method{"events_less_constant", "events behind a gate, less the constant", kWarm,
           events_less_constant<kWarm>, say::events_less_constant},
    Method{"cold", "the same, cache flushed clean", CacheState::cold, events_less_constant<CacheState::cold>,
           say::cold},
    Method{"dirty", "the same, cache flushed by memset", CacheState::dirty,
           events_less_constant<CacheState::dirty>, say::dirty},
    Method{"graph_total", "graph of n launches, its time over n", kWarm, graph_total, say::graph_total},
    Method{"graph_slope", "slope between two graphs", kWarm, graph_slope, say::graph_slope},
    Method{"cupti", "CUPTI kernel times", kWarm, nullptr, say::cupti},
};

}  // namespace

std::span<const Method> timing_methods() { return kMethods; }

}  // namespace jitterscope
