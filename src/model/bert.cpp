#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "model/builders.hpp"
#include "model/layers.hpp"

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
    // One row of positions for all of the batch.
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

}  // namespace jitterscope
