#include <fmt/format.h>

#include <array>

#include "model/builders.hpp"
#include "model/layers.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kBatch = 4, kSize = 512, kClasses = 2, kLevels = 4, kFirstChannels = 64;

// The module DoubleConv.
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
                                  "tensors that are copied side by side have no kind of operation"};
  const Tensor both = network.add_untimed(path + ".cat", step, {skipped.tensor, x.tensor}, count);
  return {both, channels, skipped.h, skipped.w};
}

}  // namespace

Network build_unet(const ModelOptions& options) {
  const std::int64_t batch = options.batch.value_or(kBatch), size = axis_or(options, "size", kSize);
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
  const Maps classes = layers.convolution("outc.conv", x, {kClasses, 1, 1, 0, 1, true});
  network.loss("aten::cross_entropy_loss", classes.tensor,
               "the loss of each pixel's label, over channels, has no kind of operation");
  return network;
}

}  // namespace jitterscope
