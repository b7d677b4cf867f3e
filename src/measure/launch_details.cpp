#include "measure/launch_details.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "measure/operand_sets.hpp"
#include "measure/round_timer.hpp"
#include "measure/trials.hpp"
#include "operation/kinds_collective.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// Returns the error instead of throwing it, so that it does not cost the times. Only here does a device find
// out that a counter's name is unknown.
template <class Step>
std::optional<Shortfall> shortfall_of(const Step& step) {
  try {
    step();
  } catch (const InterruptedError&) {
    throw;
  } catch (const Error& error) {
    return Shortfall{error.exit_code(), error.what()};
  }
  return std::nullopt;
}

// Throws MissingError, after all processes have said whether they can: none launches what another does not.
void require_tracers(Session& session) {
  if (!session.decisions().are_shared()) return;
  std::string missing;
  try {
    session.device().trace_kernels();
  } catch (const Error& error) {
    missing = error.what();
  }
  if (session.decisions().of_all(Question::can_trace, missing.empty())) return;
  throw MissingError(missing.empty() ? "another process in step cannot trace its device's kernels" : missing);
}

void trace(Session& session, Workload& workload, const MeasureOptions& options, Result& result) {
  require_tracers(session);
  const bool is_held = options.queue != QueueMode::eager && !result.waits_for_device;
  TracedWork traced = trace_launch(session.device(), session.queue(), workload,
                                   is_held ? Holding::possible : Holding::impossible);
  result.kernels = std::move(traced.kernels);
  result.concurrency = traced.concurrency;
}

}  // namespace

void add_launch_details(Session& session, Workload& workload, const MeasureOptions& options, Result& result) {
  Device& device = session.device();
  if (options.kernels) {
    result.without_kernels = shortfall_of([&] { trace(session, workload, options, result); });
  }
  if (!options.counters) return;
  // After the tracer, since the profiler's hooks may slow what runs beside them.
  result.without_counters = shortfall_of([&] {
    const Operation* operation = operation_of(result.subject);
    if (operation != nullptr && has_collective(*operation)) {
      throw UsageError(
          "counters take several passes of a launch, and a collective would wait in each for the other ranks: "
          "leave them out");
    }
    result.counters =
        count_launch(device, session.queue(), workload, *options.counters, timed_caches(result));
  });
}

void add_kernels(Session& session, const Operation& operation, const MeasureOptions& options,
                 Result& result) {
  result.without_kernels = shortfall_of([&] {
    RotatingWorkload workload = prepare_sets(session.device(), operation, options, kAnyNumberOfLaunches);
    trace(session, workload, options, result);
  });
}

namespace {

// Launches that do not wait are enqueued within a few milliseconds.
constexpr Nanoseconds kPatience = milliseconds(500);

class FirstLaunches {
 public:
  FirstLaunches(Device& device, Queue& queue, Workload& workload)
      : device_(device), queue_(queue), workload_(workload) {}

  Nanoseconds launch_and_wait() {
    const Nanoseconds start = device_.host_time();
    queue_.launch(workload_);
    queue_.wait();
    return device_.host_time() - start;
  }

  // Returns false if the queue was released by its time limit before all was launched.
  bool launch_behind_hold(std::size_t launches, Nanoseconds limit) {
    const HoldLimit limited(queue_, limit);
    QueueHold hold(queue_);
    try {
      hold.begin();
      launch(launches);
      hold.release();
      queue_.wait();
    } catch (const HoldTimeoutError&) {
      return false;
    }
    return true;
  }

  void launch_without_hold(std::size_t launches) {
    launch(launches);
    queue_.wait();
  }

  Nanoseconds cost() const { return Nanoseconds(statistics::median(costs_)); }
  Nanoseconds time() const {
    std::vector<double> times;
    for (std::size_t i = 1; i < marks_.size(); ++i)
      times.push_back(queue_.elapsed(marks_[i - 1], marks_[i]).value());
    return Nanoseconds(statistics::median(times));
  }

 private:
  void launch(std::size_t launches) {
    marks_ = {queue_.mark()};
    costs_.clear();
    for (std::size_t i = 0; i < launches; ++i) {
      const Nanoseconds before = device_.host_time();
      queue_.launch(workload_);
      costs_.push_back((device_.host_time() - before).value());
      marks_.push_back(queue_.mark());
    }
  }

  Device& device_;
  Queue& queue_;
  Workload& workload_;
  std::vector<Mark> marks_;
  std::vector<double> costs_;
};

// A launch that waits keeps the host until the held queue's time limit, each time. One that loads a kernel,
// tunes or allocates does so only once, and one on a slow host returns in the end. So a single launch is
// tried several times, each time after one into an open queue.
bool waits_for_queue(FirstLaunches& launches, Decisions& decisions) {
  constexpr int kTries = 3;
  constexpr Nanoseconds kShortPatience = milliseconds(200);
  for (int i = 0; i < kTries; ++i) {
    const Nanoseconds without_hold = launches.launch_and_wait();
    const bool was_held = launches.launch_behind_hold(1, std::max(kShortPatience, without_hold * 4.0));
    if (decisions.of_all(Question::was_held, was_held)) return false;
  }
  return true;
}

}  // namespace

FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant,
                          Decisions& decisions) {
  FirstLaunches launches(device, queue, workload);
  FirstCall first;
  first.time = launches.launch_and_wait();

  // The second launch alone tells whether more are affordable: a CPU's convolution may take a second.
  constexpr Nanoseconds kLong = milliseconds(5);
  const std::size_t more = decisions.of_all(Question::is_long, first.time > kLong) ? 2 : 8;
  first.waits_for_queue = decisions.of_all(Question::launches_wait, workload.waits_for_queue());
  if (!first.waits_for_queue) {
    const bool was_held = launches.launch_behind_hold(more, kPatience);
    if (!decisions.of_all(Question::was_held, was_held)) {
      first.waits_for_queue = waits_for_queue(launches, decisions);
    }
  }
  if (first.waits_for_queue) launches.launch_without_hold(more);
  first.launch_cost = launches.cost();
  first.launch_time = std::max(Nanoseconds(1), launches.time() - events_constant);
  return first;
}

FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant) {
  LocalDecisions decisions;
  return make_first_call(device, queue, workload, events_constant, decisions);
}

namespace {

// The reference of PyTorch's kernel times has as many launches.
constexpr std::size_t kLaunches = 12;

std::vector<KernelsOfLaunch> trace_back_to_back(Device& device, Queue& queue, Workload& workload) {
  constexpr int kWarmingLaunches = 3;
  queue.launch_in_a_row(workload, kWarmingLaunches);
  queue.wait();
  const std::unique_ptr<KernelTracer> tracer = device.trace_kernels();
  for (std::size_t i = 0; i < kLaunches; ++i) launch_traced(*tracer, queue, workload, i);
  queue.wait();
  return kernels_by_launch(tracer->stop(), kLaunches);
}

// Holds the queue for each launch: one launch fits if any does.
std::vector<KernelsOfLaunch> trace_behind_holds(Device& device, Queue& queue, Workload& workload) {
  const std::unique_ptr<KernelTracer> tracer = device.trace_kernels();
  for (std::size_t i = 0; i < kLaunches; ++i) {
    QueueHold hold(queue);
    hold.begin();
    launch_traced(*tracer, queue, workload, i);
    hold.release();
    queue.wait();
  }
  return kernels_by_launch(tracer->stop(), kLaunches);
}

}  // namespace

TracedWork trace_launch(Device& device, Queue& queue, Workload& workload, Holding holding) {
  const std::vector<KernelsOfLaunch> launches = trace_back_to_back(device, queue, workload);
  TracedWork traced{summarise_kernels(launches), median_concurrency(launches)};
  if (holding == Holding::possible && traced.concurrency && traced.concurrency->streams > 1) {
    traced.concurrency = median_concurrency(trace_behind_holds(device, queue, workload));
  }
  return traced;
}

std::vector<LaunchKernel> summarise_kernels(const std::vector<KernelsOfLaunch>& launches) {
  if (launches.empty()) return {};
  require_equal_launches(launches);
  const KernelsOfLaunch& first = launches.front();
  std::vector<std::vector<double>> times(first.size());
  for (const KernelsOfLaunch& launch : launches) {
    const KernelsOfLaunch kernels = in_order_of(first, launch);
    for (std::size_t i = 0; i < first.size(); ++i)
      times[i].push_back((kernels[i].end - kernels[i].start).value());
  }
  std::vector<LaunchKernel> kernels;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto [minimum, maximum] = std::ranges::minmax_element(times[i]);
    kernels.push_back({first[i].name, Nanoseconds(statistics::median(times[i])), Nanoseconds(*minimum),
                       Nanoseconds(*maximum)});
  }
  return kernels;
}

namespace {

// A time, and the change in the number of running kernels.
using Change = std::pair<Nanoseconds, int>;

// Returns them in order of time. If one kernel ends as another starts, the end comes first: no overlap.
std::vector<Change> changes_of(const KernelsOfLaunch& kernels) {
  std::vector<Change> changes;
  for (const KernelTime& kernel : kernels) {
    if (kernel.end <= kernel.start) continue;
    changes.emplace_back(kernel.start, 1);
    changes.emplace_back(kernel.end, -1);
  }
  std::ranges::sort(changes);
  return changes;
}

std::int64_t median_count(const std::vector<double>& counts) {
  return std::llround(statistics::median(counts));
}

}  // namespace

std::optional<KernelConcurrency> concurrency_of(const KernelsOfLaunch& kernels) {
  const std::vector<Change> changes = changes_of(kernels);
  if (changes.empty()) return std::nullopt;
  std::set<std::uint32_t> streams;
  Nanoseconds all;
  for (const KernelTime& kernel : kernels) {
    if (kernel.end <= kernel.start) continue;
    streams.insert(kernel.stream);
    all += kernel.end - kernel.start;
  }
  std::int64_t running = 0, most = 0;
  Nanoseconds any_ran, last;
  for (const auto& [time, change] : changes) {
    if (running > 0) any_ran += time - last;
    running += change;
    most = std::max(most, running);
    last = time;
  }
  return KernelConcurrency{std::ssize(streams), most, std::max(1.0, all / any_ran)};
}

std::optional<KernelConcurrency> median_concurrency(const std::vector<KernelsOfLaunch>& launches) {
  std::vector<double> streams, most, mean;
  for (const KernelsOfLaunch& launch : launches) {
    const auto own = concurrency_of(launch);
    if (!own) continue;
    streams.push_back(static_cast<double>(own->streams));
    most.push_back(static_cast<double>(own->most_at_once));
    mean.push_back(own->mean_at_once);
  }
  if (mean.empty()) return std::nullopt;
  return KernelConcurrency{median_count(streams), median_count(most), statistics::median(mean)};
}

namespace {

// Returns the launch's kernels in the order of `order`, matched by key; kernels with equal keys keep their
// order. nullopt if keys are missing.
template <class KeyOf>
std::optional<KernelsOfLaunch> matched(const KernelsOfLaunch& order, const KernelsOfLaunch& launch,
                                       const KeyOf& key_of) {
  std::map<decltype(key_of(order.front())), std::deque<const KernelTime*>> left;
  for (const KernelTime& kernel : launch) left[key_of(kernel)].push_back(&kernel);
  KernelsOfLaunch kernels;
  for (const KernelTime& wanted : order) {
    const auto found = left.find(key_of(wanted));
    if (found == left.end() || found->second.empty()) return std::nullopt;
    kernels.push_back(*found->second.front());
    found->second.pop_front();
  }
  return kernels;
}

}  // namespace

void launch_traced(KernelTracer& tracer, Queue& queue, Workload& workload, std::size_t number) {
  tracer.begin_launch(number);
  queue.launch(workload);
  tracer.end_launch();
}

std::vector<KernelsOfLaunch> kernels_by_launch(const std::vector<KernelTime>& traced, std::size_t launches) {
  std::vector<KernelsOfLaunch> kernels(launches);
  for (const KernelTime& kernel : traced) {
    if (kernel.launch && *kernel.launch < launches) kernels[*kernel.launch].push_back(kernel);
  }
  return kernels;
}

void require_equal_launches(const std::vector<KernelsOfLaunch>& launches) {
  for (const KernelsOfLaunch& launch : launches) {
    if (launch.size() == launches.front().size()) continue;
    throw FailedError(fmt::format(
        "the tracer reported {} kernels for one launch and {} for another: records were lost, or the "
        "work differs from launch to launch; run it again",
        launches.front().size(), launch.size()));
  }
}

KernelsOfLaunch in_order_of(const KernelsOfLaunch& order, const KernelsOfLaunch& launch) {
  const auto stream_and_name = [](const KernelTime& kernel) { return std::pair(kernel.stream, kernel.name); };
  if (auto kernels = matched(order, launch, stream_and_name)) return *std::move(kernels);
  // A graph's nodes may run on other streams at each replay.
  const auto name = [](const KernelTime& kernel) { return kernel.name; };
  if (auto kernels = matched(order, launch, name)) return *std::move(kernels);
  return launch;
}

Nanoseconds time_of(const KernelsOfLaunch& kernels) {
  if (kernels.empty()) return Nanoseconds(0);
  const auto last = std::ranges::max_element(kernels, {}, &KernelTime::end);
  return last->end - kernels.front().start;
}

std::vector<LaunchCounters> count_launch(Device& device, Queue& queue, Workload& workload,
                                         const std::vector<std::string>& names,
                                         const std::vector<CacheState>& caches) {
  // As many as before timed launches, so that nothing that the pass itself left stays in the caches.
  constexpr int kConditioningLaunches = 2;
  if (caches.empty()) return {};
  const std::unique_ptr<CounterReader> reader = device.count(names);
  std::vector<LaunchCounters> counters;
  for (const CacheState cache : caches) {
    const auto prepare = [&] {
      queue.launch_in_a_row(workload, kConditioningLaunches);
      queue.set_cache(cache, workload);
      queue.wait();
    };
    const auto launch = [&] {
      queue.launch(workload);
      queue.wait();
    };
    counters.push_back({cache, reader->read(prepare, launch)});
  }
  return counters;
}

std::vector<CacheState> timed_caches(const Result& result) {
  std::vector<CacheState> caches;
  for (const Measurement& measurement : result.measurements) {
    const CacheState cache = measurement.conditions.cache;
    if (std::ranges::find(caches, cache) == caches.end()) caches.push_back(cache);
  }
  return caches;
}

}  // namespace jitterscope
