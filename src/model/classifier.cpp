#include "model/classifier.hpp"

#include <fmt/format.h>

namespace jitterscope {
namespace {

constexpr std::int64_t kClassifierBatch = 32, kSize = 224, kClasses = 1000;

std::string description(const std::string& name, const ModelOptions& options) {
  const std::int64_t size = axis_or(options, "size", kSize);
  return fmt::format("torchvision's {} as PyTorch trains it: batch {}, images of {}x{}, {}", name,
                     options.batch.value_or(kClassifierBatch), size, size, precision_text(options));
}

}  // namespace

Classifier::Classifier(const std::string& name, const ModelOptions& options)
    : size_(axis_or(options, "size", kSize)),
      network_(name, description(name, options)),
      layers_(network_, options, options.batch.value_or(kClassifierBatch)) {}

void Classifier::classify(const std::string& name, Tensor features, std::int64_t count) {
  const Tensor classes = layers_.linear(name, features, layers_.batch(), count, kClasses);
  layers_.cross_entropy(classes, layers_.batch(), kClasses);
}

}  // namespace jitterscope
