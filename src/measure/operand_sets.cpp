#include "measure/operand_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <numeric>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/launch_details.hpp"
#include "measure/schedule.hpp"
#include "operation/operation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// Each set is a prepared operation of its own: this many take seconds if no plan has to be built.
constexpr std::int64_t kMostSets = 4096;
// The rest is for workspaces and for other programs.
constexpr double kShareOfMemory = 0.75;

UsageError refused(const Operation& operation, const std::string& reason) {
  return UsageError(fmt::format("fresh data for {}: {}", operation.text(), reason));
}

// Returns the placement, or nullopt if the driver chooses. The seed is used if placements change later.
std::optional<std::uint64_t> placement_of(const MeasureOptions& options) {
  if (!options.placement) return options.seed;
  return *options.placement > 0 ? std::optional(static_cast<std::uint64_t>(*options.placement))
                                : std::nullopt;
}

}  // namespace

std::size_t sets_for_fresh_data(const DeviceDescription& device, const Operation& operation) {
  constexpr std::int64_t kCaches = 3;
  const Bytes cache = device.last_level_cache, moved = operation.bytes();
  if (cache.value() <= 0 || moved.value() <= 0) {
    throw refused(
        operation,
        "the device does not say how large its last-level cache is, or the operation moves no data; "
        "leave --fresh-data out, or measure with --cache cold");
  }
  const std::int64_t between = (kCaches * cache.value() + moved.value() - 1) / moved.value();
  const std::int64_t sets = between + 1;
  if (sets > kMostSets) {
    throw refused(operation,
                  fmt::format("{} sets of {} would be needed to outgrow the cache of {} {} times, and {} are "
                              "made at most; take a larger operation, or measure with --cache cold",
                              sets, bytes_text(moved), bytes_text(cache), kCaches, kMostSets));
  }
  const double needed = static_cast<double>(operand_memory(operation).value()) * static_cast<double>(sets);
  if (needed > kShareOfMemory * static_cast<double>(device.memory_free.value())) {
    throw refused(
        operation,
        fmt::format("its {} sets of operands need {}, and {} of memory are free, of which a quarter is left "
                    "to others; take a smaller operation, or measure with --cache cold",
                    sets, bytes_text(Bytes(static_cast<std::int64_t>(needed))),
                    bytes_text(device.memory_free)));
  }
  return static_cast<std::size_t>(sets);
}

RotatingWorkload prepare_sets(Device& device, const Operation& operation, const MeasureOptions& options,
                              std::size_t launches) {
  const std::size_t wanted = options.fresh_data ? sets_for_fresh_data(device.describe(), operation) : 1;
  const std::size_t sets = std::clamp<std::size_t>(launches, 1, wanted);
  std::vector<std::unique_ptr<PreparedOperation>> prepared;
  for (std::size_t i = 0; i < sets; ++i) {
    InputData data{.kind = options.data, .seed = options.seed + i};
    // With another set for each launch, each launch already has another place.
    if (!options.fresh_data) data.placement = placement_of(options);
    prepared.push_back(device.prepare(operation, data));
  }
  return RotatingWorkload(std::move(prepared));
}

namespace {

// The clock is read after launches 1, 2, 4, 8…, because most changes come early.
bool reads_clock(std::int64_t launch) { return (launch & (launch - 1)) == 0; }

class IterationLoop {
 public:
  IterationLoop(Session& session, Workload& workload, std::int64_t count,
                const std::function<bool()>& interrupted)
      : device_(session.device()),
        queue_(session.queue()),
        workload_(workload),
        wanted_(count),
        interrupted_(interrupted),
        constant_(session.calibration().events.value) {}

  IterationRun run() {
    const SensorReading before = device_.read_sensors();
    const Nanoseconds start = device_.host_time();
    stamp_clock();
    while (run_.count < wanted_ && !(run_.count > 0 && interrupted_ && interrupted_())) {
      launch();
      if (reads_clock(run_.count)) stamp_clock();
      if (pending_.size() == kMostPending) read_times(kMostPending / 2);
    }
    if (stamps_.back().launch != run_.count) stamp_clock();
    queue_.wait();
    run_.host_time = (device_.host_time() - start) / static_cast<double>(run_.count);
    read_times(pending_.size());
    read_clocks();
    note_throttling(before, device_.read_sensors());
    summarise_times();
    return run_;
  }

 private:
  struct Pair {
    Mark start, end;
  };
  struct Stamp {
    std::int64_t launch = 0;  // number of launches before it
    ClockStamp stamp;
  };
  // Marks live in a ring. Before it is full, its older half is read while the queue works at the newer one: a
  // benchmark does not wait in its loop, and a queue that ran dry would show the host's time instead of the
  // device's.
  static constexpr std::size_t kMostPending = Queue::kRingSize / 4;

  void launch() {
    const Mark start = queue_.mark();
    const Nanoseconds called = device_.host_time();
    queue_.launch(workload_);
    if (run_.count == 0) run_.first_launch_call = device_.host_time() - called;
    pending_.push_back({start, queue_.mark()});
    ++run_.count;
  }

  void stamp_clock() { stamps_.push_back({run_.count, queue_.stamp_clock()}); }

  void read_times(std::size_t oldest) {
    if (oldest == 0) return;
    queue_.wait_for(pending_[oldest - 1].end);
    for (std::size_t i = 0; i < oldest; ++i, pending_.pop_front()) {
      const Nanoseconds elapsed = queue_.elapsed(pending_.front().start, pending_.front().end);
      times_.push_back(std::max(0.0, (elapsed - constant_).value()));
    }
  }

  void read_clocks() {
    for (std::size_t i = 1; i < stamps_.size(); ++i) {
      if (const auto clock = queue_.clock_between(stamps_[i - 1].stamp, stamps_[i].stamp))
        run_.clocks.push_back({stamps_[i].launch, clock->frequency});
    }
  }

  void note_throttling(const SensorReading& before, const SensorReading& after) {
    const auto growth = [](const std::optional<Nanoseconds>& from, const std::optional<Nanoseconds>& to) {
      return from && to ? std::optional(*to - *from) : std::nullopt;
    };
    run_.throttled_power = growth(before.throttled_power, after.throttled_power);
    run_.throttled_thermal = growth(before.throttled_thermal, after.throttled_thermal);
  }

  void summarise_times() {
    const auto [minimum, maximum] = std::minmax_element(times_.begin(), times_.end());
    run_.first = Nanoseconds(times_.front());
    run_.minimum = Nanoseconds(*minimum);
    run_.maximum = Nanoseconds(*maximum);
    run_.mean =
        Nanoseconds(std::accumulate(times_.begin(), times_.end(), 0.0) / static_cast<double>(times_.size()));
    run_.median = Nanoseconds(statistics::median(times_));
  }

  Device& device_;
  Queue& queue_;
  Workload& workload_;
  std::int64_t wanted_;
  const std::function<bool()>& interrupted_;
  Nanoseconds constant_;
  std::vector<Stamp> stamps_;
  std::deque<Pair> pending_;
  std::vector<double> times_;
  IterationRun run_;
};

}  // namespace

std::vector<IterationRun> run_iterations(Session& session, const Operation& operation,
                                         const MeasureOptions& options) {
  std::vector<IterationRun> runs;
  for (const std::int64_t count : options.iterations) {
    if (is_interrupted(options)) break;
    RotatingWorkload workload =
        prepare_sets(session.device(), operation, options, static_cast<std::size_t>(count));
    session.queue().wait();
    session.device().idle(kIterationRest);
    runs.push_back(IterationLoop(session, workload, count, options.interrupted).run());
  }
  return runs;
}

}  // namespace jitterscope
