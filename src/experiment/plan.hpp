// What is to be timed, on which device, and what is asked beside the times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/measure_operation.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// One process carries it out from its first trial to its last.
struct Plan {
  /// Trials of a group are visited beside each other, their rounds paired. A group of one has a trial that is
  /// compared with nothing.
  std::vector<std::vector<Trial>> groups;
  /// Of each trial, group after group: what is known of it before it is timed. Empty where that is nothing.
  std::vector<RunEntry> entries = {};
  bool verify = false;
  bool ceilings = true;        ///< measure the device's best rates first
  bool trace_kernels = false;  ///< of one launch of each trial, behind all times, which a tracer slows
  std::optional<Model> in_sequence = {};  ///< its calls are timed in their order, after all else
  std::string recorded_cudnn = {};        ///< of the record that is replayed; empty where there is none
  bool is_incomplete = false;             ///< a part of what was to be timed could not be read
  bool precision_was_asked = false;       ///< by the user: then missing it has an exit code of its own
};

std::size_t trials_in(const Plan& plan);
/// Limits, seed, idles and listeners of the whole plan: those of the first trial. Throws UsageError where the
/// plan has none.
const MeasureOptions& shared_options(const Plan& plan);

}  // namespace jitterscope
