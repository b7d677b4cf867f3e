#include "finding/finding.hpp"

#include <array>

#include "finding/detectors.hpp"

namespace jitterscope {
namespace {

// In the order of the list that people read: what moves the time most comes first.
constexpr std::array<Detector, 19> kDetectors = {find_only_moved,
                                                 find_iteration_count,
                                                 find_engine_ignored,
                                                 find_no_steady_state,
                                                 find_power_cap,
                                                 find_sustained_differs,
                                                 find_thermal,
                                                 find_drift,
                                                 find_idle_ramp,
                                                 find_device_taken,
                                                 find_bimodal,
                                                 find_imprecise,
                                                 find_zeros,
                                                 find_timer_grain,
                                                 find_instrument,
                                                 find_launch_bound,
                                                 find_pageable,
                                                 find_waits_for_gpu,
                                                 find_clock_below_maximum};
constexpr std::array<MachineDetector, 3> kMachineDetectors = {find_other_process, find_other_cudnn,
                                                              find_cold_not_proven};

void append(std::vector<Finding>& all, std::vector<Finding> found) {
  for (Finding& finding : found) all.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> find_all(const Result& result, const FindingContext& context) {
  std::vector<Finding> all;
  for (const Detector detector : kDetectors) append(all, detector(result, context));
  return all;
}

std::vector<Finding> machine_findings(const FindingContext& context) {
  std::vector<Finding> all;
  for (const MachineDetector detector : kMachineDetectors) append(all, detector(context));
  return all;
}

}  // namespace jitterscope
