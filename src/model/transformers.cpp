#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "model/layers.hpp"
#include "model/named_models.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kBertBatch = 32, kBertSequence = 128, kBertLayers = 12;
constexpr std::int64_t kBertWords = 30522, kBertPositions = 512, kBertTokenTypes = 2;
constexpr std::int64_t kBertHidden = 768, kBertHeads = 12, kBertInner = 4 * kBertHidden;

class Bert {
 public:
  Bert(Layers& layers, std::int64_t sequence)
      : layers_(layers), sequence_(sequence), rows_(layers.batch() * sequence) {}

  Tensor embeddings() {
    const Tensor words = embedding("word_embeddings", rows_, kBertWords);
    const Tensor types = embedding("token_type_embeddings", rows_, kBertTokenTypes);
    const Tensor both = layers_.add("embeddings.add", words, types);
    // The batch shares one row of positions.
    const Tensor positions = embedding("position_embeddings", sequence_, kBertPositions);
    const Tensor all =
        layers_.add_to_rows("embeddings.add_1", both, layers_.batch(), sequence_ * kBertHidden, {positions});
    return layers_.dropout(normalized("embeddings.LayerNorm", all));
  }

  Tensor block(const std::string& path, Tensor x) {
    const std::string attention = path + ".attention";
    const auto projected = [&](const char* name) {
      return layers_.linear(fmt::format("{}.self.{}", attention, name), x, rows_, kBertHidden, kBertHidden);
    };
    const Tensor query = projected("query"), key = projected("key"), value = projected("value");
    const Attention shape{.batch = layers_.batch(),
                          .heads = kBertHeads,
                          .queries = sequence_,
                          .keys = sequence_,
                          .dim = kBertHidden / kBertHeads,
                          .layout = HeadLayout::bshd,
                          .dtype = layers_.data_types().product};
    const Tensor seen = layers_.network().add(attention + ".self.attention", shape, {query, key, value});
    const Tensor attended = output(attention + ".output", seen, kBertHidden, x);
    const Tensor wide =
        layers_.linear(path + ".intermediate.dense", attended, rows_, kBertHidden, kBertInner);
    const Tensor bent =
        layers_.activation(path + ".intermediate.intermediate_act_fn", wide, ElementwiseKind::gelu);
    return output(path + ".output", bent, kBertInner, attended);
  }

  Tensor pooler(Tensor x) {
    const Tensor first = layers_.network().select("pooler.first", x, layers_.batch() * kBertHidden);
    const Tensor y = layers_.linear("pooler.dense", first, layers_.batch(), kBertHidden, kBertHidden);
    return layers_.activation("pooler.activation", y, ElementwiseKind::tanh);
  }

 private:
  Tensor embedding(const std::string& name, std::int64_t count, std::int64_t rows) {
    const Tensor indices = layers_.network().input(count, DataType::i64);
    const Embedding shape{count, rows, kBertHidden, layers_.data_types().other};
    return layers_.network().add("embeddings." + name, shape, {indices});
  }
  Tensor normalized(const std::string& name, Tensor x) {
    return layers_.layer_norm(name, x, rows_, kBertHidden);
  }
  Tensor output(const std::string& path, Tensor x, std::int64_t in, Tensor residual) {
    const Tensor y = layers_.dropout(layers_.linear(path + ".dense", x, rows_, in, kBertHidden));
    return normalized(path + ".LayerNorm", layers_.add(path + ".add", y, residual));
  }

  Layers& layers_;
  std::int64_t sequence_, rows_;
};

}  // namespace

Network build_bert_base(const ModelOptions& options) {
  const std::int64_t batch = options.batch.value_or(kBertBatch),
                     sequence = axis_or(options, "seq", kBertSequence);
  const std::int64_t depth = axis_or(options, "layers", kBertLayers);
  if (sequence > kBertPositions)
    throw UsageError(fmt::format("seq={} is too long; it knows {} positions", sequence, kBertPositions));
  Network network(
      "bert-base",
      fmt::format("BERT base with its pooler as PyTorch trains Hugging Face's: batch {}, {} tokens, "
                  "{} layers, {}",
                  batch, sequence, depth, precision_text(options, false)));
  Layers layers(network, options, batch);
  Bert bert(layers, sequence);
  Tensor x = bert.embeddings();
  for (std::int64_t i = 0; i < depth; ++i) x = bert.block(fmt::format("encoder.layer.{}", i), x);
  network.loss("loss", bert.pooler(x), "the model has no loss of its own; backward begins at the pooler");
  return network;
}

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
  // The module Conv1D: its weight is stored as in·out, and addmm reads it as it is.
  Tensor product(const std::string& name, Tensor x, std::int64_t in, std::int64_t out) {
    Matmul shape{rows_, out, in};
    shape.bias = true;
    shape.dtype = layers_.data_types().product;
    return network_.add(name, shape, {x});
  }

  Layers& layers_;
  Network& network_;
  std::int64_t sequence_, rows_;
  Tensor words_;  // weight that the embedding and the head share
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

namespace {

constexpr std::int64_t kPatch = 16, kLayers = 12, kHidden = 768, kHeads = 12, kInner = 4 * kHidden;
constexpr const char* kCopyInAnotherOrder = "jitterscope has no operation for a copy that changes the order";

class VisionTransformer {
 public:
  VisionTransformer(Layers& layers, std::int64_t tokens)
      : layers_(layers), network_(layers.network()), tokens_(tokens), rows_(layers.batch() * tokens) {}

  // Puts the class token before the patches.
  Tensor tokens_of(const Maps& patches) {
    const Tensor class_token = network_.parameter(kHidden, layers_.data_types().other);
    const Network::UntimedStep step{"aten::cat", "aten::slice_backward",
                                    "jitterscope has no operation for tensors that are copied side by side"};
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

  // torch.nn.MultiheadAttention with batch_first=True transposes its input to tokens·batch. So the product
  // reads a copy, and a separate kernel adds the bias.
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
