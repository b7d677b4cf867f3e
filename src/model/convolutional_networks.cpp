#include <array>

#include <fmt/format.h>

#include "model/layers.hpp"
#include "model/named_models.hpp"

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
    // As in torchvision, the stride is that of the 3x3 convolution, not of the first 1x1.
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

namespace {

// Numbers layers as torch.nn.Sequential does.
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
  constexpr std::int64_t kHiddenUnits = 4096;
  const Tensor y = layers.linear(fmt::format("classifier.{}", number), x, layers.batch(), in, kHiddenUnits);
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

namespace {

// Table 2 of Sandler et al., 2018: expansion, channels, repetitions, stride of the first block.
struct Stage {
  std::int64_t expansion, channels, repetitions, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

Maps with_relu6(Layers& layers, const std::string& path, const Maps& x, const ConvolutionShape& shape) {
  const Maps y = layers.batch_norm(path + ".1", layers.convolution(path + ".0", x, shape));
  return layers.relu6_in_place(path + ".2", y);
}

Maps add_block(Layers& layers, int number, std::int64_t expansion, std::int64_t out, std::int64_t stride,
               const Maps& x) {
  const std::string path = fmt::format("features.{}", number);
  auto next = [&, i = 0]() mutable { return fmt::format("{}.conv.{}", path, i++); };
  const std::int64_t hidden = x.c * expansion;
  Maps y = x;
  if (expansion != 1) y = with_relu6(layers, next(), y, {hidden, 1});
  y = with_relu6(layers, next(), y, {hidden, 3, stride, 1, hidden});
  y = layers.convolution(next(), y, {out, 1});
  y = layers.batch_norm(next(), y);
  return stride == 1 && x.c == out ? layers.add(path + ".add", x, y) : y;
}

}  // namespace

Network build_mobilenet_v2(const ModelOptions& options) {
  Classifier classifier("mobilenet_v2", options);
  Layers& layers = classifier.layers();
  Maps x = with_relu6(layers, "features.0", classifier.images(), {32, 3, 2, 1});
  int number = 1;
  for (const Stage& stage : kStages) {
    for (std::int64_t i = 0; i < stage.repetitions; ++i)
      x = add_block(layers, number++, stage.expansion, stage.channels, i == 0 ? stage.stride : 1, x);
  }
  x = with_relu6(layers, fmt::format("features.{}", number), x, {1280, 1});
  x = layers.average_pool_to("avgpool", x, 1);
  classifier.classify("classifier.1", layers.dropout(layers.flatten("flatten", x)), x.c);
  return classifier.take();
}

namespace {

constexpr std::int64_t kBatch = 4, kUnetSize = 512, kUnetClasses = 2, kLevels = 4, kFirstChannels = 64;

// The U-Net's module DoubleConv.
Maps two_convolutions(Layers& layers, const std::string& path, const Maps& x, std::int64_t out) {
  Maps y = x;
  for (int i = 0; i < 2; ++i) {
    const auto part = [&](int number) { return fmt::format("{}.double_conv.{}", path, 3 * i + number); };
    y = layers.batch_norm(part(1), layers.convolution(part(0), y, {out, 3, 1, 1}));
    y = layers.activation(part(2), y, ElementwiseKind::relu);
  }
  return y;
}

Maps joined_with(Layers& layers, const std::string& path, const Maps& skipped, const Maps& x) {
  Network& network = layers.network();
  network.skip({"aten::constant_pad_nd", "aten::constant_pad_nd",
                "padding by nothing is a copy whose time depends on PyTorch's own kernel"});
  const std::int64_t channels = skipped.c + x.c;
  const std::int64_t count = layers.batch() * channels * skipped.h * skipped.w;
  const Network::UntimedStep step{"aten::cat", "aten::slice_backward",
                                  "jitterscope has no operation for tensors that are copied side by side"};
  const Tensor both = network.add_untimed(path + ".cat", step, {skipped.tensor, x.tensor}, count);
  return {both, channels, skipped.h, skipped.w};
}

}  // namespace

Network build_unet(const ModelOptions& options) {
  const std::int64_t batch = options.batch.value_or(kBatch), size = axis_or(options, "size", kUnetSize);
  Network network("unet",
                  fmt::format("U-Net with transposed convolutions, batch norms and 2 classes as PyTorch "
                              "trains it: batch {}, images of {}x{}, {}",
                              batch, size, size, precision_text(options)));
  Layers layers(network, options, batch);
  std::array<Maps, kLevels> skipped;
  Maps x = two_convolutions(layers, "inc", layers.images(3, size), kFirstChannels);
  for (std::size_t level = 0; level < kLevels; ++level) {
    skipped[level] = x;
    const std::string path = fmt::format("down{}.maxpool_conv", level + 1);
    x = two_convolutions(layers, path + ".1", layers.max_pool(path + ".0", x, 2, 2), 2 * x.c);
  }
  for (std::size_t level = kLevels; level-- > 0;) {
    const std::string path = fmt::format("up{}", kLevels - level);
    const std::int64_t out = x.c / 2;
    const Maps up = layers.doubling_convolution(path + ".up", x, out);
    x = two_convolutions(layers, path + ".conv", joined_with(layers, path, skipped[level], up), out);
  }
  const Maps classes = layers.convolution("outc.conv", x, {kUnetClasses, 1, 1, 0, 1, true});
  network.loss("aten::cross_entropy_loss", classes.tensor,
               "jitterscope has no operation for the loss of each pixel's label, over channels");
  return network;
}

}  // namespace jitterscope
