// Reads an ONNX file's graph, without the values of its weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// True if an onnx::TensorProto::DataType is one that networks compute in.
bool is_floating(std::int32_t element_type);

/// The size of an axis, or its name if the file leaves the size open. Unknown if it has neither. Names are
/// made such that an option can name them.
struct OnnxDimension {
  std::optional<std::int64_t> size;
  std::string name;
};

struct OnnxValueInfo {
  std::string name;
  std::int32_t element_type = 0;  ///< onnx::TensorProto::DataType
  std::optional<std::vector<OnnxDimension>> shape;
};

/// A tensor. Values are read only if it is as small as a shape; else only its own shape is known.
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
  std::shared_ptr<const OnnxBranch> branch;  ///< for the operator If
};

struct OnnxNode {
  std::string name, operator_name, domain;
  std::vector<std::string> inputs, outputs;  ///< an empty name: the value is left out
  std::map<std::string, OnnxAttribute> attributes;

  std::int64_t integer(const std::string& attribute, std::int64_t otherwise) const;
  double real(const std::string& attribute, double otherwise) const;
  std::string text(const std::string& attribute) const;
  std::vector<std::int64_t> integers(const std::string& attribute) const;
  /// Returns the input's name; empty if it is left out.
  std::string input(std::size_t place) const { return place < inputs.size() ? inputs[place] : ""; }
  /// Returns the values that the node reads: its inputs, and the outer values that its branches read.
  std::vector<std::string> all_inputs() const;
};

/// The operators of an If's branch. They also see the values around the branch.
struct OnnxBranch {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> weights;
  std::vector<std::string> outputs;
};

struct OnnxFile {
  std::int64_t opset = 0;  ///< version of ONNX's own operators; 0 if not given
  std::string producer;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> weights;
  std::vector<OnnxValueInfo> inputs, outputs, values;
  std::vector<std::string> missing;  ///< sentences on numbers of shapes that could not be read
};

/// Reads a file. Functions that it defines are unfolded where it calls them. Small tensors that lie in other
/// files are read from beside it. Throws UsageError that names the file if it is no ONNX file or has no
/// graph.
OnnxFile read_onnx_file(std::string_view bytes, std::string_view file_name);

}  // namespace jitterscope
