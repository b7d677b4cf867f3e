#include "measure/timing_methods.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <span>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"
#include "measure/round_runner.hpp"
#include "measure/round_timer.hpp"
#include "measure/schedule.hpp"
#include "statistics/statistics.hpp"

// The timing methods, what they work with, and what each gets wrong.

namespace jitterscope {

/// One operation, ready to be launched by any method.
class MethodBench {
 public:
  MethodBench(Session& session, const Operation& operation, const MeasureOptions& options);

  Device& device() { return session_.device(); }
  Queue& queue() { return session_.queue(); }
  PreparedOperation& operation() { return *prepared_; }
  const Calibration& calibration() const { return session_.calibration(); }
  const FirstCall& first_call() const { return first_; }
  std::int64_t launches() const { return launches_; }
  /// Median of the clocks seen so far.
  std::optional<Hertz> clock() const;

  /// Prepares the same operation with its own operands and plan, never launched.
  std::unique_ptr<PreparedOperation> prepare_again();
  /// Makes a few launches and waits for them.
  void warm_up();
  /// Returns the shape of the rounds of a burst of this operation.
  RoundShape shape(CacheState cache, Instrument instrument) const;
  /// Times one round in a held queue; what it needs is made at first use and kept.
  Nanoseconds time_round(const std::string& method, CacheState cache, const RoundShape& shape,
                         const Calibration& calibration);
  /// Returns a recording of launches() launches.
  Recording& graph();

 private:
  Nanoseconds shortest_launch();

  Session& session_;
  Operation text_;
  MeasureOptions options_;
  std::unique_ptr<PreparedOperation> prepared_;
  FirstCall first_;
  std::int64_t launches_ = 0;
  std::map<std::string, RoundRunner> runners_;
  std::unique_ptr<Recording> graph_;
  std::vector<double> clocks_;
};

/// A timing method, and the function that describes its result.
struct Method {
  const char* id;
  const char* name;
  CacheState cache;
  Nanoseconds (*time)(MethodBench&);  ///< null: read in another process
  std::string (*sentence)(const MethodComparison&, const MethodReading&);
};
std::span<const Method> timing_methods();

namespace {

std::vector<double> values_of(const std::vector<Nanoseconds>& times) {
  std::vector<double> values;
  for (const Nanoseconds time : times) values.push_back(time.value());
  return values;
}

// Runs one method in its turns, each after an idle of its own.
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
    // A signal ends the idle early; the method would then be timed without it.
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

// Returns true if the user interrupted before each method had all its turns.
bool take_turns(Session& session, const std::vector<BlockVisitor*>& turns, const MeasureOptions& options) {
  Schedule schedule(session.device(), session.decisions(), options, IdleSharing::none);
  std::vector<BlockVisitor*> open = turns;
  while (schedule.run_block(open)) {
  }
  return std::ranges::any_of(open, &BlockVisitor::needs_more);
}

std::string choose_reference(const MethodComparison& comparison) {
  constexpr std::string_view kEvents = "events_less_constant";
  for (const std::string_view id : {std::string_view("cupti"), std::string_view("graph_slope"), kEvents}) {
    // On a CPU marks cost 25 ns: two of them around a launch are the most accurate.
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
  std::deque<MethodTurns> turns;  // a deque keeps its members in place
  std::vector<BlockVisitor*> visitors;
  for (std::size_t i = 0; i < timing_methods().size(); ++i) {
    const Method& method = timing_methods()[i];
    if (method.time != nullptr)
      visitors.push_back(&turns.emplace_back(method, bench, request, result.readings[i]));
  }
  result.interrupted = take_turns(session, visitors, request.options);
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
    times.push_back(runner.run_held_round(draw_idle(options, random), Nanoseconds(0)).time());
  }
  return times;
}

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

// A hurried script averages ten launches; fewer if ten take over a fifth of a second.
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
  QueueHold hold(queue);
  hold.begin();
  // The first replay after an idle takes 15 to 30 us more (H200): that is no part of this method's error.
  queue.replay(graph);
  const Mark from = queue.mark();
  queue.replay(graph);
  const Mark to = queue.mark();
  hold.release();
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
    Method{"events_without_warm_up", "events, no warm-up, 10 launches", kWarm, events_without_warm_up,
           say::events_without_warm_up},
    Method{"events_behind_gate", "events in a held queue", kWarm, events_behind_gate,
           say::events_behind_gate},
    Method{"events_less_constant", "the same, minus the constant", kWarm, events_less_constant<kWarm>,
           say::events_less_constant},
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

// After a first call over 5 ms only two launches follow; an interrupted one would make n far too small for
// all methods.
Nanoseconds MethodBench::shortest_launch() {
  const TimedWork work{device(), queue(), *prepared_, CacheState::warm};
  RoundShape several;
  several.values = 10;
  several.launches_wait = first_.waits_for_queue;
  RoundRunner runner(work, several, options_, calibration());
  const Round round = runner.run_held_round(Nanoseconds(0), Nanoseconds(0));
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
  Calibration without_grain;  // the host's clock has no relevant grain, and methods set their own groups
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
  const Round round = place->second.run_held_round(Nanoseconds(0), Nanoseconds(0));
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

namespace jitterscope::method_sentences {
namespace {

constexpr double kHardlyMatters = 0.01;

// No timer here has steps of less than a nanosecond.
std::string size_text(Nanoseconds time) {
  return duration_text(Nanoseconds(std::max(1.0, std::abs(time.value()))));
}

// Uses quartiles, not extremes: one interrupted repetition must not hide a difference.
bool middle_halves_overlap(const MethodReading& a, const MethodReading& b) {
  const auto quartiles = [](const MethodReading& reading) {
    std::vector<double> times;
    for (const Nanoseconds time : reading.times) times.push_back(time.value());
    return statistics::quantiles(times, std::array{0.25, 0.75});
  };
  const std::vector<double> of_a = quartiles(a), of_b = quartiles(b);
  return of_a[0] <= of_b[1] && of_b[0] <= of_a[1];
}

enum class Closeness { reference, equal, lost_in_noise, apart };

Closeness closeness(const MethodComparison& comparison, const MethodReading& reading, double ratio) {
  if (reading.id == comparison.reference) return Closeness::reference;
  if (std::abs(ratio) <= kHardlyMatters) return Closeness::equal;
  const MethodReading& reference = *find_reading(comparison, comparison.reference);
  return middle_halves_overlap(reading, reference) ? Closeness::lost_in_noise : Closeness::apart;
}

constexpr const char* kReference = "the reference here; the others are compared with it";
constexpr const char* kNoReference = "there is no reference to say how far off it is";

// Describes a method that adds `what` to each launch. Below the reference there must be another cause.
std::string adds(const MethodComparison& comparison, const MethodReading& reading, const std::string& what) {
  const auto distance = distance_from_reference(comparison, reading);
  if (!distance) return fmt::format("adds {}; {}", what, kNoReference);
  const std::string change = change_text(distance->ratio), size = size_text(distance->time);
  switch (closeness(comparison, reading, distance->ratio)) {
    case Closeness::reference: return kReference;
    case Closeness::equal:
      return fmt::format("adds {}, which hardly matters for an operation this long: {}", what, change);
    case Closeness::lost_in_noise:
      return fmt::format("adds {}, which the noise hides here ({})", what, change);
    case Closeness::apart: break;
  }
  if (distance->time > Nanoseconds(0))
    return fmt::format("adds {} of {} ({} of this operation)", size, what, change);
  return fmt::format(
      "reads {} less than the reference ({}): it adds {}, so the operation itself ran faster then", size,
      change, what);
}

// Describes a method that should be right except for its constant.
std::string corrected(const MethodComparison& comparison, const MethodReading& reading,
                      Nanoseconds uncertainty) {
  const auto distance = distance_from_reference(comparison, reading);
  if (!distance) return kNoReference;
  const std::string change = change_text(distance->ratio), size = size_text(distance->time);
  switch (closeness(comparison, reading, distance->ratio)) {
    case Closeness::reference: return kReference;
    case Closeness::equal: return fmt::format("right within {} ({})", size, change);
    case Closeness::lost_in_noise:
      return fmt::format("not distinguishable from the reference in the noise here ({})", change);
    case Closeness::apart: break;
  }
  if (std::abs(distance->time.value()) <= uncertainty.value()) {
    return fmt::format("right within its known uncertainty: {} ({}) of ± {}", size, change,
                       size_text(uncertainty));
  }
  return fmt::format("off by {} ({}), while its repetitions spread by {}", size, change,
                     percent_text(reading.range()));
}

std::string compared_with(const MethodComparison& comparison, const MethodReading& reading, const char* id,
                          const std::string& words) {
  const MethodReading* other = find_reading(comparison, id);
  if (other == nullptr) return {};
  const double ratio = (reading.time() - other->time()) / other->time();
  if (std::abs(ratio) <= kHardlyMatters || middle_halves_overlap(reading, *other)) {
    return fmt::format("no different from the {} time here ({})", words, change_text(ratio));
  }
  return fmt::format("against the {} time: {}", words, change_text(ratio));
}

}  // namespace

std::string wall_without_wait(const MethodComparison& comparison, const MethodReading& reading) {
  if (!comparison.launches_return_early) {
    return adds(comparison, reading, "the host's work around a launch (which waits here by itself)");
  }
  const auto distance = distance_from_reference(comparison, reading);
  std::string text =
      fmt::format("reads the host's launch cost, not the kernel: {} each", size_text(reading.time()));
  // Within a quarter a reader could mistake one for the other.
  if (distance && std::abs(distance->ratio) < 0.25) text += ", which comes near the kernel's time by chance";
  return text;
}

std::string wall_with_wait(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(comparison, reading, "launching and waiting");
}

std::string events_empty_queue(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(comparison, reading,
              comparison.launches_return_early ? "event overhead and waiting for the host's launch"
                                               : "two readings of the clock");
}

std::string events_without_warm_up(const MethodComparison& comparison, const MethodReading& reading) {
  const std::string first =
      fmt::format("; the first call of this process took {}", size_text(comparison.first_call));
  return adds(comparison, reading, "what the first launches after an idle cost more") + first;
}

std::string events_behind_gate(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(comparison, reading, "event overhead");
}

std::string events_less_constant(const MethodComparison& comparison, const MethodReading& reading) {
  return corrected(comparison, reading, comparison.calibration.events.uncertainty);
}

std::string cold(const MethodComparison& comparison, const MethodReading& reading) {
  const std::string change = compared_with(comparison, reading, "events_less_constant", "warm");
  const std::string text = "not wrong, but another condition: no operand cached, other lines clean";
  return change.empty() ? text : text + "; " + change;
}

std::string dirty(const MethodComparison& comparison, const MethodReading& reading) {
  const std::string change = compared_with(comparison, reading, "cold", "cold");
  const std::string text = "a flush by memset: its lines are written back while the operation runs";
  return change.empty() ? text : text + "; " + change;
}

std::string graph_total(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(
      comparison, reading,
      fmt::format("one part in {} of the start and end of a graph, and node gaps", comparison.launches));
}

std::string graph_slope(const MethodComparison& comparison, const MethodReading& reading) {
  return corrected(comparison, reading, comparison.calibration.graph.uncertainty);
}

std::string cupti(const MethodComparison&, const MethodReading&) {
  return "the reference: from a kernel's start to its end, as the GPU records them; tracing slows "
         "everything else, so it ran in another process";
}

}  // namespace jitterscope::method_sentences
