#include <fmt/format.h>
#include <array>

#include "model/builders.hpp"
#include "model/classifier.hpp"

namespace jitterscope {
namespace {

struct Resnet {
  bool bottleneck;
  std::array<int, 4> depths;
};

struct Block {
  std::string name;
  std::int64_t width, out, stride;
  bool bottleneck;
};

Maps normalized(Layers& layers, const std::string& block, int number, const Maps& x,
                const ConvolutionShape& shape) {
  const Maps y = layers.convolution(fmt::format("{}.conv{}", block, number), x, shape);
  return layers.batch_norm(fmt::format("{}.bn{}", block, number), y);
}

Maps rectified(Layers& layers, const std::string& name, const Maps& x) {
  return layers.activation(name, x, ElementwiseKind::relu);
}

Maps add_block(Layers& layers, const Block& block, const Maps& x) {
  const auto& [name, width, out, stride, bottleneck] = block;
  Maps y;
  if (bottleneck) {
    // torchvision's: the stride is that of the 3x3 convolution, not of the first 1x1.
    y = rectified(layers, name + ".relu1", normalized(layers, name, 1, x, {width, 1}));
    y = rectified(layers, name + ".relu2", normalized(layers, name, 2, y, {width, 3, stride, 1}));
    y = normalized(layers, name, 3, y, {out, 1});
  } else {
    y = rectified(layers, name + ".relu1", normalized(layers, name, 1, x, {width, 3, stride, 1}));
    y = normalized(layers, name, 2, y, {out, 3, 1, 1});
  }
  Maps identity = x;
  if (stride != 1 || x.c != out) {
    identity = layers.convolution(name + ".downsample.0", x, {out, 1, stride});
    identity = layers.batch_norm(name + ".downsample.1", identity);
  }
  return rectified(layers, name + ".relu", layers.add_in_place(name + ".add", y, identity));
}

Network build(const std::string& name, const Resnet& resnet, const ModelOptions& options) {
  Classifier classifier(name, options);
  Layers& layers = classifier.layers();
  Maps x = layers.convolution("conv1", classifier.images(), {64, 7, 2, 3});
  x = rectified(layers, "relu", layers.batch_norm("bn1", x));
  x = layers.max_pool("maxpool", x, 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage, out = width * (resnet.bottleneck ? 4 : 1);
    for (int block = 0; block < resnet.depths[static_cast<std::size_t>(stage)]; ++block) {
      const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
      const std::string path = fmt::format("layer{}.{}", stage + 1, block);
      x = add_block(layers, {path, width, out, stride, resnet.bottleneck}, x);
    }
  }
  x = layers.average_pool_to("avgpool", x, 1);
  classifier.classify("fc", layers.flatten("flatten", x), x.c);
  return classifier.take();
}

}  // namespace

Network build_resnet18(const ModelOptions& options) {
  return build("resnet18", {false, {2, 2, 2, 2}}, options);
}
Network build_resnet50(const ModelOptions& options) {
  return build("resnet50", {true, {3, 4, 6, 3}}, options);
}

}  // namespace jitterscope
