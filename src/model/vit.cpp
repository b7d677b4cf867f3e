#include <fmt/format.h>

#include "model/builders.hpp"
#include "model/classifier.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kPatch = 16, kLayers = 12, kHidden = 768, kHeads = 12, kInner = 4 * kHidden;
constexpr const char* kCopyInAnotherOrder = "a copy that changes the order has no kind of operation";

class VisionTransformer {
 public:
  VisionTransformer(Layers& layers, std::int64_t tokens)
      : layers_(layers), network_(layers.network()), tokens_(tokens), rows_(layers.batch() * tokens) {}

  // The class token goes before the patches.
  Tensor tokens_of(const Maps& patches) {
    const Tensor class_token = network_.parameter(kHidden, layers_.data_types().other);
    const Network::UntimedStep step{"aten::cat", "aten::slice_backward",
                                    "tensors that are copied side by side have no kind of operation"};
    const Tensor all =
        network_.add_untimed("class_token", step, {class_token, patches.tensor}, rows_ * kHidden);
    return layers_.add_to_rows("encoder.pos_embedding", all, layers_.batch(), tokens_ * kHidden);
  }

  Tensor block(const std::string& path, Tensor x) {
    const Tensor normal = layers_.layer_norm(path + ".ln_1", x, rows_, kHidden);
    const Tensor attended = layers_.add(path + ".add", attention(path + ".self_attention", normal), x);
    const Tensor second = layers_.layer_norm(path + ".ln_2", attended, rows_, kHidden);
    const Tensor wide = layers_.linear(path + ".mlp.0", second, rows_, kHidden, kInner);
    const Tensor bent = layers_.activation(path + ".mlp.1", wide, ElementwiseKind::gelu);
    return layers_.add(path + ".add_1", attended,
                       layers_.linear(path + ".mlp.3", bent, rows_, kInner, kHidden));
  }

  Tensor first_token(Tensor x) {
    const Tensor normal = layers_.layer_norm("encoder.ln", x, rows_, kHidden);
    return network_.select("class", normal, layers_.batch() * kHidden);
  }

 private:
  Tensor copied(const std::string& name, Tensor x) {
    const Network::UntimedStep step{"aten::clone", "aten::clone", kCopyInAnotherOrder};
    return network_.add_untimed(name, step, {x}, network_.facts(x).count);
  }

  // torch.nn.MultiheadAttention with batch_first=True: its input is turned to tokens·batch, so that the
  // product is of a copy and the bias a kernel of its own.
  Tensor attention(const std::string& path, Tensor x) {
    Matmul shape{rows_, 3 * kHidden, kHidden};
    shape.transpose_b = true;
    shape.dtype = layers_.data_types().product;
    const Tensor product = network_.add(path + ".in_proj", shape, {copied(path + ".transpose", x)});
    const Tensor projected = layers_.add_to_rows(path + ".in_proj.bias", product, rows_, 3 * kHidden);
    const std::vector<Tensor> parts =
        network_.unbind(path + ".unbind", copied(path + ".contiguous", projected), 3);
    const Attention heads{.batch = layers_.batch(),
                          .heads = kHeads,
                          .queries = tokens_,
                          .keys = tokens_,
                          .dim = kHidden / kHeads,
                          .layout = HeadLayout::sbhd,
                          .dtype = layers_.data_types().product};
    const Tensor seen = network_.add(path + ".attention", heads, parts);
    return layers_.linear(path + ".out_proj", seen, rows_, kHidden, kHidden);
  }

  Layers& layers_;
  Network& network_;
  std::int64_t tokens_, rows_;
};

}  // namespace

Network build_vit_b16(const ModelOptions& options) {
  Classifier classifier("vit_b_16", options);
  Layers& layers = classifier.layers();
  const Maps patches =
      layers.convolution("conv_proj", classifier.images(), {kHidden, kPatch, kPatch, 0, 1, true});
  VisionTransformer transformer(layers, patches.h * patches.w + 1);
  Tensor x = transformer.tokens_of(patches);
  for (std::int64_t i = 0; i < kLayers; ++i)
    x = transformer.block(fmt::format("encoder.layers.encoder_layer_{}", i), x);
  classifier.classify("heads.head", transformer.first_token(x), kHidden);
  return classifier.take();
}

}  // namespace jitterscope
