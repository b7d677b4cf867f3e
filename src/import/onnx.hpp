// ONNX files as models: what PyTorch would run for each of their operators.
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
#include "model/network.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// Weights may be absent. Forward only, as in inference, unless a direction or `direction=training` is asked
/// for. Throws UsageError that names the file where it is damaged, has no graph or one with a cycle, or where
/// an axis needs a size: `file.onnx:batch=8,seq=128`.
Model import_onnx(std::string_view bytes, std::string_view file_name, const ModelOptions& options);

}  // namespace jitterscope

// The state of an ONNX file's import: the values of its graph, and the network that they become.

namespace jitterscope::onnx_import {

struct Value {
  std::optional<Shape> shape;
  std::optional<std::vector<double>> numbers;  ///< where it is known by value, as a shape is
  std::optional<Tensor> tensor;                ///< in the network
  bool is_weight = false;
  bool is_real = false;               ///< numbers of a floating type: their division does not truncate
  std::optional<Shape> strides = {};  ///< of a view that is not row-major
};
/// Of a value whose shape is known.
Shape strides_of(const Value& value);

/// The product; past 2^50 it stays there.
std::int64_t count_of(const Shape& shape);
/// Nothing where an axis has no elements, which no operator that is timed takes.
std::optional<Shape> not_empty(Shape shape);
/// Negative axes count from the end. Nothing where there is no such axis.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
/// Nothing where the numbers are no whole ones that a shape could have.
std::optional<Shape> whole_numbers(const std::optional<std::vector<double>>& numbers);

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
  /// As a tensor of the network; its shape must be known.
  Tensor tensor(const std::string& name);
  /// `strides` of a view, as many as axes; nothing where the value is row-major. An output without a name is
  /// left out.
  void define(const std::string& name, Shape shape, Tensor tensor, const std::optional<Shape>& strides = {});
  /// What the file itself says of a value's shape, with the sizes that were asked for. Nothing where another
  /// batch was asked for and it cannot be told what that changes.
  std::optional<Shape> recorded_shape(const std::string& name) const;
  /// Its operators are imported from here on: they read values, and it has weights of its own.
  void enter(const OnnxBranch& branch);
  /// The nodes that read it.
  const std::vector<const OnnxNode*>& readers(const std::string& name) { return readers_[name]; }

  /// The module's path where the weight has one: features.0 of features.0.weight; else the node's own name.
  std::string step_name(const OnnxNode& node) const;
  /// Runs a forward pass that gives the node's first output.
  void run(const OnnxNode& node, const std::string& name, const Operation::Parameters& operation,
           const std::vector<Tensor>& inputs, Shape output);
  /// An operator that is not timed; `output` where its shape can be told.
  void leave_out(const OnnxNode& node, const std::string& reason, const std::optional<Shape>& output = {});
  /// Nodes that an earlier one stands for as well.
  void take_over(const OnnxNode& node) { taken_over_.insert(&node); }
  bool is_taken_over(const OnnxNode& node) const { return taken_over_.contains(&node); }

  /// A shape that the file fixed for its own batch, for the batch that was asked for; as it is where it fits.
  Shape rebatched(Shape shape, std::int64_t count) const;
  /// Of an axis that the file's own batch sizes: the batch that was asked for, where the file's is not one.
  std::int64_t rebatched(std::int64_t size) const;
  /// Throws UsageError: what the node gives is of the batch that the file was exported with.
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
  bool batch_is_elsewhere_ = false;  // an axis that is not the first is named so
  std::optional<std::int64_t> exported_batch_;
};

/// Gives why the operator cannot be timed; empty where it is done.
using Importer = std::string (*)(Import&, const OnnxNode&);
using Importers = std::map<std::string, Importer>;
const Importers& convolution_importers();
const Importers& product_importers();
const Importers& map_importers();
const Importers& row_importers();
const Importers& view_importers();

/// Computes with the numbers of shapes. False where not all of them are known.
bool fold(Import& import, const OnnxNode& node);

/// Whether a node begins what exporters write for torch.nn.GELU or torch.nn.LayerNorm in operators from
/// before ONNX had them (opsets 20 and 17). Then it stands for all of them, and runs as the one that PyTorch
/// runs.
bool is_gelu(Import& import, const OnnxNode& division);
bool is_layer_norm(Import& import, const OnnxNode& mean);

/// What an operator's first output is as large as, where that follows from its inputs and attributes.
std::optional<Shape> shape_given_by(Import& import, const OnnxNode& node);
/// What an elementwise operator writes lies in the order of what it reads.
void keep_order(Import& import, const OnnxNode& node);

inline constexpr const char* kUnknownShape = "the shape of its input is not known";
inline constexpr const char* kNoFit = "its weight does not fit its input";
inline constexpr const char* kCopy = "a copy in another order has no kind of operation";

}  // namespace jitterscope::onnx_import
