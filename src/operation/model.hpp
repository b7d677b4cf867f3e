// Models: the operations that a network runs, read from a JSON file.
//
//   {"format": "jitterscope-model", "version": 1,
//    "name": "resnet18",
//    "description": "one sentence: batch, data type, where it comes from",
//    "layers": [
//      {"operation": "conv2d:n=16,c=64,hw=56,k=64,rs=3,pad=1", "names": ["layer1.0.conv1.fprop", …]},
//      …]}
//
// All fields are required and no others are known but "$schema", which names docs/model.schema.json for
// editors. An operation is one line of text, not a sweep. `names` has one name for each time that the model
// runs the operation, so that a file lists each operation once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

/// An engine that the recorded program built or timed for a layer.
struct RecordedPlan {
  std::string tag;  ///< as Conv2d::engine
  Bytes workspace;
  std::optional<Nanoseconds> time = {};  ///< of the program's own timing of it
};

struct Layer {
  std::vector<std::string> names;  ///< at least one
  Operation operation;
  std::string source = {};                         ///< what it was made from: aten::cudnn_convolution
  std::optional<Operation> aten = {};              ///< the same work as PyTorch's own operator
  std::optional<Nanoseconds> recorded_time = {};   ///< GPU time of all its calls in the record
  std::vector<std::string> recorded_kernels = {};  ///< of one call, in their order
  std::vector<RecordedPlan> recorded_plans = {};   ///< in the record's order; no tag twice
  std::int64_t count() const { return static_cast<std::int64_t>(names.size()); }
};

/// An operand that lies in the memory of an operand of an earlier call, or in a part of it: what that one
/// wrote, or read as well (a weight, by both passes), or an output that is written in place.
struct OperandSource {
  std::size_t operand = 0;         ///< of this call, as Operation::operands() counts
  std::size_t call = 0;            ///< the first one that had the memory
  std::size_t source_operand = 0;  ///< of that call
  Bytes offset = {};               ///< where in the source's operand it begins
};
/// One execution, in the order in which the model runs.
struct Call {
  std::size_t layer = 0;  ///< index into Model::layers
  std::string name;       ///< one of that layer's names
  std::vector<OperandSource> inputs;
  /// Operands that it reads, that the network computes, and that no earlier call of the model writes: an
  /// operator does that is not timed.
  std::int64_t unwritten = 0;
};

/// What a record holds but jitterscope cannot time.
struct UntimedOperator {
  std::string name;
  std::int64_t count = 0;
  std::string reason;  ///< a sentence
  std::optional<Nanoseconds> recorded_time = {};
};

struct Model {
  std::string name, description;
  std::vector<Layer> layers;     ///< at least one, no operation twice
  std::vector<Call> calls = {};  ///< empty where the order is not known
  std::string format = {};       ///< what kind of record it was read from; empty for a model file
  std::vector<UntimedOperator> untimed = {};
  std::vector<std::string> notes = {};  ///< sentences for the user
  bool is_incomplete = false;           ///< a part of the file is missing or damaged: notes say which
  std::optional<Nanoseconds> recorded_gpu_time = {};      ///< of everything in the record
  std::string recorded_device = {}, recorded_cudnn = {};  ///< NVIDIA H200, 9.19.0; empty where unknown
};

/// Throws UsageError that names the file, the line (where it is no JSON) or the field as a JSON pointer, and
/// what was expected.
Model read_model(std::string_view json_text, std::string_view file_name);
/// Throws UsageError as read_model, and where the file cannot be read.
Model load_model(const std::filesystem::path& file);

/// Names of all models in the folders of $JITTERSCOPE_MODELS and in those named models that DataFiles looks
/// into, sorted: file names without `.json`.
std::vector<std::string> model_names();
/// The file of a model; nothing where no folder has it.
std::optional<std::filesystem::path> find_model(std::string_view name);

// What may be asked of a model: resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop.

struct ModelOptions {
  std::optional<std::int64_t> batch;
  std::optional<DataType> dtype;
  std::optional<Layout> layout;
  /// Nothing: forward and backward, as in training. fprop: what forward runs; dgrad, wgrad: of backward, the
  /// gradients of inputs (those of operations without weights among them) and of weights.
  std::optional<Direction> direction;
  bool training_asked = false;  ///< direction=training, which an ONNX file does not run otherwise
  std::map<std::string, std::int64_t> axes;  ///< values of an ONNX file's axes that have a name only
};

/// Reads `batch=64,dtype=f16,…`, empty text included. Any other name with a number is an axis. Throws
/// UsageError that names `target`.
ModelOptions parse_model_options(std::string_view text, std::string_view target);

}  // namespace jitterscope
