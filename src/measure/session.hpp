// What the measurements of one run share: a device, one queue, calibrated instruments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jitterscope/measure.hpp"
#include "measure/calibration.hpp"

namespace jitterscope {

/// What is timed, under which conditions.
struct SessionTrial {
  Workload& workload;
  std::string name;
  MeasureOptions options;  ///< its conditions; limits, seed, idles and listeners are those of the first trial
};
/// Trials that are timed beside each other: their rounds are paired where there are several.
using TrialGroup = std::vector<SessionTrial>;

class Session {
 public:
  /// Makes the queue and calibrates the instruments, about 0.2 s.
  explicit Session(Device& device) : Session(device, device.make_queue()) {}
  /// On a stream that the caller owns, as Device::adopt_queue takes it.
  Session(Device& device, NativeQueue stream) : Session(device, device.adopt_queue(stream)) {}

  Device& device() { return device_; }
  Queue& queue() { return *queue_; }
  const Calibration& calibration() const { return calibration_; }

  /// First call, launch cost, and all conditions that the options ask for. An interruption ends it early and
  /// keeps what there is.
  Result measure(Workload& workload, std::string name, const MeasureOptions& options);
  /// Several groups, which share the idles between their rounds in bursts; a result for each trial, in their
  /// order. All trials of a group have as many cache states, and all trials the same loads. What one of them
  /// throws ends all.
  std::vector<Result> measure(const std::vector<TrialGroup>& groups);

 private:
  Session(Device& device, std::unique_ptr<Queue> queue);

  Device& device_;
  std::unique_ptr<Queue> queue_;
  Calibration calibration_;
  Nanoseconds wake_ = {};               // for how long the clock is woken behind an idle, as found out so far
  ProcessVariation process_variation_;  // as is assumed where the options know none
};

}  // namespace jitterscope
