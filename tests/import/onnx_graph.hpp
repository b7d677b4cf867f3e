// ONNX files as tests write them.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace jitterscope::testing {

using Shape = std::vector<std::int64_t>;

class OnnxGraph {
 public:
  explicit OnnxGraph(std::int64_t opset = 20) {
    model_.set_ir_version(10);
    model_.add_opset_import()->set_version(opset);
  }

  /// -1: an axis without a size; `axes` may name some of them.
  OnnxGraph& input(const std::string& name, const Shape& shape, const std::vector<std::string>& axes = {}) {
    describe(*model_.mutable_graph()->add_input(), name, shape, axes);
    return *this;
  }
  OnnxGraph& output(const std::string& name, const Shape& shape = {}) {
    describe(*model_.mutable_graph()->add_output(), name, shape, {});
    return *this;
  }
  OnnxGraph& value(const std::string& name, const Shape& shape) {
    describe(*model_.mutable_graph()->add_value_info(), name, shape, {});
    return *this;
  }
  /// Without its numbers, as where they are in another file.
  OnnxGraph& weight(const std::string& name, const Shape& shape,
                    std::int32_t element_type = onnx::TensorProto::FLOAT) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(element_type);
    for (const std::int64_t size : shape) tensor.add_dims(size);
    tensor.add_external_data()->set_key("location");
    return *this;
  }
  /// A single number of a floating type.
  OnnxGraph& scalar(const std::string& name, float number) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(number);
    return *this;
  }
  OnnxGraph& numbers(const std::string& name, const Shape& numbers) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) tensor.add_int64_data(number);
    return *this;
  }
  OnnxGraph& node(const std::string& operator_name, const std::vector<std::string>& inputs,
                  const std::string& output, const std::string& name = "") {
    onnx::NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(operator_name);
    node.set_name(name.empty() ? "node_" + output : name);
    for (const std::string& input : inputs) node.add_input(input);
    if (!output.empty()) node.add_output(output);
    return *this;
  }
  /// Of the last node.
  OnnxGraph& integers(const std::string& name, const Shape& values) {
    onnx::AttributeProto& attribute = add_attribute(name);
    for (const std::int64_t value : values) attribute.add_ints(value);
    return *this;
  }
  OnnxGraph& integer(const std::string& name, std::int64_t value) {
    add_attribute(name).set_i(value);
    return *this;
  }
  OnnxGraph& text(const std::string& name, const std::string& value) {
    add_attribute(name).set_s(value);
    return *this;
  }

  onnx::ModelProto& model() { return model_; }
  onnx::NodeProto& last_node() {
    return *model_.mutable_graph()->mutable_node(model_.graph().node_size() - 1);
  }
  std::string bytes() const { return model_.SerializeAsString(); }

 private:
  static void describe(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape,
                       const std::vector<std::string>& axes) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx::TensorProto::FLOAT);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      auto& dimension = *tensor.mutable_shape()->add_dim();
      if (shape[i] >= 0) dimension.set_dim_value(shape[i]);
      if (i < axes.size() && !axes[i].empty()) dimension.set_dim_param(axes[i]);
    }
  }
  onnx::AttributeProto& add_attribute(const std::string& name) {
    onnx::AttributeProto& attribute = *last_node().add_attribute();
    attribute.set_name(name);
    return attribute;
  }

  onnx::ModelProto model_;
};

}  // namespace jitterscope::testing
