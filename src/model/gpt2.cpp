#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "model/builders.hpp"
#include "model/layers.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kBatch = 8, kSequence = 1024, kLayers = 12;
constexpr std::int64_t kWords = 50257, kPositions = 1024;
constexpr std::int64_t kHidden = 768, kHeads = 12, kInner = 4 * kHidden;

class Gpt2 {
 public:
  Gpt2(Layers& layers, std::int64_t sequence)
      : layers_(layers),
        network_(layers.network()),
        sequence_(sequence),
        rows_(layers.batch() * sequence),
        words_(network_.parameter(kWords * kHidden, layers.data_types().other)) {}

  Tensor embeddings() {
    const DataType type = layers_.data_types().other;
    const Tensor words = network_.add("transformer.wte", Embedding{rows_, kWords, kHidden, type},
                                      {network_.input(rows_, DataType::i64), words_});
    const Tensor positions = network_.add("transformer.wpe", Embedding{sequence_, kPositions, kHidden, type},
                                          {network_.input(sequence_, DataType::i64)});
    return layers_.dropout(
        layers_.add_to_rows("transformer.add", words, layers_.batch(), sequence_ * kHidden, {positions}));
  }

  Tensor block(const std::string& path, Tensor x) {
    const Tensor normal = layers_.layer_norm(path + ".ln_1", x, rows_, kHidden);
    const Tensor projected = product(path + ".attn.c_attn", normal, kHidden, 3 * kHidden);
    const std::int64_t part = rows_ * kHidden;
    const Attention shape{.batch = layers_.batch(),
                          .heads = kHeads,
                          .queries = sequence_,
                          .keys = sequence_,
                          .dim = kHidden / kHeads,
                          .causal = true,
                          .layout = HeadLayout::bshd,
                          .dtype = layers_.data_types().product};
    const Tensor seen = network_.add(path + ".attn.attention", shape,
                                     network_.split(path + ".attn.split", projected, {part, part, part}));
    const Tensor attended = layers_.add(
        path + ".add", layers_.dropout(product(path + ".attn.c_proj", seen, kHidden, kHidden)), x);
    const Tensor second = layers_.layer_norm(path + ".ln_2", attended, rows_, kHidden);
    const Tensor bent = layers_.activation(
        path + ".mlp.act", product(path + ".mlp.c_fc", second, kHidden, kInner), ElementwiseKind::gelu);
    const Tensor narrow = layers_.dropout(product(path + ".mlp.c_proj", bent, kInner, kHidden));
    return layers_.add(path + ".add_1", attended, narrow);
  }

  void head(Tensor x) {
    const Tensor normal = layers_.layer_norm("transformer.ln_f", x, rows_, kHidden);
    Matmul shape{rows_, kWords, kHidden};
    shape.transpose_b = true;
    shape.dtype = layers_.data_types().product;
    layers_.cross_entropy(network_.add("lm_head", shape, {normal, words_}), rows_, kWords);
  }

 private:
  // The module Conv1D: its weight is stored in·out, and addmm reads it as it is.
  Tensor product(const std::string& name, Tensor x, std::int64_t in, std::int64_t out) {
    Matmul shape{rows_, out, in};
    shape.bias = true;
    shape.dtype = layers_.data_types().product;
    return network_.add(name, shape, {x});
  }

  Layers& layers_;
  Network& network_;
  std::int64_t sequence_, rows_;
  Tensor words_;  // of the embedding and of the head
};

}  // namespace

Network build_gpt2(const ModelOptions& options) {
  const std::int64_t batch = options.batch.value_or(kBatch), sequence = axis_or(options, "seq", kSequence);
  const std::int64_t depth = axis_or(options, "layers", kLayers);
  if (sequence > kPositions)
    throw UsageError(fmt::format("seq={} is too long; it knows {} positions", sequence, kPositions));
  Network network("gpt2",
                  fmt::format("GPT-2 of 124 million weights as PyTorch trains Hugging Face's: batch {}, {} "
                              "tokens, {} layers, {}",
                              batch, sequence, depth, precision_text(options, false)));
  network.note(
      "Hugging Face's gelu_new runs as eight elementwise kernels forward; here it is one gelu in each "
      "direction.");
  network.note(
      "In PyTorch attention's queries, keys and values are parts of each row of one product; here each lies "
      "on its own.");
  Layers layers(network, options, batch);
  Gpt2 gpt2(layers, sequence);
  Tensor x = gpt2.embeddings();
  for (std::int64_t i = 0; i < depth; ++i) x = gpt2.block(fmt::format("transformer.h.{}", i), x);
  gpt2.head(x);
  return network;
}

}  // namespace jitterscope
