// What a call asks to be timed: operations, sweeps, models by name, files that programs wrote.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "operation/model.hpp"

namespace jitterscope::cli {

struct WorkItem {
  Operation operation;
  std::vector<std::string> layers = {};  ///< a model's names for it; empty for an operation that was typed
  std::optional<Operation> aten = {};    ///< the same work as PyTorch's own operator
  std::optional<Nanoseconds> recorded_time = {};  ///< of one call, where the work was read from a record
};

struct WorkList {
  std::string title;
  std::vector<WorkItem> items;
  bool is_model = false;
  /// Of a single model the order of its calls, whose layers are the items; of operations that were typed
  /// their own order, with the operands shared that have the same name, type and size.
  std::vector<Call> calls;
  std::vector<UntimedOperator> untimed;
  std::vector<std::string>
      notes;                   ///< sentences: what was read, what was changed so that this device can run it
  bool is_incomplete = false;  ///< a part of a file is missing or damaged: notes say which
  std::optional<Nanoseconds> recorded_gpu_time;
  std::string recorded_cudnn;  ///< the version in the record; empty where unknown
};

/// Each target is an operation or a sweep (it begins with a kind and a colon), a model's name or a file.
/// Only what matches the regular expression `only`, unless it is empty. Throws UsageError with the nearest
/// known name, or where nothing matches.
WorkList read_targets(const std::vector<std::string>& targets, const std::string& only = "");

/// Says on stderr which of the operations the device cannot run, before anything is measured. Throws
/// UsageError where it can run none.
void refuse_impossible(const WorkList& work, const DeviceDescription& device);

/// A model recorded with TF32 runs in f32 on a device without TF32; a note says so. Operations that were
/// typed stay as they are.
void fit_to_device(WorkList& work, const DeviceDescription& device);

/// Leaves items out that `keep` is false for, with the calls that run them.
void keep_items(WorkList& work, const std::vector<bool>& keep);

}  // namespace jitterscope::cli
