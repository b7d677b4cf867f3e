// What the measurements of one run share: a device, one queue, calibrated instruments.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jitterscope/measure.hpp"
#include "measure/calibration.hpp"

namespace jitterscope {

struct NamedWorkload {
  Workload& workload;
  std::string name;
};

class Session {
 public:
  /// Makes the queue and calibrates the instruments, about 0.2 s.
  explicit Session(Device& device);

  Device& device() { return device_; }
  Queue& queue() { return *queue_; }
  const Calibration& calibration() const { return calibration_; }

  /// First call, launch cost, and all conditions that the options ask for. An interruption ends it early and
  /// keeps what there is.
  Result measure(Workload& workload, std::string name, const MeasureOptions& options);
  /// Several, which share the idles between their rounds in bursts. What one of them throws ends all.
  std::vector<Result> measure(const std::vector<NamedWorkload>& workloads, const MeasureOptions& options);

 private:
  Device& device_;
  std::unique_ptr<Queue> queue_;
  Calibration calibration_;
};

}  // namespace jitterscope
