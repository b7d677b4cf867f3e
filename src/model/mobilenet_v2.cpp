#include <fmt/format.h>

#include "model/builders.hpp"
#include "model/classifier.hpp"

namespace jitterscope {
namespace {

// Table 2 of Sandler et al., 2018: expansion, channels, repetitions, stride of the first.
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

}  // namespace jitterscope
