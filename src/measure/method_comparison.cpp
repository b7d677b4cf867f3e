#include "measure/method_comparison.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measure/method_bench.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

std::vector<double> values_of(const std::vector<Nanoseconds>& times) {
  std::vector<double> values;
  for (const Nanoseconds time : times) values.push_back(time.value());
  return values;
}

class MethodLoop {
 public:
  MethodLoop(Session& session, const Operation& operation, const MethodsRequest& request)
      : request_(request), bench_(session, operation, request.options), random_(request.options.seed) {
    result_.operation = operation.text();
    result_.provider = bench_.operation().provider();
    result_.algorithm = bench_.operation().algorithm();
    result_.input = {.kind = request.options.data, .seed = request.options.seed};
    result_.repetitions = request.repetitions;
    result_.shortest_idle = request.options.shortest_idle;
    result_.longest_idle = request.options.longest_idle;
    result_.calibration = session.calibration();
    result_.launches_return_early = session.device().describe().capabilities.launches_return_early;
    result_.first_call = bench_.first_call().time;
    result_.launch_cost = bench_.first_call().launch_cost;
    result_.launches = bench_.launches();
    for (const Method& method : timing_methods()) {
      result_.readings.push_back({method.id, method.name, method.cache, {}, {}, {}});
    }
  }

  MethodComparison run() {
    for (std::int64_t repetition = 1; repetition <= request_.repetitions && !is_interrupted(); ++repetition) {
      for (const std::size_t index : random_order()) {
        if (is_interrupted()) break;
        time(index, repetition);
      }
    }
    take_traced(result_.readings.back());
    finish();
    return std::move(result_);
  }

 private:
  bool is_interrupted() {
    if (request_.options.interrupted && request_.options.interrupted()) result_.interrupted = true;
    return result_.interrupted;
  }

  std::vector<std::size_t> random_order() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < timing_methods().size(); ++i) {
      if (timing_methods()[i].time != nullptr) order.push_back(i);
    }
    shuffle(order, random_);
    return order;
  }

  void time(std::size_t index, std::int64_t repetition) {
    MethodReading& reading = result_.readings[index];
    if (!reading.absent.empty()) return;
    if (request_.progress) request_.progress(repetition, reading.name);
    bench_.device().idle(draw_idle(request_.options, random_));
    // A signal ends the idle early, and the method would then be timed without it.
    if (is_interrupted()) return;
    try {
      reading.times.push_back(timing_methods()[index].time(bench_));
    } catch (const Error& error) {
      reading.absent = error.what();
    }
  }

  void take_traced(MethodReading& reading) {
    reading.times = request_.traced.times;
    if (reading.times.empty()) reading.absent = request_.traced.problem;
  }

  void choose_reference() {
    constexpr std::string_view kEvents = "events_less_constant";
    for (const std::string_view id : {std::string_view("cupti"), std::string_view("graph_slope"), kEvents}) {
      // On a CPU marks cost 25 ns: nothing is nearer to the truth than two of them around a launch.
      const bool suits = result_.launches_return_early || id == kEvents;
      if (result_.reference.empty() && suits && find_reading(result_, id) != nullptr) result_.reference = id;
    }
  }

  void finish() {
    result_.clock = bench_.clock();
    choose_reference();
    bool any = false;
    for (std::size_t i = 0; i < result_.readings.size(); ++i) {
      MethodReading& reading = result_.readings[i];
      any = any || (!reading.times.empty() && timing_methods()[i].time != nullptr);
      if (reading.times.empty() && reading.absent.empty())
        reading.absent = "interrupted before its first repetition";
      if (!reading.times.empty()) reading.sentence = timing_methods()[i].sentence(result_, reading);
    }
    // With nothing to show, the first reason is the answer.
    if (!any && !result_.interrupted) throw FailedError(result_.readings.front().absent);
  }

  const MethodsRequest& request_;
  MethodBench bench_;
  Random random_;
  MethodComparison result_;
};

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
  return MethodLoop(session, operation, request).run();
}

Nanoseconds idle_in_repetition(const MeasureOptions& options) {
  const Nanoseconds idle = (options.shortest_idle + options.longest_idle) / 2.0;
  return idle * static_cast<double>(timing_methods().size() - 1) + seconds(1);
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
