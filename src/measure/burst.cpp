#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "measure/estimate.hpp"
#include "measure/loads.hpp"

namespace jitterscope {
namespace {

bool is_interrupted(const MeasureOptions& options) { return options.interrupted && options.interrupted(); }

bool is_precise(const Measurement& measurement, const MeasureOptions& options) {
  if (std::ssize(measurement.rounds) < options.minimum_rounds) return false;
  std::vector<double> times;
  for (const Round& round : measurement.rounds) times.push_back(round.time().value());
  return may_stop(times, options.precision);
}

void report(const MeasuredArm& arm, const std::string& name, const MeasureOptions& options,
            Nanoseconds left) {
  if (!options.progress) return;
  const TimeEstimate time = estimate_time(arm.measurement.rounds);
  Progress progress;
  progress.operation = name;
  progress.conditions = arm.measurement.conditions;
  progress.rounds = time.rounds;
  progress.median = time.median;
  progress.precision = time.precision();
  progress.clock = arm.measurement.rounds.back().clock;
  progress.time_left = std::max(left, Nanoseconds(0));
  options.progress(progress);
}

// A launch that is longer than the time limit allows for the least number of rounds gets that number less
// only when the limit has passed twice over: an interval needs 6 rounds.
bool out_of_time(Nanoseconds elapsed, std::size_t visits, const MeasureOptions& options) {
  constexpr std::size_t kLeastRounds = 6;
  if (elapsed < options.time_limit) return false;
  return visits >= kLeastRounds || elapsed > options.time_limit * 2.0;
}

class BurstLoop {
 public:
  BurstLoop(Device& device, std::vector<MeasuredArm>& arms, const std::string& name,
            const MeasureOptions& options)
      : device_(device),
        arms_(arms),
        name_(name),
        options_(options),
        random_(options.seed),
        epoch_(device.host_time()) {}

  void run() {
    std::vector<MeasuredArm*> open;
    for (MeasuredArm& arm : arms_) open.push_back(&arm);
    for (std::size_t visits = 0; !open.empty(); ++visits) {
      if (is_interrupted(options_)) return close(open, StopReason::interrupted);
      if (out_of_time(elapsed(), visits, options_)) return close(open, StopReason::time_limit);
      visit(open);
      const auto precise = [&](MeasuredArm* arm) { return is_precise(arm->measurement, options_); };
      const auto rest =
          std::stable_partition(open.begin(), open.end(), [&](auto* arm) { return !precise(arm); });
      for (auto arm = rest; arm != open.end(); ++arm) close({*arm}, StopReason::precision);
      open.erase(rest, open.end());
    }
  }

 private:
  Nanoseconds elapsed() { return device_.host_time() - epoch_; }

  // One idle for all arms: it lets the chip rest, and its random length keeps rounds exchangeable. The
  // order is drawn anew each time, so that no arm always follows the same one.
  void visit(std::vector<MeasuredArm*>& open) {
    for (std::size_t i = open.size(); i > 1; --i) std::swap(open[i - 1], open[random_.below(i)]);
    Nanoseconds idle(random_.uniform(options_.shortest_idle.value(), options_.longest_idle.value()));
    for (MeasuredArm* arm : open) {
      if (is_interrupted(options_)) return;
      arm->measurement.rounds.push_back(arm->arm.run_gated_round(idle, epoch_));
      report(*arm, name_, options_, options_.time_limit - elapsed());
      idle = Nanoseconds(0);
    }
  }

  void close(const std::vector<MeasuredArm*>& arms, StopReason reason) {
    for (MeasuredArm* arm : arms) {
      arm->measurement.stop_reason = reason;
      arm->measurement.duration = elapsed();
      summarise(arm->measurement, 0);
    }
  }

  Device& device_;
  std::vector<MeasuredArm>& arms_;
  const std::string& name_;
  const MeasureOptions& options_;
  Random random_;
  Nanoseconds epoch_;
};

}  // namespace

void measure_burst(Device& device, std::vector<MeasuredArm>& arms, const std::string& name,
                   const MeasureOptions& options) {
  BurstLoop(device, arms, name, options).run();
}

}  // namespace jitterscope
