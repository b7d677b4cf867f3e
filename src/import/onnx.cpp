#include "import/onnx.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <queue>

#include <fmt/format.h>

#include "base/names.hpp"
#include "import/import.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using onnx_import::Import;
using onnx_import::Importers;

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 24;

// Sorts each node behind those that write its inputs. ONNX asks for this; unsorted files are read, too.
std::vector<const OnnxNode*> in_order(const std::vector<OnnxNode>& nodes, std::string_view file_name) {
  std::map<std::string_view, std::size_t> writers;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i].outputs) {
      if (!output.empty()) writers.emplace(output, i);
    }
  }
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> waits_for(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& input : nodes[i].all_inputs()) {
      const auto writer = writers.find(input);
      if (writer == writers.end()) continue;
      readers[writer->second].push_back(i);
      ++waits_for[i];
    }
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] == 0) ready.push(i);
  }
  std::vector<const OnnxNode*> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(&nodes[next]);
    for (const std::size_t reader : readers[next]) {
      if (--waits_for[reader] == 0) ready.push(reader);
    }
  }
  if (order.size() == nodes.size()) return order;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (waits_for[i] > 0) {
      throw onnx_import::FileProblem(fmt::format("{}: its graph has a cycle, to which {} {} belongs",
                                                 file_name, in_quotes(nodes[i].operator_name),
                                                 in_quotes(nodes[i].name)));
    }
  }
  return order;
}

void add_node(Import& import, const OnnxNode& node);

// Imports the branch that is taken, if shapes decide the condition: exporters ask for ranks.
void import_branch(Import& import, const OnnxNode& node) {
  const auto& condition = import.value(node.input(0)).numbers;
  if (!condition || condition->size() != 1) throw UsageError("its condition is not known before it runs");
  const auto taken = node.attributes.find(condition->front() != 0.0 ? "then_branch" : "else_branch");
  if (taken == node.attributes.end() || !taken->second.branch) throw UsageError("it lacks a branch");
  const OnnxBranch& branch = *taken->second.branch;
  import.enter(branch);
  for (const OnnxNode* inner : in_order(branch.nodes, import.file_name())) {
    if (!import.is_taken_over(*inner)) add_node(import, *inner);
  }
  for (std::size_t i = 0; i < std::min(node.outputs.size(), branch.outputs.size()); ++i)
    import.value(node.outputs[i]) = import.value(branch.outputs[i]);
}

bool is_of_onnx(const OnnxNode& node) { return node.domain.empty() || node.domain == "ai.onnx"; }
bool has_output(const OnnxNode& node) { return !node.outputs.empty() && !node.outputs.front().empty(); }

void import_node(Import& import, const OnnxNode& node) {
  if (!has_output(node)) throw UsageError("it has no output");
  if (!is_of_onnx(node)) {
    throw UsageError(
        fmt::format("it belongs to {}, of which no operator is known", printable(node.domain, 40)));
  }
  if (node.operator_name == "If") return import_branch(import, node);
  if (onnx_import::fold(import, node)) return;
  for (const Importers* importers :
       {&onnx_import::convolution_importers(), &onnx_import::product_importers(),
        &onnx_import::map_importers(), &onnx_import::row_importers(), &onnx_import::view_importers()}) {
    const auto found = importers->find(node.operator_name);
    if (found != importers->end()) return found->second(import, node);
  }
  throw UsageError("jitterscope has no operation for it");
}

void add_node(Import& import, const OnnxNode& node) {
  const bool has_shape = has_output(node) && is_of_onnx(node);
  try {
    import_node(import, node);
  } catch (const onnx_import::FileProblem&) {
    throw;
  } catch (const UsageError& reason) {
    import.leave_out(node, reason.what(),
                     has_shape ? onnx_import::shape_given_by(import, node) : std::nullopt);
  }
  if (has_shape) onnx_import::keep_order(import, node);
}

void note_opset(Import& import) {
  const std::int64_t opset = import.file().opset;
  if (opset == 0) import.network().note("The file does not say which version of ONNX's operators it uses.");
  if (opset != 0 && (opset < kOldestOpset || opset > kNewestOpset)) {
    import.network().note(fmt::format(
        "The file uses version {} of ONNX's operators; versions {} to {} are known, and it was read as such.",
        opset, kOldestOpset, kNewestOpset));
  }
}

UsageError nothing_to_time(const Model& model, const OnnxFile& file, std::string_view file_name) {
  std::string sentence =
      fmt::format("{}: none of its {} operators can be timed", file_name, file.nodes.size());
  if (!model.untimed.empty()) {
    const UntimedOperator& first = model.untimed.front();
    sentence += fmt::format("; {} of {}: {}", first.count, first.name, first.reason);
  }
  for (const std::string& note : model.notes) sentence += "\n" + note;
  return UsageError(sentence);
}

// Begins backward at the graph's outputs.
void begin_backward(Import& import) {
  for (const OnnxValueInfo& output : import.file().outputs) {
    if (const auto tensor = import.value(output.name).tensor)
      import.network().loss("loss", *tensor, "the file has no loss; backward begins at its outputs");
  }
}

}  // namespace

Model import_onnx(std::string_view bytes, std::string_view file_name, const ModelOptions& options) {
  const OnnxFile file = read_onnx_file(bytes, file_name);
  Import import(file, file_name, options);
  note_opset(import);
  for (const std::string& sentence : file.missing) import.network().note(sentence);
  for (const OnnxNode* node : in_order(file.nodes, file_name)) {
    if (!import.is_taken_over(*node)) add_node(import, *node);
  }
  ModelOptions wanted = options;
  if (import.training()) {
    begin_backward(import);
  } else {
    wanted.direction = Direction::fprop;
  }
  Model model = import.network().to_model(wanted);
  if (model.layers.empty()) throw nothing_to_time(model, file, file_name);
  model.format = "ONNX model";
  model.is_incomplete = !file.missing.empty();
  return model;
}

}  // namespace jitterscope

namespace jitterscope::onnx_import {
namespace {

constexpr const char* kBatch = "batch";

// Values of onnx::TensorProto::DataType.
constexpr std::int32_t kFloat = 1, kFloat16 = 10, kDouble = 11, kBfloat16 = 16;

// Returns the floating type of most weight elements: inputs may be integers, or be cast to the type that the
// network computes in. Without such weights, returns the type of the first floating input.
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

// Sets the file's own data type if none is asked for.
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

// True if the node reads a weight there. A weight's first axis is not the batch, unlike that of data.
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

std::optional<Shape> not_empty(Shape shape) {
  const bool empty = std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; });
  return empty ? std::nullopt : std::optional(std::move(shape));
}

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::size_t required_axis(std::int64_t axis, std::size_t rank) {
  const auto place = axis_of(axis, rank);
  if (!place) throw UsageError(kNoAxis);
  return *place;
}

Rows rows_of(const Shape& shape, std::size_t axis) {
  const auto middle = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  return {count_of(Shape(shape.begin(), middle)), count_of(Shape(middle, shape.end()))};
}

std::int64_t number_at(const Shape& numbers, std::size_t place, std::int64_t otherwise) {
  return place < numbers.size() ? numbers[place] : otherwise;
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

// True if the input is a bias: a vector of real numbers that is only added.
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
      // A batch of matrices is data.
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
  if (batch_is_elsewhere_) is_batch = dimension.name == kBatch;  // the sequence axis comes first
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

Shape Import::known_shape(const OnnxNode& node, std::size_t input) {
  const std::optional<Shape>& known = shape(node.input(input));
  if (!known) throw UsageError(kUnknownShape);
  return *known;
}

std::optional<Shape> Import::whole_numbers(const std::string& name) {
  constexpr double kEnd = 1e15;  // ONNX writes the largest 64-bit integer for "to the end"
  const std::optional<std::vector<double>>& numbers = values_[name].numbers;
  if (!numbers) return std::nullopt;
  Shape result;
  for (const double number : *numbers) {
    if (number != std::trunc(number)) return std::nullopt;  // true of a NaN
    result.push_back(static_cast<std::int64_t>(std::clamp(number, -kEnd, kEnd)));
  }
  return result;
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
    // A first axis of 24 may be 12 heads times a batch of 2, or 24 at any batch.
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
  throw FileProblem(fmt::format(
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
