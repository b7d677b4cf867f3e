#include <algorithm>
#include <deque>

#include "measure/estimate.hpp"
#include "measure/measuring_loops.hpp"
#include "measure/schedule.hpp"
#include "measure/steadiness.hpp"

namespace jitterscope {
namespace {

// A power cap was seen to set in 0.4 s after the load began; nothing shorter can be called settled.
constexpr Nanoseconds kFirstCheckpoint = seconds(1);
// Where most of the time is not the operation's own (short launches, each behind an eviction), that second of
// its own does not come within the limit. The load acts on the clock all the same, and the tests of the two
// quarters ask for as much: then the first look is after half the limit, so that two more fit into it.
constexpr double kFirstLookWithin = 0.5;
constexpr double kCheckpointGrowth = 1.3;
constexpr int kPassesNeeded = 2;
constexpr std::size_t kRoundsInFlight = 2;

class SustainedLoop {
 public:
  SustainedLoop(Device& device, Queue& queue, OpenMeasurement& one, const MeasureOptions& options)
      : device_(device),
        queue_(queue),
        measurement_(one),
        options_(options),
        slowdown_temperature_(device.describe().slowdown_temperature),
        epoch_(device.host_time()),
        latest_look_(std::max(kFirstCheckpoint, options.sustained_time_limit * kFirstLookWithin)),
        settled_(options.warm_up ? std::nullopt : std::optional<std::size_t>(0)) {}

  void run() {
    measurement_.runner.condition();
    StopReason reason = StopReason::precision;
    while (true) {
      if (is_interrupted(options_)) {
        reason = StopReason::interrupted;
        break;
      }
      // One round at least: filling or evicting a large cache alone may take all of a short limit.
      const bool has_one = !pending_.empty() || !rounds().empty();
      if (has_one && elapsed() >= options_.sustained_time_limit) {
        reason = StopReason::time_limit;
        break;
      }
      run_one_round();
      look();
      if (settled_ && is_precise()) break;
    }
    while (!pending_.empty()) finish_oldest();
    queue_.wait();
    conclude(reason);
  }

 private:
  Nanoseconds elapsed() { return device_.host_time() - epoch_; }
  std::vector<Round>& rounds() { return measurement_.measurement.rounds; }

  // A round that may not be gated has waited for itself; the others overlap with their predecessor, so that
  // the queue never runs empty while the host reads results.
  void run_one_round() {
    pending_.push_back(measurement_.runner.enqueue_round(epoch_));
    const std::size_t in_flight = measurement_.runner.timer().may_be_gated() ? kRoundsInFlight : 0;
    while (pending_.size() > in_flight) finish_oldest();
  }

  void finish_oldest() {
    Round round = measurement_.runner.finish_round(pending_.front());
    pending_.pop_front();
    round.sensors = device_.read_sensors();
    for (const Nanoseconds launch : round.launches) {
      watched_ += launch * static_cast<double>(round.launches_per_value);
    }
    rounds().push_back(std::move(round));
    report();
  }

  void look() {
    const Nanoseconds since_start = elapsed();
    if (settled_ || (watched_ < checkpoint_ && since_start < latest_look_)) return;
    checkpoint_ = std::max(kFirstCheckpoint, watched_ * kCheckpointGrowth);
    latest_look_ = std::max(latest_look_, since_start * kCheckpointGrowth);
    const auto since = settled_since(rounds(), slowdown_temperature_);
    passes_ = since ? passes_ + 1 : 0;
    if (passes_ >= kPassesNeeded) settled_ = since;
  }

  // Looking costs a sort of all settled rounds: once for each 5 % more of them.
  bool is_precise() {
    const std::size_t count = rounds().size() - *settled_;
    if (count < static_cast<std::size_t>(options_.minimum_rounds) || count < next_look_) return false;
    next_look_ = count + 1 + count / 20;
    Measurement& measurement = measurement_.measurement;
    summarise(measurement, *settled_);
    // No number of rounds shows what another process, in other memory, would add.
    return measurement.repeatability.precision() <= options_.precision;
  }

  void conclude(StopReason reason) {
    Measurement& measurement = measurement_.measurement;
    measurement.stop_reason = reason;
    measurement.duration = elapsed();
    if (rounds().empty()) return;
    // Unsettled: the last quarter is what comes nearest, and the verdict says that it is no steady state.
    const std::size_t first = settled_.value_or(rounds().size() * 3 / 4);
    if (options_.warm_up) {
      Steadiness steadiness;
      steadiness.verdict =
          settled_ ? Steadiness::Verdict::steady : why_not_steady(rounds(), slowdown_temperature_);
      steadiness.watched = watched_;
      steadiness.settled_round = first;
      steadiness.settled_after = rounds()[first].started;
      measurement.steadiness = steadiness;
    }
    summarise(measurement, first);
  }

  void report() {
    if (!options_.progress) return;
    Progress progress;
    progress.operation = measurement_.name;
    progress.conditions = measurement_.measurement.conditions;
    progress.rounds = std::ssize(rounds());
    progress.median = rounds().back().time();
    progress.precision = measurement_.measurement.time.precision();
    progress.clock = rounds().back().clock;
    progress.time_left = std::max(options_.sustained_time_limit - elapsed(), Nanoseconds(0));
    options_.progress(progress);
  }

  Device& device_;
  Queue& queue_;
  OpenMeasurement& measurement_;
  const MeasureOptions& options_;
  std::optional<Celsius> slowdown_temperature_;
  Nanoseconds epoch_;
  std::deque<RoundRunner::Pending> pending_;
  Nanoseconds watched_;
  Nanoseconds checkpoint_ = kFirstCheckpoint;  ///< of the operation's own time
  Nanoseconds latest_look_;                    ///< since the start
  int passes_ = 0;
  std::optional<std::size_t> settled_;
  std::size_t next_look_ = 0;
};

}  // namespace

void measure_sustained(Device& device, Queue& queue, OpenMeasurement& one, const MeasureOptions& options) {
  SustainedLoop(device, queue, one, options).run();
}

}  // namespace jitterscope
