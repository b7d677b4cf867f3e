#include "import/onnx_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "jitterscope/error.hpp"
#include "onnx.pb.h"

namespace jitterscope {
namespace {

// Shapes, axes and limits of Clip are far smaller; weights are not read.
constexpr std::int64_t kMostValues = 64;

template <class Number>
void read_raw(const std::string& bytes, std::vector<double>& values) {
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    values.push_back(static_cast<double>(number));
  }
}

// FLOAT16 and BFLOAT16 are stored as their bits.
double half_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  const double any = exponent == 31 ? std::numeric_limits<double>::infinity() : size;
  return (bits >> 15) != 0 ? -any : any;
}
double bfloat_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

bool is_half(std::int32_t element_type) {
  return element_type == onnx::TensorProto::FLOAT16 || element_type == onnx::TensorProto::BFLOAT16;
}

std::vector<double> halves_of(const onnx::TensorProto& tensor) {
  std::vector<double> numbers(tensor.int32_data().begin(), tensor.int32_data().end());
  read_raw<std::uint16_t>(tensor.raw_data(), numbers);
  for (double& number : numbers) {
    const auto bits = static_cast<std::uint16_t>(static_cast<std::int64_t>(number));
    number = tensor.data_type() == onnx::TensorProto::FLOAT16 ? half_of(bits) : bfloat_of(bits);
  }
  return numbers;
}

std::vector<double> values_of(const onnx::TensorProto& tensor) {
  std::vector<double> values;
  values.insert(values.end(), tensor.int64_data().begin(), tensor.int64_data().end());
  values.insert(values.end(), tensor.int32_data().begin(), tensor.int32_data().end());
  values.insert(values.end(), tensor.float_data().begin(), tensor.float_data().end());
  values.insert(values.end(), tensor.double_data().begin(), tensor.double_data().end());
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64: read_raw<std::int64_t>(tensor.raw_data(), values); break;
    case onnx::TensorProto::INT32: read_raw<std::int32_t>(tensor.raw_data(), values); break;
    case onnx::TensorProto::FLOAT: read_raw<float>(tensor.raw_data(), values); break;
    case onnx::TensorProto::DOUBLE: read_raw<double>(tensor.raw_data(), values); break;
    default: break;
  }
  return values;
}

OnnxTensor read_tensor(const onnx::TensorProto& tensor) {
  OnnxTensor result{tensor.name(), tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}, {}};
  std::int64_t count = 1;
  for (const std::int64_t size : result.shape) {
    if (size < 0 || size > kMostValues) return result;
    count *= size;
    if (count > kMostValues) return result;
  }
  if (tensor.external_data_size() > 0) return result;  // it is not here
  std::vector<double> values = is_half(tensor.data_type()) ? halves_of(tensor) : values_of(tensor);
  if (static_cast<std::int64_t>(values.size()) == count) result.values = std::move(values);
  return result;
}

OnnxAttribute read_attribute(const onnx::AttributeProto& attribute) {
  OnnxAttribute result;
  if (attribute.has_i()) result.integer = attribute.i();
  if (attribute.has_f()) result.real = attribute.f();
  result.text = attribute.s();
  result.integers.assign(attribute.ints().begin(), attribute.ints().end());
  result.reals.assign(attribute.floats().begin(), attribute.floats().end());
  if (attribute.has_t()) result.tensor = read_tensor(attribute.t());
  return result;
}

OnnxNode read_node(const onnx::NodeProto& node) {
  OnnxNode result{node.name(),
                  node.op_type(),
                  node.domain(),
                  {node.input().begin(), node.input().end()},
                  {node.output().begin(), node.output().end()},
                  {}};
  for (const onnx::AttributeProto& attribute : node.attribute())
    result.attributes.emplace(attribute.name(), read_attribute(attribute));
  return result;
}

OnnxValueInfo read_value(const onnx::ValueInfoProto& value) {
  OnnxValueInfo result{value.name(), value.type().tensor_type().elem_type(), {}};
  if (!value.type().tensor_type().has_shape()) return result;
  result.shape.emplace();
  for (const auto& dimension : value.type().tensor_type().shape().dim()) {
    OnnxDimension read;
    if (dimension.has_dim_value()) read.size = dimension.dim_value();
    read.name = dimension.dim_param();
    result.shape->push_back(std::move(read));
  }
  return result;
}

std::vector<OnnxValueInfo> read_values(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  std::vector<OnnxValueInfo> result;
  for (const onnx::ValueInfoProto& value : values) result.push_back(read_value(value));
  return result;
}

const OnnxAttribute* find(const OnnxNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}

}  // namespace

bool is_floating(std::int32_t element_type) {
  return is_half(element_type) || element_type == onnx::TensorProto::FLOAT ||
         element_type == onnx::TensorProto::DOUBLE;
}

std::int64_t OnnxNode::integer(const std::string& attribute, std::int64_t otherwise) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found && found->integer ? *found->integer : otherwise;
}

double OnnxNode::real(const std::string& attribute, double otherwise) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found && found->real ? *found->real : otherwise;
}

std::string OnnxNode::text(const std::string& attribute) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found ? found->text : "";
}

std::vector<std::int64_t> OnnxNode::integers(const std::string& attribute) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found ? found->integers : std::vector<std::int64_t>{};
}

OnnxFile read_onnx_file(std::string_view bytes, std::string_view file_name) {
#if GOOGLE_PROTOBUF_VERSION < 4022000
  // Its own lines on standard error say nothing that a user of this program could use.
  google::protobuf::SetLogHandler(nullptr);
#endif
  onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw UsageError(fmt::format("{}: over 2 GiB; save its weights as external data", file_name));
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw UsageError(fmt::format("{}: not an ONNX file, or it ends too early", file_name));
  if (!model.has_graph() || model.graph().node().empty())
    throw UsageError(fmt::format("{}: this ONNX file has no graph of operators", file_name));
  OnnxFile file;
  for (const auto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") file.opset = opset.version();
  }
  file.producer = model.producer_name();
  const onnx::GraphProto& graph = model.graph();
  for (const onnx::NodeProto& node : graph.node()) file.nodes.push_back(read_node(node));
  for (const onnx::TensorProto& weight : graph.initializer()) file.weights.push_back(read_tensor(weight));
  file.inputs = read_values(graph.input());
  file.outputs = read_values(graph.output());
  file.values = read_values(graph.value_info());
  return file;
}

}  // namespace jitterscope
