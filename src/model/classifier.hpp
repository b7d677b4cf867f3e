// What torchvision's classifiers of images share: 1000 classes, 32 images of 224x224 unless asked otherwise.
#pragma once

#include "model/layers.hpp"

namespace jitterscope {

class Classifier {
 public:
  Classifier(const std::string& name, const ModelOptions& options);

  Layers& layers() { return layers_; }
  Maps images() { return layers_.images(3, size_); }
  /// The last layer and the loss.
  void classify(const std::string& name, Tensor features, std::int64_t count);
  Network take() { return std::move(network_); }

 private:
  std::int64_t size_;
  Network network_;
  Layers layers_;
};

}  // namespace jitterscope
