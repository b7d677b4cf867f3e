// One detector for each cause; finding.cpp holds the tables that run them.
#pragma once

#include <vector>

#include "finding/finding.hpp"

namespace jitterscope {

using Detector = std::vector<Finding> (*)(const Result&, const FindingContext&);
using MachineDetector = std::vector<Finding> (*)(const FindingContext&);

std::vector<Finding> find_power_cap(const Result& result, const FindingContext& context);
std::vector<Finding> find_sustained_differs(const Result& result, const FindingContext& context);
std::vector<Finding> find_thermal(const Result& result, const FindingContext& context);
std::vector<Finding> find_clock_below_maximum(const Result& result, const FindingContext& context);
std::vector<Finding> find_idle_ramp(const Result& result, const FindingContext& context);
std::vector<Finding> find_drift(const Result& result, const FindingContext& context);
std::vector<Finding> find_no_steady_state(const Result& result, const FindingContext& context);
std::vector<Finding> find_device_taken(const Result& result, const FindingContext& context);
std::vector<Finding> find_recurring(const Result& result, const FindingContext& context);
std::vector<Finding> find_bimodal(const Result& result, const FindingContext& context);
std::vector<Finding> find_imprecise(const Result& result, const FindingContext& context);
std::vector<Finding> find_instrument(const Result& result, const FindingContext& context);
std::vector<Finding> find_timer_grain(const Result& result, const FindingContext& context);
std::vector<Finding> find_launch_bound(const Result& result, const FindingContext& context);
std::vector<Finding> find_pageable(const Result& result, const FindingContext& context);
std::vector<Finding> find_waits_for_gpu(const Result& result, const FindingContext& context);
std::vector<Finding> find_lost_rounds(const Result& result, const FindingContext& context);
std::vector<Finding> find_iteration_count(const Result& result, const FindingContext& context);
std::vector<Finding> find_engine_ignored(const Result& result, const FindingContext& context);
std::vector<Finding> find_only_moved(const Result& result, const FindingContext& context);
std::vector<Finding> find_zeros(const Result& result, const FindingContext& context);

std::vector<Finding> find_other_process(const FindingContext& context);
std::vector<Finding> find_other_cudnn(const FindingContext& context);
std::vector<Finding> find_cold_not_proven(const FindingContext& context);

}  // namespace jitterscope
