#include "measure/method_comparison.hpp"

#include <algorithm>
#include <deque>

#include "jitterscope/error.hpp"
#include "measure/method_bench.hpp"
#include "measure/schedule.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

std::vector<double> values_of(const std::vector<Nanoseconds>& times) {
  std::vector<double> values;
  for (const Nanoseconds time : times) values.push_back(time.value());
  return values;
}

// One method in its turns, each behind an idle of its own.
class MethodTurns final : public BlockVisitor {
 public:
  MethodTurns(const Method& method, MethodBench& bench, const MethodsRequest& request, MethodReading& reading)
      : method_(method), bench_(bench), request_(request), reading_(reading) {}

  std::size_t visits() const override { return reading_.times.size(); }
  bool needs_more() override {
    return reading_.absent.empty() && std::ssize(reading_.times) < request_.repetitions;
  }
  void visit(const Visit& visit) override {
    if (request_.progress) request_.progress(std::ssize(reading_.times) + 1, reading_.name);
    bench_.device().idle(visit.idle);
    // A signal ends the idle early, and the method would then be timed without it.
    if (is_interrupted(request_.options)) return;
    try {
      reading_.times.push_back(method_.time(bench_));
    } catch (const Error& error) {
      reading_.absent = error.what();
    }
  }

 private:
  const Method& method_;
  MethodBench& bench_;
  const MethodsRequest& request_;
  MethodReading& reading_;
};

MethodComparison begin_comparison(const Session& session, const Operation& operation, MethodBench& bench,
                                  const MethodsRequest& request) {
  MethodComparison result;
  result.operation = operation.text();
  result.provider = bench.operation().provider();
  result.algorithm = bench.operation().algorithm();
  result.input = {.kind = request.options.data, .seed = request.options.seed};
  result.repetitions = request.repetitions;
  result.shortest_idle = request.options.shortest_idle;
  result.longest_idle = request.options.longest_idle;
  result.calibration = session.calibration();
  result.launches_return_early = bench.device().describe().capabilities.launches_return_early;
  result.first_call = bench.first_call().time;
  result.launch_cost = bench.first_call().launch_cost;
  result.launches = bench.launches();
  for (const Method& method : timing_methods()) {
    result.readings.push_back({method.id, method.name, method.cache, {}, {}, {}});
  }
  return result;
}

// True where the user ended it before each method had all its turns.
bool take_turns(Device& device, const std::vector<BlockVisitor*>& turns, const MeasureOptions& options) {
  Schedule schedule(device, options, IdleSharing::none);
  std::vector<BlockVisitor*> open = turns;
  while (schedule.run_block(open)) {
  }
  return std::ranges::any_of(open, &BlockVisitor::needs_more);
}

std::string choose_reference(const MethodComparison& comparison) {
  constexpr std::string_view kEvents = "events_less_constant";
  for (const std::string_view id : {std::string_view("cupti"), std::string_view("graph_slope"), kEvents}) {
    // On a CPU marks cost 25 ns: nothing is nearer to the truth than two of them around a launch.
    const bool suits = comparison.launches_return_early || id == kEvents;
    if (suits && find_reading(comparison, id) != nullptr) return std::string(id);
  }
  return {};
}

void say_what_each_gets_wrong(MethodComparison& comparison) {
  for (std::size_t i = 0; i < comparison.readings.size(); ++i) {
    MethodReading& reading = comparison.readings[i];
    if (!reading.times.empty()) {
      reading.sentence = timing_methods()[i].sentence(comparison, reading);
    } else if (reading.absent.empty()) {
      reading.absent = "interrupted before its first repetition";
    }
  }
}

}  // namespace

Nanoseconds MethodReading::time() const { return Nanoseconds(statistics::median(values_of(times))); }

double MethodReading::range() const {
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  return times.empty() ? 0.0 : (*high - *low) / time();
}

const MethodReading* find_reading(const MethodComparison& comparison, std::string_view id) {
  for (const MethodReading& reading : comparison.readings) {
    if (reading.id == id && !reading.times.empty()) return &reading;
  }
  return nullptr;
}

std::optional<MethodDistance> distance_from_reference(const MethodComparison& comparison,
                                                      const MethodReading& reading) {
  const MethodReading* reference = find_reading(comparison, comparison.reference);
  if (reference == nullptr || reading.times.empty() || reading.cache != reference->cache) return std::nullopt;
  const Nanoseconds distance = reading.time() - reference->time();
  return MethodDistance{distance, distance / reference->time()};
}

MethodComparison compare_methods(Session& session, const Operation& operation,
                                 const MethodsRequest& request) {
  MethodBench bench(session, operation, request.options);
  MethodComparison result = begin_comparison(session, operation, bench, request);
  std::deque<MethodTurns> turns;  // which stay where they are
  std::vector<BlockVisitor*> visitors;
  for (std::size_t i = 0; i < timing_methods().size(); ++i) {
    const Method& method = timing_methods()[i];
    if (method.time != nullptr)
      visitors.push_back(&turns.emplace_back(method, bench, request, result.readings[i]));
  }
  result.interrupted = take_turns(bench.device(), visitors, request.options);
  result.clock = bench.clock();
  const bool any = std::ranges::any_of(turns, [](const MethodTurns& one) { return one.visits() > 0; });
  // With nothing to show, the first reason is the answer.
  if (!any && !result.interrupted) throw FailedError(result.readings.front().absent);
  MethodReading& traced = result.readings.back();
  traced.times = request.traced.times;
  if (traced.times.empty()) traced.absent = request.traced.problem;
  result.reference = choose_reference(result);
  say_what_each_gets_wrong(result);
  return result;
}

Nanoseconds idle_in_repetition(const MeasureOptions& options) {
  return mean_idle(options) * static_cast<double>(timing_methods().size() - 1) + seconds(1);
}

std::vector<Nanoseconds> trace_operation(Device& device, const Operation& operation,
                                         const MeasureOptions& options, std::int64_t repetitions) {
  const auto queue = device.make_queue();
  const auto prepared = device.prepare(operation, {.kind = options.data, .seed = options.seed});
  const FirstCall first = make_first_call(device, *queue, *prepared, Nanoseconds(0));
  MeasureOptions traced = options;
  traced.instrument = Instrument::cupti;
  RoundShape shape = shape_round(first.launch_time, CacheState::warm, Load::burst, traced, Calibration());
  shape.launches_wait = first.waits_for_queue;
  RoundRunner runner({device, *queue, *prepared, CacheState::warm}, shape, traced, Calibration());
  Random random(options.seed);
  std::vector<Nanoseconds> times;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    times.push_back(runner.run_gated_round(draw_idle(options, random), Nanoseconds(0)).time());
  }
  return times;
}

}  // namespace jitterscope
