// What a call asks to be timed: operations, sweeps, models by name, model files.
#pragma once

#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::cli {

struct WorkItem {
  Operation operation;
  std::vector<std::string> layers;  ///< a model's names for it; empty for an operation that was typed
};

struct WorkList {
  std::string title;
  std::vector<WorkItem> items;
  bool is_model = false;
  std::vector<std::string> notes;  ///< what was changed so that this device can run it
};

/// Each target is an operation or a sweep (it has a colon), the name of a model with or without options after
/// a colon, or the path of a model file.
/// Throws UsageError with the nearest known name.
WorkList read_targets(const std::vector<std::string>& targets);

/// A model recorded with TF32 runs in f32 on a device without TF32; a note says so. Operations that were
/// typed stay as they are.
void fit_to_device(WorkList& work, const DeviceDescription& device);

}  // namespace jitterscope::cli
