#include "import/onnx_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/limits.hpp"
#include "operation/words.hpp"

namespace jitterscope::onnx_import {
namespace {

constexpr const char* kBatch = "batch";

// onnx::TensorProto::DataType
constexpr std::int32_t kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;

// That of most weights: inputs may be whole numbers, or be cast to what the network computes in. Where there
// are none, that of the first input with one.
std::int32_t floating_type(const OnnxFile& file) {
  std::map<std::int32_t, double> elements;
  for (const OnnxTensor& weight : file.weights) {
    if (is_floating(weight.element_type))
      elements[weight.element_type] += static_cast<double>(count_of(weight.shape));
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = std::max_element(elements.begin(), elements.end(), fewer);
  if (most != elements.end()) return most->first;
  for (const OnnxValueInfo& input : file.inputs) {
    if (is_floating(input.element_type)) return input.element_type;
  }
  return kFloat;
}

// As the file was exported, where nothing is asked for.
ModelOptions with_recorded_type(const OnnxFile& file, ModelOptions options) {
  if (options.dtype) return options;
  switch (floating_type(file)) {
    case kFloat16: options.dtype = DataType::f16; break;
    case kBfloat16: options.dtype = DataType::bf16; break;
    case kDouble: options.dtype = DataType::f64; break;
    default: break;
  }
  return options;
}

std::string description(const OnnxFile& file, bool training) {
  return fmt::format("{} of an ONNX file{}{}", training ? "One training step" : "The forward pass",
                     file.producer.empty() ? "" : " from ", printable(file.producer, 40));
}

// Where a node reads weights: what is read there is no data whose first axis is the batch.
bool is_weight_place(const OnnxNode& node, std::size_t place) {
  static const std::map<std::string, std::pair<std::size_t, std::size_t>> places = {
      {"Conv", {1, 2}},
      {"ConvTranspose", {1, 2}},
      {"Gemm", {1, 2}},
      {"MatMul", {1, 1}},
      {"BatchNormalization", {1, 4}},
      {"LayerNormalization", {1, 2}},
      {"Gather", {0, 0}},
      {"InstanceNormalization", {1, 2}},
      {"PRelu", {1, 1}},
      {"GroupNormalization", {1, 2}}};
  const auto found = places.find(node.operator_name);
  return found != places.end() && place >= found->second.first && place <= found->second.second;
}

}  // namespace

Shape strides_of(const Value& value) { return value.strides ? *value.strides : row_major(*value.shape); }

std::int64_t count_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count = limited_product({count, std::max<std::int64_t>(size, 0)});
  return count;
}

std::optional<Shape> not_empty(Shape shape) {
  const bool empty = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; });
  return empty ? std::nullopt : std::optional(std::move(shape));
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

Import::Import(const OnnxFile& file, std::string_view file_name, const ModelOptions& options)
    : file_(file),
      file_name_(file_name),
      options_(with_recorded_type(file, options)),
      types_(data_types_of(options_)),
      layout_(options.layout.value_or(Layout::nchw)),
      training_(options.training_asked || (options.direction && options.direction != Direction::fprop)),
      network_(std::filesystem::path(file_name_).stem().string(), description(file, training_)) {
  for (const auto* values : {&file.values, &file.outputs, &file.inputs}) {
    for (const OnnxValueInfo& recorded : *values) recorded_[recorded.name] = &recorded;
  }
  for (const OnnxNode& node : file.nodes) {
    for (const std::string& input : node.all_inputs()) readers_[input].push_back(&node);
  }
  define_weights(file.weights);
  define_inputs();
}

void Import::define_weights(const std::vector<OnnxTensor>& weights) {
  for (const OnnxTensor& weight : weights) {
    values_[weight.name] = {not_empty(weight.shape), weight.values, std::nullopt, true,
                            is_floating(weight.element_type)};
  }
}

void Import::enter(const OnnxBranch& branch) {
  for (const OnnxNode& node : branch.nodes) {
    for (const std::string& input : node.all_inputs()) readers_[input].push_back(&node);
  }
  define_weights(branch.weights);
}

// A vector of numbers that is only added: a bias.
bool Import::is_bias(const OnnxValueInfo& input) const {
  const auto readers = readers_.find(input.name);
  return is_floating(input.element_type) && input.shape && input.shape->size() == 1 &&
         readers != readers_.end() &&
         std::all_of(readers->second.begin(), readers->second.end(),
                     [](const OnnxNode* reader) { return reader->operator_name == "Add"; });
}

std::set<std::string> Import::weight_names() const {
  std::set<std::string> names;
  for (const OnnxValueInfo& input : file_.inputs) {
    if (is_bias(input)) names.insert(input.name);
    const auto readers = readers_.find(input.name);
    if (readers == readers_.end() || !input.shape) continue;
    for (const OnnxNode* node : readers->second) {
      // Batches of matrices are data.
      if (node->operator_name == "MatMul" && input.shape->size() > 2) continue;
      for (std::size_t place = 0; place < node->inputs.size(); ++place) {
        if (node->inputs[place] == input.name && is_weight_place(*node, place)) names.insert(input.name);
      }
    }
  }
  return names;
}

void Import::define_inputs() {
  const std::set<std::string> weights = weight_names();
  std::vector<std::string> missing;
  for (const OnnxValueInfo& input : file_.inputs) {
    if (!input.shape || values_.contains(input.name)) continue;
    const bool is_weight = weights.contains(input.name);
    if (!is_weight && !input.shape->empty()) {
      const OnnxDimension& first = input.shape->front();
      batch_is_elsewhere_ |= std::any_of(input.shape->begin() + 1, input.shape->end(),
                                         [](const OnnxDimension& other) { return other.name == kBatch; });
      if (!exported_batch_ && !batch_is_elsewhere_) exported_batch_ = first.size;
      if (batch_axis_.empty() && !batch_is_elsewhere_) batch_axis_ = first.name;
    }
    Shape shape;
    for (std::size_t place = 0; place < input.shape->size(); ++place)
      shape.push_back(input_size(input, place, !is_weight && place == 0, missing));
    values_[input.name] = {std::move(shape), std::nullopt, std::nullopt, is_weight};
  }
  check_axes();
  if (missing.empty()) return;
  throw UsageError(fmt::format("{}: the size of {} is left open; say it: {}:{}=…", file_name_,
                               joined(missing, " and of "), file_name_, joined(missing, "=…,")));
}

std::int64_t Import::input_size(const OnnxValueInfo& input, std::size_t place, bool is_batch,
                                std::vector<std::string>& missing) {
  OnnxDimension dimension = (*input.shape)[place];
  if (!dimension.size && dimension.name.empty()) dimension.name = fmt::format("{}_{}", input.name, place);
  if (!dimension.size) open_axes_.insert(dimension.name);
  if (batch_is_elsewhere_) is_batch = dimension.name == kBatch;  // sequences come first
  std::optional<std::int64_t> size = is_batch && options_.batch ? options_.batch : size_of(dimension, place);
  if (const auto given = options_.axes.find(dimension.name); !dimension.size && given != options_.axes.end())
    size = given->second;
  if (!size) {
    const std::string asked = is_batch ? std::string(kBatch) : printable(dimension.name, 40);
    if (std::find(missing.begin(), missing.end(), asked) == missing.end()) missing.push_back(asked);
    return 1;
  }
  if (*size < 1 || *size > kLargestDimension)
    throw UsageError(
        fmt::format("{}: the input {} has an axis of {}", file_name_, in_quotes(input.name), *size));
  return *size;
}

std::optional<std::int64_t> Import::size_of(const OnnxDimension& dimension, std::size_t place) const {
  if (dimension.size) {
    const bool is_batch = place == 0 && options_.batch && dimension.size == exported_batch_;
    return is_batch ? options_.batch : dimension.size;
  }
  if (dimension.name.empty()) return std::nullopt;
  const auto given = options_.axes.find(dimension.name);
  if (given != options_.axes.end()) return given->second;
  return dimension.name == batch_axis_ || dimension.name == kBatch ? options_.batch : std::nullopt;
}

void Import::check_axes() const {
  std::vector<std::string> known = {"batch", "dtype", "layout", "direction"};
  known.insert(known.end(), open_axes_.begin(), open_axes_.end());
  for (const auto& [axis, unused] : options_.axes) {
    if (open_axes_.contains(axis)) continue;
    throw UsageError(fmt::format("{}: the file has no open axis {}{}", file_name_, in_quotes(axis),
                                 suggestion(axis, known)));
  }
}

Tensor Import::tensor(const std::string& name) {
  Value& value = values_[name];
  if (!value.tensor) {
    const std::int64_t count = count_of(*value.shape);
    value.tensor =
        value.is_weight ? network_.parameter(count, types_.other) : network_.input(count, types_.other);
  }
  return *value.tensor;
}

void Import::define(const std::string& name, Shape shape, Tensor tensor,
                    const std::optional<Shape>& strides) {
  if (name.empty()) return;
  Value& value = values_[name] = {std::move(shape), std::nullopt, tensor, false};
  if (strides && !is_row_major(*value.shape, *strides)) value.strides = strides;
}

std::optional<Shape> Import::recorded_shape(const std::string& name) const {
  const auto found = recorded_.find(name);
  if (found == recorded_.end() || !found->second->shape) return std::nullopt;
  const bool rebatched = options_.batch && exported_batch_ && options_.batch != exported_batch_;
  if (rebatched && !found->second->shape->empty()) {
    // 24 may be 12 heads of a batch of 2, or 24 of any batch.
    const auto& first = found->second->shape->front().size;
    if (first && first != exported_batch_) return std::nullopt;
  }
  Shape shape;
  for (std::size_t place = 0; place < found->second->shape->size(); ++place) {
    const auto size = size_of((*found->second->shape)[place], place);
    if (!size || *size < 1 || *size > kLargestDimension) return std::nullopt;
    shape.push_back(*size);
  }
  return shape;
}

std::string Import::step_name(const OnnxNode& node) const {
  for (const std::string& input : node.inputs) {
    for (const std::string_view suffix : {".weight", ".bias"}) {
      if (input.size() > suffix.size() && input.ends_with(suffix))
        return printable(input.substr(0, input.size() - suffix.size()), 100);
    }
  }
  if (!node.name.empty()) return printable(node.name, 100);
  return printable(node.outputs.empty() ? node.operator_name : node.outputs.front(), 100);
}

void Import::run(const OnnxNode& node, const std::string& name, const Operation::Parameters& operation,
                 const std::vector<Tensor>& inputs, Shape output) {
  const Tensor result = network_.add(name, operation, inputs, printable(node.operator_name, 60));
  if (!node.outputs.empty()) define(node.outputs.front(), std::move(output), result);
}

void Import::leave_out(const OnnxNode& node, const std::string& reason, const std::optional<Shape>& output) {
  const std::string name = printable(node.operator_name, 60);
  std::vector<Tensor> inputs;
  for (const std::string& input : node.inputs) {
    const auto known = values_.find(input);
    if (known != values_.end() && known->second.tensor) inputs.push_back(*known->second.tensor);
  }
  const Network::UntimedStep step{name, training_ ? name + " (backward)" : "", reason};
  bool counted = false;
  for (const std::string& written : node.outputs) {
    const bool is_first = &written == &node.outputs.front();
    const std::optional<Shape> shape = is_first && output ? output : recorded_shape(written);
    if (!shape) continue;
    if (inputs.empty() || counted) {
      define(written, *shape, network_.input(count_of(*shape), types_.other));
      continue;
    }
    define(written, *shape, network_.add_untimed(step_name(node), step, inputs, count_of(*shape)));
    counted = true;
  }
  if (!counted) network_.skip({name, "", reason});
}

std::int64_t Import::rebatched(std::int64_t size) const {
  return options_.batch && size > 1 && size == exported_batch_ ? *options_.batch : size;
}

void Import::fail_of_batch(const OnnxNode& node) const {
  throw UsageError(fmt::format(
      "{}: {}: the file is written for a batch of {} alone; leave out batch=, or export it with an open axis",
      file_name_, step_name(node), *exported_batch_));
}

Shape Import::rebatched(Shape shape, std::int64_t count) const {
  if (shape.empty() || !options_.batch || !exported_batch_ || *exported_batch_ < 1) return shape;
  if (count_of(shape) == count || shape.front() % *exported_batch_ != 0) return shape;
  Shape changed = shape;
  changed.front() = limited_product({shape.front() / *exported_batch_, *options_.batch});
  return count_of(changed) == count ? changed : shape;
}

}  // namespace jitterscope::onnx_import
