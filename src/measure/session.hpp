// What the instruments add to a time, measured on kernels of several lengths and sizes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measure.hpp"
#include "measure/decisions.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// The kernels that both instruments read: empty and spinning ones, on one block, on one for each
/// processor, and on eight for each (a CPU has one block).
std::vector<Operation> calibration_operations(const DeviceDescription& device);

/// Reads every kernel by both instruments. The slope is taken as it is: on an H200 it lay within 0.03 us of
/// CUPTI's kernel time for spin kernels on 132 and 1,056 blocks, and 0.07 us below it on one block. The
/// events' constant is their distance from the slope.
Calibration calibrate(Device& device, Queue& queue);

// What the measurements of one run share: a device, one queue, calibrated instruments.

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
  /// The same, where another decides how it measures.
  Session(Device& device, Decisions& decisions) : Session(device) { decisions_ = &decisions; }
  /// On a stream that the caller owns, as Device::adopt_queue takes it.
  Session(Device& device, NativeQueue stream) : Session(device, device.adopt_queue(stream)) {}

  Device& device() { return device_; }
  Queue& queue() { return *queue_; }
  const Calibration& calibration() const { return calibration_; }
  Decisions& decisions() { return decisions_ == nullptr ? own_decisions_ : *decisions_; }

  /// Whether evicting evicts on this device: found out when it is asked for first (prove_cold).
  const CacheProof& cache_proof();

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
  LocalDecisions own_decisions_;
  Decisions* decisions_ = nullptr;  // another's
  std::optional<CacheProof> cache_proof_;
  Nanoseconds wake_ = {};               // for how long the clock is woken behind an idle, as found out so far
  ProcessVariation process_variation_;  // as is assumed where the options know none
};

}  // namespace jitterscope
