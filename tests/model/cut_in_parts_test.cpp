// A transformer as one of several ranks has it: what its parts multiply to, and how they fit each other.
#include "model/cut_in_parts.hpp"

#include <gmock/gmock.h>

#include <set>

#include "calls.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"

namespace jitterscope {
namespace {

using testing::call_named;
using ::testing::HasSubstr;
using testing::operation;
using ::testing::ThrowsMessage;

struct Whole {
  explicit Whole(const std::string& name, const std::string& options = "batch=2,dtype=f16")
      : model(*named_model(name, parse_model_options(options, name))), layers(step_layers(model)) {}
  Model cut(std::int64_t ranks, bool by_sequence = false) const {
    return cut_in_parts(model, layers, ranks, by_sequence);
  }
  std::string text_in(const Model& network, const std::string& call) const {
    return operation(network, call_named(network, call)).text();
  }

  Model model;
  StepLayers layers;
};

Bytes bytes_of(const Model& model, std::size_t call, std::size_t operand) {
  return operation(model, model.calls[call]).operands()[operand].bytes();
}

// Of products and attention; without a bias, which one rank adds. Else 0.
double multiply_adds(const Operation& operation) {
  if (const auto* linear = std::get_if<Linear>(&operation.parameters()))
    return static_cast<double>(linear->n * linear->in * linear->out);
  if (const auto* product = std::get_if<Matmul>(&operation.parameters()))
    return static_cast<double>(product->m * product->n * product->k);
  return std::holds_alternative<Attention>(operation.parameters()) ? operation.flops() / 2 : 0.0;
}

TEST(CutInParts, ThePartsOfAllRanksMultiplyAsMuchAsTheWhole) {
  for (const char* name : {"gpt2", "bert-base", "vit-b16"}) {
    const Whole whole(name, "batch=12,dtype=f16");
    for (const std::int64_t ranks : {2, 3, 4}) {
      for (const bool by_sequence : {false, true}) {
        const Model cut = whole.cut(ranks, by_sequence);
        ASSERT_EQ(cut.calls.size(), whole.model.calls.size());
        double parts = 0, products = 0;
        for (const plan::LayerCosts& layer : whole.layers.network.layers) {
          const LayerCalls& calls = whole.layers.calls[&layer - whole.layers.network.layers.data()];
          for (const auto* direction : {&calls.forward, &calls.backward}) {
            for (const std::size_t c : *direction) {
              const Operation &own = operation(cut, cut.calls[c]),
                              &all = operation(whole.model, whole.model.calls[c]);
              EXPECT_EQ(cut.calls[c].name, whole.model.calls[c].name);
              if (layer.is_split) {
                parts += multiply_adds(own) * static_cast<double>(ranks);
                products += multiply_adds(all);
              } else if (!layer.is_split && !(by_sequence && layer.follows_sequence)) {
                EXPECT_EQ(own, all) << name << ": " << cut.calls[c].name;
              }
            }
          }
        }
        EXPECT_GT(products, 0.0);
        EXPECT_NEAR(parts / products, 1.0, 1e-12) << name << " on " << ranks;
      }
    }
  }
}

TEST(CutInParts, CutsColumnsThenRowsInEachDirection) {
  const Whole gpt2("gpt2", "batch=1,dtype=f16,layers=1");
  const Model cut = gpt2.cut(2);
  const std::string block = "transformer.h.0.";
  const auto text = [&](const std::string& call) { return gpt2.text_in(cut, block + call); };
  EXPECT_EQ(text("attn.c_attn.fprop"), "matmul:m=1024,n=1152,k=768,bias=1,dtype=f16");
  EXPECT_EQ(text("attn.c_attn.dgrad"), "matmul:m=1024,n=768,k=1152,tb=1,dtype=f16");
  EXPECT_EQ(text("attn.c_attn.wgrad"), "matmul:m=768,n=1152,k=1024,ta=1,dtype=f16");
  EXPECT_EQ(text("attn.c_proj.fprop"), "matmul:m=1024,n=768,k=384,bias=1,dtype=f16");
  EXPECT_EQ(text("attn.c_proj.dgrad"), "matmul:m=1024,n=384,k=768,tb=1,dtype=f16");
  EXPECT_EQ(text("attn.c_proj.wgrad"), "matmul:m=384,n=768,k=1024,ta=1,dtype=f16");
  EXPECT_THAT(text("attn.attention.forward"), HasSubstr("heads=6,"));
  EXPECT_EQ(text("mlp.act.forward"), "gelu:count=1572864,dtype=f16");
  EXPECT_EQ(text("ln_1.forward"), gpt2.text_in(gpt2.model, block + "ln_1.forward"));
  // Weights of Linear are stored the other way round.
  const Whole bert("bert-base", "batch=1,dtype=f16,layers=1");
  const Model parts = bert.cut(2);
  EXPECT_EQ(bert.text_in(parts, "encoder.layer.0.intermediate.dense.wgrad"),
            "matmul:m=1536,n=768,k=128,ta=1,dtype=f16");
  EXPECT_EQ(bert.text_in(parts, "encoder.layer.0.output.dense.wgrad"),
            "matmul:m=768,n=1536,k=128,ta=1,dtype=f16");
}

TEST(CutInParts, CallsReadWhatEarlierOnesWrote) {
  for (const char* name : {"gpt2", "bert-base", "vit-b16"}) {
    const Whole whole(name);
    const Model cut = whole.cut(2);
    for (std::size_t c = 0; c < cut.calls.size(); ++c) {
      const Call &own = cut.calls[c], &all = whole.model.calls[c];
      ASSERT_EQ(own.inputs.size(), all.inputs.size()) << own.name;
      EXPECT_EQ(own.unwritten, all.unwritten) << own.name;
      for (std::size_t i = 0; i < own.inputs.size(); ++i) {
        const OperandSource &source = own.inputs[i], &before = all.inputs[i];
        // The same part of the same operand.
        const auto share = [](const Model& model, std::size_t reader, const OperandSource& of) {
          return bytes_of(model, reader, of.operand) / bytes_of(model, of.call, of.source_operand);
        };
        EXPECT_EQ(source.call, before.call);
        EXPECT_EQ(share(cut, c, source), share(whole.model, c, before)) << own.name;
        EXPECT_LE(source.offset + bytes_of(cut, c, source.operand),
                  bytes_of(cut, source.call, source.source_operand));
      }
    }
  }
}

TEST(CutInParts, BySequenceReadsWhatWasGathered) {
  constexpr std::int64_t kBlocks = 2;
  for (const char* name : {"gpt2", "bert-base"}) {
    const Whole whole(name, "batch=2,dtype=f16,layers=2");
    const Model cut = whole.cut(2, true);
    std::int64_t gathered = 0;
    for (std::size_t c = 0; c < cut.calls.size(); ++c) {
      gathered += cut.calls[c].unwritten - whole.model.calls[c].unwritten;
      for (const OperandSource& source : cut.calls[c].inputs)
        EXPECT_LE(source.offset + bytes_of(cut, c, source.operand),
                  bytes_of(cut, source.call, source.source_operand))
            << cut.calls[c].name;
    }
    // For two pairs of products in each direction of a block (the last gradient is whole anyway), and for
    // what lies in front of the blocks; GPT-2's head reads all, BERT's pooler the first tokens alone.
    EXPECT_GE(gathered, 4 * kBlocks - 1) << name;
    EXPECT_LE(gathered, 4 * kBlocks + 2) << name;
  }
}

TEST(CutInParts, GradientsThatAreSummedBeforeAnExchangeAreWhole) {
  const Whole bert("bert-base", "batch=2,dtype=f16,layers=2");
  const std::string attention = "encoder.layer.1.attention.self.";
  const std::int64_t all = 2 * 128 * 768;
  const auto count = [&](const Model& cut, const std::string& call) {
    return std::get<Elementwise>(operation(cut, call_named(cut, call)).parameters()).count;
  };
  const Model cut = bert.cut(2), by_sequence = bert.cut(2, true);
  for (const char* product : {"query", "key", "value"})
    EXPECT_EQ(count(cut, attention + product + ".accumulate.backward"), all) << product;
  EXPECT_EQ(count(by_sequence, attention + "query.accumulate.backward"), all);
  EXPECT_EQ(count(by_sequence, attention + "key.accumulate.backward"), all);
  // The residual's gradient is added to its own rows of the first one.
  const Call& residual = call_named(by_sequence, attention + "value.accumulate.backward");
  EXPECT_EQ(operation(by_sequence, residual).operands().front().count, all / 2);
  constexpr std::size_t kResult = 2;
  const auto in_place = std::ranges::find(residual.inputs, kResult, &OperandSource::operand);
  ASSERT_NE(in_place, residual.inputs.end());
  EXPECT_EQ(by_sequence.calls[in_place->call].name, attention + "value.dgrad");
}

TEST(CutInParts, SaysWhyANetworkCannotBeCut) {
  const auto refusal = [](const Whole& whole, std::int64_t ranks, bool by_sequence) {
    return [&whole, ranks, by_sequence] { whole.cut(ranks, by_sequence); };
  };
  const Whole resnet("resnet18"), gpt2("gpt2", "batch=1,seq=1023,dtype=f16,layers=1");
  EXPECT_THAT(refusal(resnet, 2, false),
              ThrowsMessage<UsageError>(HasSubstr("resnet18 has no attention, and layers are cut")));
  EXPECT_THAT(refusal(gpt2, 5, false), ThrowsMessage<UsageError>(HasSubstr("12 heads of gpt2")));
  EXPECT_THAT(refusal(gpt2, 2, true), ThrowsMessage<UsageError>(HasSubstr("as in gpt2:batch=2")));
  EXPECT_NO_THROW(gpt2.cut(2));
}

TEST(OneAfterAnother, NumbersTheCallsOfLaterNetworksBehindThoseOfEarlierOnes) {
  const Whole gpt2("gpt2", "batch=1,dtype=f16,layers=1");
  const std::vector<Model> both = {gpt2.model, gpt2.cut(2)};
  const Model all = one_after_another(both);
  const std::size_t calls = gpt2.model.calls.size();
  ASSERT_EQ(all.calls.size(), 2 * calls);
  std::set<std::string> names;
  for (std::size_t c = 0; c < all.calls.size(); ++c) {
    names.insert(all.calls[c].name);
    const Model& own = both[c / calls];
    EXPECT_EQ(operation(all, all.calls[c]), operation(own, own.calls[c % calls]));
    for (std::size_t i = 0; i < all.calls[c].inputs.size(); ++i)
      EXPECT_EQ(all.calls[c].inputs[i].call, own.calls[c % calls].inputs[i].call + (c < calls ? 0 : calls));
  }
  EXPECT_EQ(names.size(), all.calls.size());
}

}  // namespace
}  // namespace jitterscope
