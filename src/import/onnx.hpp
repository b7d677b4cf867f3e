// Reads ONNX files as models: the operations that PyTorch would run for each of their operators.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx_file.hpp"
#include "import/onnx_views.hpp"
#include "jitterscope/error.hpp"
#include "model/network.hpp"
#include "operation/kinds.hpp"
#include "operation/model.hpp"

// The state of an ONNX file's import: the values of its graph, and the network that they become.

namespace jitterscope::onnx_import {

struct Value {
  std::optional<Shape> shape;
  std::optional<std::vector<double>> numbers;  ///< its numbers if they are known, as for shapes
  std::optional<Tensor> tensor;                ///< its tensor in the network
  bool is_weight = false;
  bool is_real = false;               ///< numbers of a floating type, whose division does not truncate
  std::optional<Shape> strides = {};  ///< for a view that is not row-major
};
/// Returns the strides of a value, whose shape must be known.
Shape strides_of(const Value& value);

/// Returns the product of the sizes, limited to 2^50.
inline std::int64_t count_of(const Shape& shape) { return limited_product(shape); }
/// Returns nullopt if an axis has no elements: no timed operator takes such a shape.
std::optional<Shape> not_empty(Shape shape);
/// Returns the axis's index, counting negative ones from the end; nullopt if there is no such axis.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
/// The same; throws UsageError if there is no such axis.
std::size_t required_axis(std::int64_t axis, std::size_t rank);
/// The shape as a matrix: its axes from `axis` on are the columns.
struct Rows {
  std::int64_t rows, columns;
};
Rows rows_of(const Shape& shape, std::size_t axis);
/// Returns the number at a place of a list; `otherwise` if the list is shorter.
std::int64_t number_at(const Shape& numbers, std::size_t place, std::int64_t otherwise);

class Import {
 public:
  Import(const OnnxFile& file, std::string_view file_name, const ModelOptions& options);

  Network& network() { return network_; }
  const DataTypes& types() const { return types_; }
  Layout layout() const { return layout_; }
  bool training() const { return training_; }
  const OnnxFile& file() const { return file_; }
  std::string_view file_name() const { return file_name_; }

  Value& value(const std::string& name) { return values_[name]; }
  const std::optional<Shape>& shape(const std::string& name) { return values_[name].shape; }
  /// Returns the shape of a node's input. Throws UsageError if it is not known.
  Shape known_shape(const OnnxNode& node, std::size_t input);
  /// Returns a value's numbers as a shape; nullopt if they are unknown, or one is not whole.
  std::optional<Shape> whole_numbers(const std::string& name);
  /// Returns the value as a tensor of the network; its shape must be known.
  Tensor tensor(const std::string& name);
  /// Defines a value. `strides` has one number for each axis; nullopt: row-major. Ignores an output without a
  /// name.
  void define(const std::string& name, Shape shape, Tensor tensor, const std::optional<Shape>& strides = {});
  /// Returns the shape that the file records for a value, with the sizes asked for. nullopt if there is none,
  /// or if another batch was asked for and its effect on the shape is unclear.
  std::optional<Shape> recorded_shape(const std::string& name) const;
  /// Adds the branch's weights and the reads of its operators, which are imported next.
  void enter(const OnnxBranch& branch);
  /// Returns the nodes that read the value.
  const std::vector<const OnnxNode*>& readers(const std::string& name) { return readers_[name]; }

  /// Returns the module's path if a weight names it (features.0 of features.0.weight), else the node's name.
  std::string step_name(const OnnxNode& node) const;
  /// Adds the operation of a forward pass; its result is the node's first output.
  void run(const OnnxNode& node, const std::string& name, const Operation::Parameters& operation,
           const std::vector<Tensor>& inputs, Shape output);
  /// Adds an operator that is not timed; `output` is its shape if known.
  void leave_out(const OnnxNode& node, const std::string& reason, const std::optional<Shape>& output = {});
  /// Marks a node whose work an earlier node's operation includes.
  void take_over(const OnnxNode& node) { taken_over_.insert(&node); }
  bool is_taken_over(const OnnxNode& node) const { return taken_over_.contains(&node); }

  /// Returns the shape with its first axis scaled from the file's batch to the asked one, if it needs this to
  /// have `count` elements.
  Shape rebatched(Shape shape, std::int64_t count) const;
  /// Returns the asked batch for a size that equals the file's own batch; other sizes, and 1, stay.
  std::int64_t rebatched(std::int64_t size) const;
  /// Throws FileProblem: the node's result has the batch that the file was exported with.
  [[noreturn]] void fail_of_batch(const OnnxNode& node) const;
  std::optional<std::int64_t> exported_batch() const { return exported_batch_; }

 private:
  bool is_bias(const OnnxValueInfo& input) const;
  std::set<std::string> weight_names() const;
  void define_weights(const std::vector<OnnxTensor>& weights);
  void define_inputs();
  std::int64_t input_size(const OnnxValueInfo& input, std::size_t place, bool is_batch,
                          std::vector<std::string>& missing);
  std::optional<std::int64_t> size_of(const OnnxDimension& dimension, std::size_t place) const;
  void check_axes() const;

  const OnnxFile& file_;
  std::string file_name_;
  ModelOptions options_;
  DataTypes types_;
  Layout layout_;
  bool training_;
  Network network_;
  std::map<std::string, Value> values_;
  std::map<std::string, const OnnxValueInfo*> recorded_;
  std::map<std::string, std::vector<const OnnxNode*>> readers_;
  std::set<const OnnxNode*> taken_over_;
  std::set<std::string> open_axes_;
  std::string batch_axis_;           // the name of the axis that batch= sets
  bool batch_is_elsewhere_ = false;  // an axis other than the first is named "batch"
  std::optional<std::int64_t> exported_batch_;
};

/// Thrown for a problem of the whole file; other UsageErrors are of the operator that is imported.
struct FileProblem : UsageError {
  using UsageError::UsageError;
};

/// Imports an operator. Throws UsageError with the reason if it cannot be timed.
using Importer = void (*)(Import&, const OnnxNode&);
using Importers = std::map<std::string, Importer>;
const Importers& convolution_importers();
const Importers& product_importers();
const Importers& map_importers();
const Importers& row_importers();
const Importers& view_importers();
/// Imports an operator whose output is its first input.
void pass_on(Import&, const OnnxNode&);

/// Computes an operator on the numbers of shapes. Returns false if not all of them are known.
bool fold(Import& import, const OnnxNode& node);

/// True if a node begins the operators that exporters write for torch.nn.GELU or torch.nn.LayerNorm before
/// opsets 20 and 17. The node then stands for all of them, and they run as PyTorch's one operator.
bool is_gelu(Import& import, const OnnxNode& division);
bool is_layer_norm(Import& import, const OnnxNode& mean);

/// Returns the axes of an operator, by its attribute or its second input; nullopt if neither gives them.
std::optional<Shape> axes_of(Import&, const OnnxNode&);
/// The window of a convolution or a pool along one axis; `before` and `after` are its padding.
struct Window {
  std::int64_t input = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;

  /// True if all numbers are so small that products of two stay far from overflow of 64 bits.
  bool is_sensible() const;
  /// Returns the number of windows; 0 if there is none, or if the window is not sensible. One that hangs over
  /// the edge counts if `rounds_up` and if it begins within the padded input.
  std::int64_t count(bool rounds_up) const;
  /// Shares padding out. SAME_UPPER puts an odd element at the end, SAME_LOWER at the beginning.
  void pad(std::int64_t total, bool upper);
};
/// Returns the windows along all axes behind the first two of x; nullopt if the kernel has not as many axes.
std::optional<std::vector<Window>> windows_of(const OnnxNode&, const Shape& x, const Shape& kernel);

/// Returns the shape of an operator's first output if it follows from inputs and attributes.
std::optional<Shape> shape_given_by(Import& import, const OnnxNode& node);
/// Gives the output of an elementwise operator the memory order of its input.
void keep_order(Import& import, const OnnxNode& node);

inline constexpr const char* kUnknownShape = "the shape of its input is not known";
inline constexpr const char* kNoAxis = "it has no such axis";
inline constexpr const char* kNoFit = "its weight does not fit its input";
inline constexpr const char* kCopy = "jitterscope has no operation for a copy in another order";

}  // namespace jitterscope::onnx_import
