#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "model/builders.hpp"
#include "model/layers.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kGpt2Batch = 8, kGpt2Sequence = 1024, kGpt2Layers = 12;
constexpr std::int64_t kGpt2Words = 50257, kGpt2Positions = 1024;
constexpr std::int64_t kGpt2Hidden = 768, kGpt2Heads = 12, kGpt2Inner = 4 * kGpt2Hidden;

class Gpt2 {
 public:
  Gpt2(Layers& layers, std::int64_t sequence)
      : layers_(layers),
        network_(layers.network()),
        sequence_(sequence),
        rows_(layers.batch() * sequence),
        words_(network_.parameter(kGpt2Words * kGpt2Hidden, layers.data_types().other)) {}

  Tensor embeddings() {
    const DataType type = layers_.data_types().other;
    const Tensor words = network_.add("transformer.wte", Embedding{rows_, kGpt2Words, kGpt2Hidden, type},
                                      {network_.input(rows_, DataType::i64), words_});
    const Tensor positions =
        network_.add("transformer.wpe", Embedding{sequence_, kGpt2Positions, kGpt2Hidden, type},
                     {network_.input(sequence_, DataType::i64)});
    return layers_.dropout(
        layers_.add_to_rows("transformer.add", words, layers_.batch(), sequence_ * kGpt2Hidden, {positions}));
  }

  Tensor block(const std::string& path, Tensor x) {
    const Tensor normal = layers_.layer_norm(path + ".ln_1", x, rows_, kGpt2Hidden);
    const Tensor projected = product(path + ".attn.c_attn", normal, kGpt2Hidden, 3 * kGpt2Hidden);
    const std::int64_t part = rows_ * kGpt2Hidden;
    const Attention shape{.batch = layers_.batch(),
                          .heads = kGpt2Heads,
                          .queries = sequence_,
                          .keys = sequence_,
                          .dim = kGpt2Hidden / kGpt2Heads,
                          .causal = true,
                          .layout = HeadLayout::bshd,
                          .dtype = layers_.data_types().product};
    const Tensor seen = network_.add(path + ".attn.attention", shape,
                                     network_.split(path + ".attn.split", projected, {part, part, part}));
    const Tensor attended = layers_.add(
        path + ".add", layers_.dropout(product(path + ".attn.c_proj", seen, kGpt2Hidden, kGpt2Hidden)), x);
    const Tensor second = layers_.layer_norm(path + ".ln_2", attended, rows_, kGpt2Hidden);
    const Tensor bent =
        layers_.activation(path + ".mlp.act", product(path + ".mlp.c_fc", second, kGpt2Hidden, kGpt2Inner),
                           ElementwiseKind::gelu);
    const Tensor narrow = layers_.dropout(product(path + ".mlp.c_proj", bent, kGpt2Inner, kGpt2Hidden));
    return layers_.add(path + ".add_1", attended, narrow);
  }

  void head(Tensor x) {
    const Tensor normal = layers_.layer_norm("transformer.ln_f", x, rows_, kGpt2Hidden);
    Matmul shape{rows_, kGpt2Words, kGpt2Hidden};
    shape.transpose_b = true;
    shape.dtype = layers_.data_types().product;
    layers_.cross_entropy(network_.add("lm_head", shape, {normal, words_}), rows_, kGpt2Words);
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
  const std::int64_t batch = options.batch.value_or(kGpt2Batch),
                     sequence = axis_or(options, "seq", kGpt2Sequence);
  const std::int64_t depth = axis_or(options, "layers", kGpt2Layers);
  if (sequence > kGpt2Positions)
    throw UsageError(fmt::format("seq={} is too long; it knows {} positions", sequence, kGpt2Positions));
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
