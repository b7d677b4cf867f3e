// Models: the operations that a network runs, read from a JSON file.
//
//   {"format": "jitterscope-model", "version": 1,
//    "name": "resnet18",
//    "description": "one sentence: batch, data type, where it comes from",
//    "layers": [
//      {"operation": "conv2d:n=16,c=64,hw=56,k=64,rs=3,pad=1", "names": ["layer1.0.conv1.fprop", …]},
//      …]}
//
// All fields are required, and no others are known except "$schema", which names docs/model.schema.json for
// editors. An operation is one line of text, not a sweep. `names` has one name for each time that the model
// runs the operation, so that a file lists each operation once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

/// An engine that the recorded program built or timed for a layer.
struct RecordedPlan {
  std::string tag;  ///< as in Conv2d::engine
  Bytes workspace;
  std::optional<Nanoseconds> time = {};  ///< as timed by the program itself
};

struct Layer {
  std::vector<std::string> names;  ///< at least one
  Operation operation;
  std::string source = {};             ///< the operator that it was made from: aten::cudnn_convolution
  std::optional<Operation> aten = {};  ///< the same work as PyTorch's own operator
  /// GPU times of its calls in the record, one each: more than names where this has several steps. Empty if
  /// one is unknown.
  std::vector<Nanoseconds> recorded_times = {};
  std::vector<std::string> recorded_kernels = {};  ///< one call's, in order
  std::vector<RecordedPlan> recorded_plans = {};   ///< in the record's order; no tag twice
  std::int64_t count() const { return static_cast<std::int64_t>(names.size()); }
  /// A typed operation, which has no name, is called once.
  std::int64_t calls() const { return std::max<std::int64_t>(1, count()); }
  /// The time of as many calls as there are names, by the mean.
  std::optional<Nanoseconds> recorded_time() const {
    if (recorded_times.empty()) return std::nullopt;
    const Nanoseconds sum = std::accumulate(recorded_times.begin(), recorded_times.end(), Nanoseconds(0));
    return sum * (static_cast<double>(names.size()) / static_cast<double>(recorded_times.size()));
  }
};

/// An operand in (a part of) the memory of an earlier call's operand: data that this call wrote or also read
/// (a weight, by both passes), or an output that is written in place.
struct OperandSource {
  std::size_t operand = 0;         ///< index in this call's Operation::operands()
  std::size_t call = 0;            ///< the first call that had the memory
  std::size_t source_operand = 0;  ///< index in that call's operands
  Bytes offset = {};               ///< where it begins in the source's operand
};
/// One execution of a layer. Calls are in the order in which the model runs.
struct Call {
  std::size_t layer = 0;  ///< index into Model::layers
  std::string name;       ///< one of that layer's names
  std::vector<OperandSource> inputs;
  /// Number of operands that it reads, the network computes, and no earlier call of the model writes, because
  /// an operator does that is not timed.
  std::int64_t unwritten = 0;
};

/// Returns the sum; nullopt if one is unknown, because the other would be mistaken for the whole.
inline std::optional<Nanoseconds> sum_if_known(std::optional<Nanoseconds> first,
                                               std::optional<Nanoseconds> second) {
  return first && second ? std::optional(*first + *second) : std::nullopt;
}

/// An operator of a record without a time.
struct UntimedOperator {
  std::string name;
  std::int64_t count = 0;
  std::string reason;                             ///< a sentence
  std::optional<Nanoseconds> recorded_time = {};  ///< all calls; 0 if they launched nothing, nullopt: unknown
  /// True if it can be timed, but the run ended before its turn. nullopt: not known, of a run that has not
  /// ended or of an earlier version's.
  std::optional<bool> is_unreached = {};
  /// A clause behind the reason that names what would give it a time. Empty if nothing is known.
  std::string remedy = {};

  std::string why() const { return remedy.empty() ? reason : reason + "; " + remedy; }
};

/// How the recorded program used its GPU, as far as the record tells.
struct RecordedUse {
  Nanoseconds length;        ///< from the first work to the last
  double busy = 0.0;         ///< share of the length in which the GPU worked
  double conversions = 0.0;  ///< share of the GPU's work that converts between NCHW and NHWC
  struct Idle {
    std::string cause;
    double share = 0.0;  ///< of the length
  };
  std::vector<Idle> idle = {};  ///< the largest first
};

struct Model {
  std::string name, description;
  std::vector<Layer> layers;     ///< at least one; all operations differ
  std::vector<Call> calls = {};  ///< empty if the order is unknown
  std::string format = {};       ///< kind of record that it was read from; empty for a model file
  std::vector<UntimedOperator> untimed = {};
  std::vector<std::string> notes = {};  ///< sentences for the user
  bool is_incomplete = false;           ///< a part of the file is missing or damaged, as notes say
  std::optional<Nanoseconds> recorded_gpu_time = {};  ///< total of the record
  std::optional<RecordedUse> recorded_use = {};
  std::string recorded_device = {}, recorded_cudnn = {};  ///< NVIDIA H200, 9.19.0; empty if unknown
};

/// Throws UsageError that names the file, the line (if it is not JSON) or the field as a JSON pointer, and
/// the expected value.
Model read_model(std::string_view json_text, std::string_view file_name);
/// Throws UsageError like read_model, and if the file cannot be read.
Model load_model(const std::filesystem::path& file);

/// Returns the sorted names (files without `.json`) of all models in the folders of $JITTERSCOPE_MODELS and
/// in the `models` folders that DataFiles searches.
std::vector<std::string> model_names();
/// Returns a model's file; nullopt if no folder has it.
std::optional<std::filesystem::path> find_model(std::string_view name);

// Options of a model: resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop.

struct ModelOptions {
  std::optional<std::int64_t> batch;
  std::optional<DataType> dtype;
  std::optional<Layout> layout;
  /// Empty: forward and backward, as in training. fprop: the forward pass. dgrad: the backward pass's
  /// gradients of inputs (including operations without weights); wgrad: its gradients of weights.
  std::optional<Direction> direction;
  bool training_asked = false;               ///< direction=training, which an ONNX file runs only on request
  std::map<std::string, std::int64_t> axes;  ///< values of an ONNX file's named axes
};

/// Reads `batch=64,dtype=f16,…`; the text may be empty. Any other name with a number is an axis. Throws
/// UsageError that names `target`.
ModelOptions parse_model_options(std::string_view text, std::string_view target);

}  // namespace jitterscope
