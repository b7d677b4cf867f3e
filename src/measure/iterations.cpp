#include "measure/iterations.hpp"

#include <algorithm>
#include <numeric>

#include "measure/operand_sets.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The clock is read behind the launches 1, 2, 4, 8…: most happens early.
bool reads_clock(std::int64_t launch) { return (launch & (launch - 1)) == 0; }

class IterationLoop {
 public:
  IterationLoop(Session& session, Workload& prepared, std::int64_t count)
      : device_(session.device()),
        queue_(session.queue()),
        prepared_(prepared),
        constant_(session.calibration().events.value) {
    run_.count = count;
  }

  IterationRun run() {
    const SensorReading before = device_.read_sensors();
    const Nanoseconds start = device_.host_time();
    stamp_ = queue_.stamp_clock();
    launch();
    queue_.wait();
    run_.first_on_host = device_.host_time() - start;
    read_clock(1);
    for (std::int64_t i = 2; i <= run_.count; ++i) {
      launch();
      // Marks live in a ring: what a full queue holds is read before its slots are used again.
      const bool ring_is_full = pending_.size() >= Queue::kRingSize / 4;
      if (!ring_is_full && !reads_clock(i) && i != run_.count) continue;
      queue_.wait();
      read_times();
      if (reads_clock(i) || i == run_.count) read_clock(i);
    }
    run_.host_time = (device_.host_time() - start) / static_cast<double>(run_.count);
    read_times();
    note_throttling(before, device_.read_sensors());
    summarise_times();
    return run_;
  }

 private:
  struct Pair {
    Mark start, end;
  };

  void launch() {
    const Mark start = queue_.mark();
    queue_.launch(prepared_);
    pending_.push_back({start, queue_.mark()});
  }

  void read_times() {
    for (const Pair& pair : pending_) {
      times_.push_back(std::max(0.0, (queue_.elapsed(pair.start, pair.end) - constant_).value()));
    }
    pending_.clear();
  }

  void read_clock(std::int64_t launch) {
    const ClockStamp now = queue_.stamp_clock();
    queue_.wait();
    if (const auto clock = queue_.clock_between(stamp_, now))
      run_.clocks.push_back({launch, clock->frequency});
    stamp_ = queue_.stamp_clock();
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
  Workload& prepared_;
  Nanoseconds constant_;
  ClockStamp stamp_;
  std::vector<Pair> pending_;
  std::vector<double> times_;
  IterationRun run_;
};

}  // namespace

std::vector<IterationRun> run_iterations(Session& session, const Operation& operation,
                                         const MeasureOptions& options) {
  std::vector<IterationRun> runs;
  for (const std::int64_t count : options.iterations) {
    if (options.interrupted && options.interrupted()) break;
    RotatingWorkload workload =
        prepare_sets(session.device(), operation, options, static_cast<std::size_t>(count));
    session.queue().wait();
    session.device().idle(kIterationRest);
    runs.push_back(IterationLoop(session, workload, count).run());
  }
  return runs;
}

}  // namespace jitterscope
