// The networks that are known by name, each with its weights' names and order of torchvision or Hugging Face.
#pragma once

#include "model/network.hpp"

namespace jitterscope {

Network build_alexnet(const ModelOptions& options);
Network build_vgg16(const ModelOptions& options);
Network build_resnet18(const ModelOptions& options);
Network build_resnet50(const ModelOptions& options);
Network build_mobilenet_v2(const ModelOptions& options);
Network build_unet(const ModelOptions& options);
Network build_bert_base(const ModelOptions& options);
Network build_gpt2(const ModelOptions& options);
Network build_vit_b16(const ModelOptions& options);

}  // namespace jitterscope
