#include "measure/iterations.hpp"

#include <algorithm>
#include <deque>
#include <numeric>

#include "measure/operand_sets.hpp"
#include "measure/schedule.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The clock is read behind the launches 1, 2, 4, 8…: most happens early.
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
    std::int64_t launch = 0;  // behind so many
    ClockStamp stamp;
  };
  // Marks live in a ring. Before it is full, its older half is read, while the queue works at the newer one:
  // no program waits in its loop, and a queue that ran dry would show the host's time in place of the
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
