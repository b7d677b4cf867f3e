// What a call asks to be timed: operations, sweeps, models by name, files that programs wrote.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "measure/run_record.hpp"
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

// Models as they are named on the command line: by name, by file, with options behind a colon.

/// Whether a target begins with a kind of operation and a colon: conv2d:…, aten::relu(…).
bool names_operation(std::string_view target);

/// Throws UsageError that says what --only was and a few names of layers that it may match.
[[noreturn]] void fail_nothing_chosen(const std::string& only, const std::vector<std::string>& names);

/// `resnet50`, `resnet50:batch=64,dtype=f16`, `trace.json.gz`, `model.onnx:batch=8`: a file that exists
/// first, then a network of jitterscope's own, then a model file by name. Throws UsageError with the nearest
/// known name, those of `others` among them.
Model read_model_target(const std::string& target, const std::vector<std::string>& others = {});

// Records that were named on the command line.

/// Whether the targets are files, and one of them at least a record, by how it begins. Throws UsageError
/// where one is a record and another no file.
bool are_records(const std::vector<std::string>& targets);

bool is_file(const std::string& path);

/// Throws UsageError for a target that is named as a JSON file and is none.
void refuse_missing_files(const std::vector<std::string>& targets);

/// Throws UsageError where a file is given in the place of one operation.
void refuse_file_as_operation(const std::string& target);

/// A file, or - for standard input. Throws UsageError where it cannot be read.
std::string read_text(const std::string& file);

/// Throws UsageError where the file cannot be read or holds no record of `run`.
RunRecord read_run_file(const std::string& path);

}  // namespace jitterscope::cli
