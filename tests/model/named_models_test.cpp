#include "model/named_models.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "model/calls.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::operation;
using testing::usage_message;

Model model_of(const std::string& name, const std::string& options = "") {
  return named_model(name, parse_model_options(options, name)).value();
}

template <class Visit>
void for_each_call(const Model& model, const Visit& visit) {
  for (const Call& call : model.calls) visit(operation(model, call), call);
}

bool has_source(const Call& call, std::size_t operand) {
  return std::any_of(call.inputs.begin(), call.inputs.end(),
                     [&](const OperandSource& source) { return source.operand == operand; });
}

// Weights are inputs that no earlier call wrote or read, by these names.
std::int64_t weights(const Model& model) {
  static const std::set<std::string> names = {"w", "weight", "bias", "b", "table"};
  std::int64_t count = 0;
  for_each_call(model, [&](const Operation& work, const Call& call) {
    const std::vector<Operand> operands = work.operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == OperandRole::input && !has_source(call, i) && names.contains(operands[i].name))
        count += operands[i].count;
    }
  });
  return count;
}

// As torchvision, Hugging Face and the literature give them.
TEST(NamedModels, HaveThePublishedNumberOfWeights) {
  constexpr std::int64_t kClassToken = 768;  // read by an operator that is not timed
  const std::map<std::string, std::int64_t> published = {
      {"alexnet", 61'100'840},    {"vgg16", 138'357'544},      {"resnet18", 11'689'512},
      {"resnet50", 25'557'032},   {"mobilenet_v2", 3'504'872}, {"unet", 31'037'698},
      {"bert-base", 109'482'240}, {"gpt2", 124'439'808},       {"vit-b16", 86'567'656 - kClassToken}};
  for (const ModelDescription& model : named_models())
    EXPECT_EQ(weights(model_of(model.name, "direction=fprop")), published.at(model.name)) << model.name;
}

// Multiply-adds of one image, forward, in convolutions and linear layers.
TEST(NamedModels, DoThePublishedNumberOfMultiplyAdds) {
  const std::map<std::string, double> published = {{"alexnet", 0.714e9},
                                                   {"vgg16", 15.470e9},
                                                   {"resnet18", 1.814e9},
                                                   {"resnet50", 4.089e9},
                                                   {"mobilenet_v2", 0.301e9}};
  for (const auto& [name, multiply_adds] : published) {
    double total = 0.0;
    for_each_call(model_of(name, "direction=fprop,batch=1"), [&](const Operation& work, const Call&) {
      if (work.kind() == "conv2d" || work.kind() == "linear") total += work.flops() / 2.0;
    });
    EXPECT_NEAR(total, multiply_adds, 0.001e9) << name;
  }
}

TEST(NamedModels, HaveAllGradientsButTheFirstByTheData) {
  const std::map<std::string, std::int64_t> convolutions = {
      {"resnet18", 20}, {"resnet50", 53}, {"vgg16", 13}};
  for (const auto& [name, count] : convolutions) {
    std::map<Direction, std::int64_t> directions;
    for_each_call(model_of(name), [&](const Operation& work, const Call&) {
      if (const auto* conv = std::get_if<Conv2d>(&work.parameters())) ++directions[conv->direction];
    });
    EXPECT_EQ(directions[Direction::fprop], count) << name;
    EXPECT_EQ(directions[Direction::dgrad], count - 1) << name;
    EXPECT_EQ(directions[Direction::wgrad], count) << name;
  }
}

TEST(NamedModels, AreWholeModels) {
  for (const ModelDescription& description : named_models()) {
    const Model model = model_of(description.name);
    EXPECT_EQ(model.name, description.name);
    EXPECT_NE(model.description, "");
    std::set<std::string> texts, names;
    std::int64_t count = 0;
    for (const Layer& layer : model.layers) {
      EXPECT_TRUE(texts.insert(layer.operation.text()).second) << layer.operation.text();
      count += layer.count();
    }
    EXPECT_EQ(count, static_cast<std::int64_t>(model.calls.size()));
    for (const Call& call : model.calls) {
      EXPECT_TRUE(names.insert(call.name).second) << call.name;
      EXPECT_THAT(model.layers[call.layer].names, Contains(call.name));
    }
  }
}

TEST(NamedModels, TheAttentionOfGpt2ReadsThreePartsOfOneProduct) {
  const Model model = model_of("gpt2", "batch=1,layers=1,direction=fprop");
  const auto found = std::ranges::find_if(
      model.calls, [&](const Call& call) { return operation(model, call).kind() == "attention"; });
  ASSERT_NE(found, model.calls.end());
  ASSERT_EQ(found->inputs.size(), 3u);
  const std::int64_t part = 1024 * 768 * 4;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(model.calls[found->inputs[i].call].name, "transformer.h.0.attn.c_attn.fprop");
    EXPECT_EQ(found->inputs[i].offset, Bytes(static_cast<std::int64_t>(i) * part));
  }
  EXPECT_EQ(found->unwritten, 0);
}

TEST(NamedModels, EachSourceIsAnEarlierOperandThatIsLargeEnough) {
  for (const ModelDescription& description : named_models()) {
    const Model model = model_of(description.name, "batch=2");
    for (std::size_t i = 0; i < model.calls.size(); ++i) {
      const std::vector<Operand> operands = operation(model, model.calls[i]).operands();
      for (const OperandSource& source : model.calls[i].inputs) {
        ASSERT_LT(source.call, i);
        const Call& owner = model.calls[source.call];
        const Operand owned = operation(model, owner).operands().at(source.source_operand);
        EXPECT_FALSE(has_source(owner, source.source_operand)) << "not the first to have it: " << owner.name;
        const std::string_view kind = operation(model, model.calls[i]).kind();
        const bool in_place = kind == "relu" || kind == "add";
        EXPECT_TRUE(in_place || operands.at(source.operand).role == OperandRole::input)
            << model.calls[i].name;
        const Bytes end = source.offset + operands[source.operand].bytes();
        EXPECT_LE(end, owned.bytes()) << model.calls[i].name;
        EXPECT_EQ(source.offset.value() % 256, 0) << model.calls[i].name;
      }
    }
  }
}

std::set<std::string> words(const Model& model, const std::string& parameter) {
  std::set<std::string> result;
  for (const Layer& layer : model.layers) {
    const std::string text = layer.operation.text() + ",";
    const std::size_t found = text.find(parameter + "=");
    if (found != std::string::npos) result.insert(text.substr(found, text.find(',', found) - found));
  }
  return result;
}

TEST(NamedModels, ComputeInWhatIsAskedFor) {
  EXPECT_EQ(words(model_of("resnet18"), "dtype"), (std::set<std::string>{"dtype=f32", "dtype=tf32"}));
  EXPECT_EQ(words(model_of("resnet18", "dtype=f32"), "dtype"), std::set<std::string>{"dtype=f32"});
  EXPECT_EQ(words(model_of("resnet18", "dtype=f16"), "dtype"), std::set<std::string>{"dtype=f16"});
  EXPECT_EQ(words(model_of("resnet18"), "layout"), std::set<std::string>{"layout=nchw"});
  EXPECT_EQ(words(model_of("unet", "layout=nhwc"), "layout"), std::set<std::string>{"layout=nhwc"});
  for (const Layer& layer : model_of("resnet18", "dtype=tf32").layers) {
    const bool is_product = layer.operation.kind() == "linear" || layer.operation.kind() == "conv2d" ||
                            layer.operation.kind() == "matmul";
    EXPECT_EQ(layer.operation.dtype() == DataType::tf32, is_product) << layer.operation.text();
  }
}

TEST(NamedModels, HaveTheSizesThatAreAskedFor) {
  EXPECT_THAT(model_of("resnet50", "batch=7,size=96").layers.front().operation.text(),
              HasSubstr("n=7,c=3,hw=96"));
  EXPECT_THAT(words(model_of("bert-base", "batch=3,seq=50"), "queries"), Contains("queries=50"));
  std::int64_t attentions = 0;
  for (const Layer& layer : model_of("gpt2", "layers=5,batch=1,direction=fprop").layers)
    attentions += layer.operation.kind() == "attention" ? layer.count() : 0;
  EXPECT_EQ(attentions, 5);
}

TEST(NamedModels, WhatTheyDoNotHaveIsNamed) {
  EXPECT_FALSE(named_model("resnet19", {}));
  EXPECT_THAT(usage_message([] { model_of("resnet50", "sise=96"); }),
              AllOf(HasSubstr("resnet50"), HasSubstr("'sise'"), HasSubstr("'size'")));
  EXPECT_THAT(usage_message([] { model_of("resnet50", "seq=96"); }), HasSubstr("'seq'"));
  EXPECT_THAT(usage_message([] { model_of("resnet50", "dtpe=f16"); }), HasSubstr("did you mean 'dtype'?"));
  EXPECT_THAT(usage_message([] { model_of("resnet50", "batch=0"); }),
              HasSubstr("a number from 1 to 1048576"));
  EXPECT_THAT(usage_message([] { model_of("alexnet", "size=20"); }), HasSubstr("alexnet: features."));
  EXPECT_THAT(usage_message([] { model_of("gpt2", "seq=1025"); }),
              AllOf(HasSubstr("gpt2"), HasSubstr("1024")));
  EXPECT_THAT(usage_message([] { model_of("gpt2", "dtype=i64"); }), HasSubstr("i64"));
}

TEST(NamedModels, SayWhatIsNotTimed) {
  std::set<std::string> names;
  for (const UntimedOperator& untimed : model_of("vgg16").untimed) names.insert(untimed.name);
  EXPECT_THAT(names, IsSupersetOf({"aten::native_dropout", "aten::nll_loss_forward", "aten::sum"}));
}

}  // namespace
}  // namespace jitterscope
