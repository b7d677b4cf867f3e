// Sessions measure trials on one device, with one queue and calibrated instruments.
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

/// Returns the kernels that both instruments read: empty and spinning ones, on one block, one per processor,
/// and eight per processor (a CPU has one block).
std::vector<Operation> calibration_operations(const DeviceDescription& device);

/// Reads every kernel with both instruments. The slope is used as it is: on an H200 it lay within 0.03 us of
/// CUPTI's kernel time for spin kernels on 132 and 1,056 blocks, and 0.07 us below it on one block. The
/// events' constant is their distance from the slope.
Calibration calibrate(Device& device, Queue& queue);

struct MeasuredGroup;

/// A workload that is timed, and its conditions.
struct SessionTrial {
  Workload& workload;
  std::string name;
  MeasureOptions options;  ///< its conditions; limits, seed, idles and callbacks are the first trial's
};
/// Trials that are visited together; if there are several, their rounds are paired.
using TrialGroup = std::vector<SessionTrial>;

class Session {
 public:
  /// Makes the queue and calibrates the instruments, about 0.2 s.
  explicit Session(Device& device) : Session(device, device.make_queue()) {}
  /// The same, but another object makes the decisions.
  Session(Device& device, Decisions& decisions) : Session(device) { decisions_ = &decisions; }
  /// Uses a stream that the caller owns, as Device::adopt_queue takes it.
  Session(Device& device, NativeQueue stream) : Session(device, device.adopt_queue(stream)) {}

  Device& device() { return device_; }
  Queue& queue() { return *queue_; }
  const Calibration& calibration() const { return calibration_; }
  Decisions& decisions() { return decisions_ == nullptr ? own_decisions_ : *decisions_; }

  /// Proves that eviction evicts on this device (prove_cold), at the first call only.
  const CacheProof& cache_proof();

  /// Measures first call, launch cost, and all conditions that the options ask for. An interruption ends it
  /// early and keeps the results so far.
  Result measure(Workload& workload, std::string name, const MeasureOptions& options);
  /// Measures several groups, which share the idles between their bursts; returns a result for each trial, in
  /// order. All trials of a group have equally many cache states, and all trials the same loads. An error in
  /// one trial ends all.
  std::vector<Result> measure(const std::vector<TrialGroup>& groups);

 private:
  Session(Device& device, std::unique_ptr<Queue> queue);
  void measure_load(Load load, const MeasureOptions& options, std::vector<MeasuredGroup>& groups);
  void begin_load();
  void rest_after_load();

  Device& device_;
  std::unique_ptr<Queue> queue_;
  Calibration calibration_;
  LocalDecisions own_decisions_;
  Decisions* decisions_ = nullptr;  // null: own_decisions_
  std::optional<CacheProof> cache_proof_;
  Nanoseconds wake_ = {};       // time for which the clock is woken after an idle, as found so far
  bool is_after_load_ = false;  // no rest since the last sustained load
  std::optional<Hertz> clock_before_loads_ = {};  // of a short kernel
  ProcessVariation process_variation_;            // assumed if the options give none
};

}  // namespace jitterscope
