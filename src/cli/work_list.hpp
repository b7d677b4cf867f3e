// What a call asks to be timed: operations, sweeps, models by name, files that programs wrote.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "operation/model.hpp"

namespace jitterscope::cli {

struct WorkList {
  std::string title;
  /// All that is timed, and what else a file holds. A layer that was typed has no names. The order of calls
  /// is known of a single model, and of operations that were typed: these run in the order typed, with the
  /// operands shared that have the same name, type and size.
  Model model;
  bool is_model = false;  ///< a network or a file was named
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

/// Convolutions that were typed in f32 run as PyTorch runs those of float32 tensors, in TF32 where the device
/// has it: then the sentence that says so, else nothing. What a file recorded stays, and what a network was
/// told.
std::string take_as_pytorch(WorkList& work, const DeviceDescription& device);

/// Says that f32, as it is asked for here, is not what PyTorch runs convolutions in by default; empty where
/// none is asked for, where the device has no TF32, and of what a program recorded.
std::string note_on_f32(const WorkList& work, const DeviceDescription& device);

/// Leaves layers out that `keep` is false for, with the calls that run them.
void keep_layers(WorkList& work, const std::vector<bool>& keep);

}  // namespace jitterscope::cli
