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

// What is still open of one operation.
struct OpenOperation {
  const std::string* name;
  std::vector<MeasuredArm*> arms;
  std::size_t visits = 0;
  Nanoseconds time = {};  // of its rounds and of the idles before them: what it would have taken alone
};

class BurstLoop {
 public:
  BurstLoop(Device& device, std::vector<MeasuredOperation>& operations, const MeasureOptions& options)
      : device_(device), options_(options), random_(options.seed), epoch_(device.host_time()) {
    for (MeasuredOperation& operation : operations) {
      open_.push_back({.name = &operation.name, .arms = {}});
      for (MeasuredArm& arm : operation.arms) open_.back().arms.push_back(&arm);
    }
  }

  void run() {
    while (true) {
      if (is_interrupted(options_)) return close_all(StopReason::interrupted);
      for (OpenOperation& operation : open_) {
        if (out_of_time(operation.time, operation.visits, options_)) close(operation, StopReason::time_limit);
      }
      std::erase_if(open_, [](const OpenOperation& operation) { return operation.arms.empty(); });
      if (open_.empty()) return;
      share_idle();
    }
  }

 private:
  // An idle lets the chip rest, and its random length keeps rounds exchangeable. As many operations share it
  // as keep the chip busy no longer than it rests on average. The order is drawn anew each time, the least
  // visited first, so that none always follows the same other.
  void share_idle() {
    shuffle(open_);
    std::ranges::stable_sort(open_, {}, &OpenOperation::visits);
    for (OpenOperation& operation : open_) shuffle(operation.arms);
    const Nanoseconds idle(random_.uniform(options_.shortest_idle.value(), options_.longest_idle.value()));
    const Nanoseconds mean_idle = (options_.shortest_idle + options_.longest_idle) / 2.0;
    const Nanoseconds end = device_.host_time() + idle + mean_idle;
    visit(open_.front(), idle);
    for (std::size_t i = 1; i < open_.size() && device_.host_time() < end; ++i) {
      if (is_interrupted(options_)) return;
      open_[i].time += idle;
      visit(open_[i], Nanoseconds(0));
    }
  }

  template <class Element>
  void shuffle(std::vector<Element>& elements) {
    for (std::size_t i = elements.size(); i > 1; --i) std::swap(elements[i - 1], elements[random_.below(i)]);
  }

  // A round of each open cache state behind the same idle.
  void visit(OpenOperation& operation, Nanoseconds idle) {
    const Nanoseconds start = device_.host_time() - operation.time;
    for (MeasuredArm* arm : operation.arms) {
      if (is_interrupted(options_)) break;
      arm->measurement.rounds.push_back(arm->arm.run_gated_round(idle, epoch_));
      operation.time = device_.host_time() - start;
      report(*arm, *operation.name, options_, options_.time_limit - operation.time);
      idle = Nanoseconds(0);
    }
    ++operation.visits;
    const auto is_open = [&](MeasuredArm* arm) { return !is_precise(arm->measurement, options_); };
    const auto precise = std::ranges::stable_partition(operation.arms, is_open);
    for (MeasuredArm* arm : precise) close(*arm, operation, StopReason::precision);
    operation.arms.erase(precise.begin(), precise.end());
  }

  void close(MeasuredArm& arm, const OpenOperation& operation, StopReason reason) {
    arm.measurement.stop_reason = reason;
    arm.measurement.duration = operation.time;
    summarise(arm.measurement, 0);
  }

  void close(OpenOperation& operation, StopReason reason) {
    for (MeasuredArm* arm : operation.arms) close(*arm, operation, reason);
    operation.arms.clear();
  }

  void close_all(StopReason reason) {
    for (OpenOperation& operation : open_) close(operation, reason);
  }

  Device& device_;
  const MeasureOptions& options_;
  Random random_;
  Nanoseconds epoch_;
  std::vector<OpenOperation> open_;
};

}  // namespace

void measure_burst(Device& device, std::vector<MeasuredOperation>& operations,
                   const MeasureOptions& options) {
  BurstLoop(device, operations, options).run();
}

}  // namespace jitterscope
