// Reads what a call asks to time: operations, sweeps, models by name, files that programs wrote.
#pragma once

#include <cstdint>
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
  /// All that is timed, and what else a file holds. A typed layer has no names. The order of calls is known
  /// for a single model and for typed operations. These run in the order typed and share operands of the same
  /// name, type and size.
  Model model;
  bool is_model = false;  ///< a network or a file was named
};

/// Each target is an operation or a sweep (it begins with a kind and a colon), a model's name or a file.
/// Keeps only what matches the regular expression `only`, unless it is empty. Throws UsageError with the
/// nearest known name, or if nothing matches.
WorkList read_targets(const std::vector<std::string>& targets, const std::string& only = "");

/// Gives the calls of a trace the data flow of a PyTorch execution trace of the same step, with a note.
/// Throws UsageError if the file is no execution trace, or not of the same step.
void join_execution_trace(WorkList& work, const std::string& file);

/// Returns a network that names no batch with a batch of 1, and a typed operation without its number of
/// samples with one; any other target as it is.
std::string with_one_sample(const std::string& target);

/// Returns the batch that a network or an ONNX file names; nullopt for other targets.
std::optional<std::int64_t> batch_named_in(const std::string& target);
/// Returns a target that names its batch with another one.
std::string with_batch(const std::string& target, std::int64_t batch);

/// Says on stderr, before measuring, how many operations the device cannot run. Throws UsageError if it can
/// run none.
void refuse_impossible(const WorkList& work, const DeviceDescription& device);

/// Makes a model recorded with TF32 run in f32 if the device has no TF32, with a note. Typed operations stay
/// as they are. On a simulated GPU no remedy is left for what cannot be timed.
void fit_to_device(WorkList& work, const DeviceDescription& device);

/// Makes typed f32 convolutions run in TF32, as PyTorch runs those of float32 tensors, if the device has it.
/// Returns a sentence on it, or an empty text. Layers of a file or a network are not changed.
std::string take_as_pytorch(WorkList& work, const DeviceDescription& device);

/// Returns a note that PyTorch by default does not run these f32 convolutions in f32. Empty if there are
/// none, if the device has no TF32, and for layers that a program recorded.
std::string note_on_f32(const WorkList& work, const DeviceDescription& device);

/// Removes the layers for which `keep` is false, with the calls that run them.
void keep_layers(WorkList& work, const std::vector<bool>& keep);

// Below: models as the command line names them: by name or file, with options after a colon.

/// True if a target begins with a kind of operation and a colon: conv2d:…, aten::relu(…).
bool names_operation(std::string_view target);

/// Throws UsageError with the value of --only and a few names of layers that it could match.
[[noreturn]] void fail_nothing_chosen(const std::string& only, const std::vector<std::string>& names);

/// Reads `resnet50`, `resnet50:batch=64,dtype=f16`, `trace.json.gz` or `model.onnx:batch=8`. An existing file
/// comes first, then a built-in network, then a model file by name. Throws UsageError with the nearest known
/// name, those of `others` included.
Model read_model_target(const std::string& target, const std::vector<std::string>& others = {});

// Below: records that the command line names.

/// True if all targets are files and at least one begins like a record. Throws UsageError if one is a record
/// and another no file.
bool are_records(const std::vector<std::string>& targets);

bool is_file(const std::string& path);

/// Throws UsageError for a target that has the ending of a JSON file but does not exist.
void refuse_missing_files(const std::vector<std::string>& targets);

/// Throws UsageError if a file is given in place of an operation.
void refuse_file_as_operation(const std::string& target);

/// Reads a file, or standard input for "-". Throws UsageError if it cannot be read.
std::string read_text(const std::string& file);

/// Throws UsageError if the file cannot be read or holds no record of `run`.
RunRecord read_run_file(const std::string& path);

}  // namespace jitterscope::cli
