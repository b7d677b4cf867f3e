// What an ONNX file says, without the values of its weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// Of onnx::TensorProto::DataType: one of those that networks compute in.
bool is_floating(std::int32_t element_type);

/// A number, or the name of an axis whose size the file leaves open. Neither: unknown. Names are as an option
/// can name them.
struct OnnxDimension {
  std::optional<std::int64_t> size;
  std::string name;
};

struct OnnxValueInfo {
  std::string name;
  std::int32_t element_type = 0;  ///< onnx::TensorProto::DataType
  std::optional<std::vector<OnnxDimension>> shape;
};

/// The numbers of tensors as small as shapes are; of any other only its own shape.
struct OnnxTensor {
  std::string name;
  std::int32_t element_type = 0;
  std::vector<std::int64_t> shape;
  std::optional<std::vector<double>> values;
};

struct OnnxBranch;

struct OnnxAttribute {
  std::optional<std::int64_t> integer;
  std::optional<double> real;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::optional<OnnxTensor> tensor;
  std::shared_ptr<const OnnxBranch> branch;  ///< of If
};

struct OnnxNode {
  std::string name, operator_name, domain;
  std::vector<std::string> inputs, outputs;  ///< empty names: left out
  std::map<std::string, OnnxAttribute> attributes;

  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  double real(const std::string& attribute, double otherwise) const;
  std::string text(const std::string& attribute) const;
  std::vector<std::int64_t> integers(const std::string& attribute) const;
  /// Empty where it is left out.
  std::string input(std::size_t place) const { return place < inputs.size() ? inputs[place] : ""; }
  /// What it reads: its inputs, and what its branches read of the values around them.
  std::vector<std::string> all_inputs() const;
};

/// Operators within one: they see the values around them.
struct OnnxBranch {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> weights;
  std::vector<std::string> outputs;
};

struct OnnxFile {
  std::int64_t opset = 0;  ///< of ONNX's own operators; 0: not given
  std::string producer;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> weights;
  std::vector<OnnxValueInfo> inputs, outputs, values;
  std::vector<std::string> missing;  ///< sentences: which numbers of shapes could not be read from where
};

/// The operators of functions that the file defines stand where it calls them. Small tensors that are in
/// other files are read from beside it. Throws UsageError that names the file, where it is no ONNX file or
/// has no graph.
OnnxFile read_onnx_file(std::string_view bytes, std::string_view file_name);

}  // namespace jitterscope
