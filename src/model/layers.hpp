// The layers that the networks are built of, named and executed as PyTorch's modules are.
#pragma once

#include <string>
#include <vector>

#include "model/network.hpp"

namespace jitterscope {

/// Maps of n·c·h·w, in the layout that was asked for; n is the batch.
struct Maps {
  Tensor tensor = 0;
  std::int64_t c = 1, h = 1, w = 1;
};

struct ConvolutionShape {
  std::int64_t out = 1, kernel = 1, stride = 1, pad = 0, groups = 1;
  bool bias = false;
};

class Layers {
 public:
  Layers(Network& network, const ModelOptions& options, std::int64_t batch);

  Network& network() { return network_; }
  std::int64_t batch() const { return batch_; }
  const DataTypes& data_types() const { return types_; }

  Maps images(std::int64_t channels, std::int64_t size);
  Maps convolution(const std::string& name, const Maps& x, const ConvolutionShape& shape);
  /// A transposed convolution of 2x2 with stride 2 and a bias: it doubles height and width.
  Maps doubling_convolution(const std::string& name, const Maps& x, std::int64_t out);
  Maps batch_norm(const std::string& name, const Maps& x);
  Maps activation(const std::string& name, const Maps& x, ElementwiseKind kind);
  /// torch.nn.ReLU6(inplace=True). Backward needs x, so PyTorch copies it first.
  Maps relu6_in_place(const std::string& name, const Maps& x);
  Maps max_pool(const std::string& name, const Maps& x, std::int64_t window, std::int64_t stride,
                std::int64_t pad = 0);
  /// torch.nn.AdaptiveAvgPool2d, to maps of side·side.
  Maps average_pool_to(const std::string& name, const Maps& x, std::int64_t side);
  Maps add(const std::string& name, const Maps& a, const Maps& b);
  /// Adds in place: a += b.
  Maps add_in_place(const std::string& name, const Maps& a, const Maps& b);
  Tensor flatten(const std::string& name, const Maps& x);

  Tensor linear(const std::string& name, Tensor x, std::int64_t rows, std::int64_t in, std::int64_t out);
  Tensor layer_norm(const std::string& name, Tensor x, std::int64_t rows, std::int64_t columns);
  Tensor activation(const std::string& name, Tensor x, ElementwiseKind kind);
  Tensor add(const std::string& name, Tensor a, Tensor b);
  /// Adds the same `columns` numbers to each of the rows of x. The numbers are a weight unless given.
  Tensor add_to_rows(const std::string& name, Tensor x, std::int64_t rows, std::int64_t columns,
                     const std::vector<Tensor>& added = {});
  Tensor dropout(Tensor x);
  /// Computes a log softmax over the classes of each row, and a loss on it.
  void cross_entropy(Tensor x, std::int64_t rows, std::int64_t classes);

 private:
  Maps add_bias(const std::string& name, const Maps& x);

  Network& network_;
  DataTypes types_;
  Layout layout_;
  std::int64_t batch_;
};

/// Returns the value that was asked for of an axis such as seq or size.
std::int64_t axis_or(const ModelOptions& options, const std::string& axis, std::int64_t otherwise);
/// Returns text for a description, such as "convolutions in tf32, all else in f32".
std::string precision_text(const ModelOptions& options, bool has_convolutions = true);

// The parts that torchvision's image classifiers share: 1000 classes; by default 32 images of 224x224.

class Classifier {
 public:
  Classifier(const std::string& name, const ModelOptions& options);

  Layers& layers() { return layers_; }
  Maps images() { return layers_.images(3, size_); }
  /// Adds the last layer and the loss.
  void classify(const std::string& name, Tensor features, std::int64_t count);
  Network take() { return std::move(network_); }

 private:
  std::int64_t size_;
  Network network_;
  Layers layers_;
};

}  // namespace jitterscope
