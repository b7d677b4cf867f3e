#include <fmt/format.h>

#include "model/builders.hpp"
#include "model/classifier.hpp"

namespace jitterscope {
namespace {

// Numbers its layers as torch.nn.Sequential does.
class Sequence {
 public:
  Sequence(Layers& layers, std::string path, const Maps& x)
      : layers_(layers), path_(std::move(path)), x_(x) {}

  const Maps& result() const { return x_; }
  void convolution(const ConvolutionShape& shape) {
    x_ = layers_.convolution(next(), x_, shape);
    x_ = layers_.activation(next(), x_, ElementwiseKind::relu);
  }
  void max_pool(std::int64_t window) { x_ = layers_.max_pool(next(), x_, window, 2); }

 private:
  std::string next() { return fmt::format("{}.{}", path_, number_++); }

  Layers& layers_;
  std::string path_;
  int number_ = 0;
  Maps x_;
};

Tensor hidden(Layers& layers, int number, Tensor x, std::int64_t in) {
  constexpr std::int64_t kHidden = 4096;
  const Tensor y = layers.linear(fmt::format("classifier.{}", number), x, layers.batch(), in, kHidden);
  return layers.activation(fmt::format("classifier.{}", number + 1), y, ElementwiseKind::relu);
}

}  // namespace

Network build_vgg16(const ModelOptions& options) {
  Classifier classifier("vgg16", options);
  Layers& layers = classifier.layers();
  Sequence features(layers, "features", classifier.images());
  for (const auto& [channels, depth] : {std::pair{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    for (int i = 0; i < depth; ++i) features.convolution({channels, 3, 1, 1, 1, true});
    features.max_pool(2);
  }
  const Maps pooled = layers.average_pool_to("avgpool", features.result(), 7);
  Tensor x = layers.flatten("flatten", pooled);
  x = layers.dropout(hidden(layers, 0, x, std::int64_t{512} * 7 * 7));
  x = layers.dropout(hidden(layers, 3, x, 4096));
  classifier.classify("classifier.6", x, 4096);
  return classifier.take();
}

Network build_alexnet(const ModelOptions& options) {
  Classifier classifier("alexnet", options);
  Layers& layers = classifier.layers();
  Sequence features(layers, "features", classifier.images());
  features.convolution({64, 11, 4, 2, 1, true});
  features.max_pool(3);
  features.convolution({192, 5, 1, 2, 1, true});
  features.max_pool(3);
  for (const std::int64_t channels : {384, 256, 256}) features.convolution({channels, 3, 1, 1, 1, true});
  features.max_pool(3);
  const Maps pooled = layers.average_pool_to("avgpool", features.result(), 6);
  Tensor x = layers.dropout(layers.flatten("flatten", pooled));
  x = layers.dropout(hidden(layers, 1, x, std::int64_t{256} * 6 * 6));
  classifier.classify("classifier.6", hidden(layers, 4, x, 4096), 4096);
  return classifier.take();
}

}  // namespace jitterscope
