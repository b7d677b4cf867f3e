// Costs of layers from a network's calls and a record: what is read from which call, and what is refused.
#include "model/step_costs.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "model/named_models.hpp"
#include "plan/network_costs.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;

Model network(const std::string& name, const std::string& options) {
  return *named_model(name, parse_model_options(options, name));
}

TimeEstimate around(Nanoseconds time) { return {time, time * 0.99, time * 1.01, 20}; }

// A record in which each operation takes 1 us and one more for each that came before it.
RunRecord record_of(const Model& model) {
  RunRecord record;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    RunEntry entry;
    entry.result.subject = model.layers[i].operation;
    entry.result.launch_cost = microseconds(3);
    entry.count = model.layers[i].count();
    entry.layers = model.layers[i].names;
    for (const CacheState cache : {CacheState::warm, CacheState::cold}) {
      Measurement measurement;
      measurement.conditions.cache = cache;
      measurement.time =
          around(microseconds(static_cast<double>(i + 1)) * (cache == CacheState::cold ? 1.0 : 0.5));
      entry.result.measurements.push_back(std::move(measurement));
    }
    record.entries.push_back(std::move(entry));
  }
  return record;
}

Nanoseconds sum_of_calls(const Model& model) {
  Nanoseconds sum;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    sum += microseconds(static_cast<double>(i + 1)) * static_cast<double>(model.layers[i].count());
  return sum;
}

std::int64_t weights_of_all(const plan::NetworkCosts& network) { return plan::weights_of(network).value(); }

TEST(StepCosts, HoldAllCallsOfANetwork) {
  for (const char* name :
       {"resnet18", "gpt2", "bert-base", "vit-b16", "vgg16", "alexnet", "mobilenet_v2", "unet"}) {
    const Model model = network(name, "batch=2");
    const StepCosts costs = step_costs(model, record_of(model), "r.json");
    const Nanoseconds sum = plan::forward_of(costs.network).time + plan::backward_of(costs.network).time;
    EXPECT_NEAR(sum / sum_of_calls(model), 1.0, 1e-9) << name;
    EXPECT_EQ(costs.times, "cold bursts");
    EXPECT_GE(costs.network.blocks(), 2u) << name;
    EXPECT_EQ(costs.network.samples, 2) << name;
    for (const plan::LayerCosts& layer : costs.network.layers)
      EXPECT_GT(layer.forward.time, Nanoseconds(0)) << layer.name;
  }
}

// Numbers of weights as torchvision and Hugging Face state them.
TEST(StepCosts, CountWeightsOnce) {
  const auto weights = [](const char* name) {
    const Model model = network(name, "batch=1");
    return weights_of_all(step_costs(model, record_of(model), "r.json").network) / 4;
  };
  EXPECT_EQ(weights("resnet18"), 11'689'512);
  EXPECT_EQ(weights("resnet50"), 25'557'032);
  EXPECT_EQ(weights("vgg16"), 138'357'544);
  EXPECT_EQ(weights("gpt2"), 124'439'808);  // its head is its embedding
}

TEST(StepCosts, CutTransformersBetweenTheirBlocks) {
  const Model model = network("gpt2", "batch=2,dtype=bf16,layers=5");
  const plan::NetworkCosts costs = step_costs(model, record_of(model), "r.json").network;
  EXPECT_EQ(costs.blocks(), 5u);
  EXPECT_EQ(costs.heads, 12);
  EXPECT_EQ(costs.element_bytes, 2);
  std::int64_t forward = 0, backward = 0;
  for (const plan::LayerCosts& layer : costs.layers) {
    if (layer.output.value() > 0) {
      EXPECT_EQ(layer.output.value(), 2 * 1024 * 768 * 2) << layer.name;
    }
    forward += layer.reduced_forward.value();
    backward += layer.reduced_backward.value();
    if (layer.name.ends_with(".ln_1") || layer.name == "lm_head") {
      EXPECT_FALSE(layer.is_split) << layer.name;
      // What lies outside of the blocks is whole on each rank, by sequence, too.
      EXPECT_EQ(layer.follows_sequence, layer.name != "lm_head") << layer.name;
    }
    if (layer.name.ends_with(".c_fc") || layer.name.ends_with(".attention")) {
      EXPECT_TRUE(layer.is_split) << layer.name;
    }
  }
  // Two all-reduces in each direction of each block, of its activations.
  EXPECT_EQ(forward, 5 * 2 * 2 * 1024 * 768 * 2);
  EXPECT_EQ(backward, forward);
}

TEST(StepCosts, CutTheOnlyBlockOfANetworkToo) {
  const Model model = network("gpt2", "batch=2,dtype=bf16,layers=1");
  const plan::NetworkCosts costs = step_costs(model, record_of(model), "r.json").network;
  std::int64_t forward = 0, split = 0;
  for (const plan::LayerCosts& layer : costs.layers) {
    forward += layer.reduced_forward.value() > 0 ? 1 : 0;
    split += layer.is_split ? 1 : 0;
    EXPECT_FALSE(layer.is_split && layer.follows_sequence) << layer.name;
  }
  EXPECT_EQ(forward, 2);
  EXPECT_EQ(split, 6) << "four products, attention and the activation";
}

TEST(StepCosts, KeepTwoAllReducesInBertToo) {
  const Model model = network("bert-base", "batch=2,dtype=bf16,layers=3");
  const plan::NetworkCosts costs = step_costs(model, record_of(model), "r.json").network;
  std::int64_t forward = 0, backward = 0;
  for (const plan::LayerCosts& layer : costs.layers) {
    forward += layer.reduced_forward.value() > 0 ? 1 : 0;
    backward += layer.reduced_backward.value() > 0 ? 1 : 0;
  }
  EXPECT_EQ(forward, 3 * 2);
  EXPECT_EQ(backward, 3 * 2);
}

TEST(StepCosts, ARecordOfFewerBlocksStandsForMore) {
  const Model measured = network("gpt2", "batch=2,layers=2"), planned = network("gpt2", "batch=2,layers=9");
  const plan::NetworkCosts two = step_costs(measured, record_of(measured), "r.json").network;
  const plan::NetworkCosts nine = step_costs(planned, record_of(measured), "r.json").network;
  EXPECT_EQ(nine.blocks(), 9u);
  EXPECT_GT(plan::forward_of(nine).time / plan::forward_of(two).time, 2.0);
}

TEST(StepCosts, TakeTheTimeOfACallInSequence) {
  const Model model = network("resnet18", "batch=2");
  RunRecord record = record_of(model);
  SequenceMeasurement sequence;
  for (const Call& call : model.calls)
    sequence.calls.push_back({.name = call.name, .layer = call.layer, .time = around(microseconds(7))});
  record.sequence = sequence;
  const StepCosts costs = step_costs(model, record, "r.json");
  EXPECT_EQ(costs.times, "in sequence");
  const Nanoseconds sum = plan::forward_of(costs.network).time + plan::backward_of(costs.network).time;
  EXPECT_NEAR(sum / (microseconds(7) * static_cast<double>(model.calls.size())), 1.0, 1e-9);
}

TEST(StepCosts, RefuseOtherNetworksAndPasses) {
  const Model model = network("resnet18", "batch=2"), other = network("resnet18", "batch=4");
  const auto refusal = [](const Model& planned, const RunRecord& record) -> std::string {
    try {
      step_costs(planned, record, "r.json");
      return "none";
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(refusal(other, record_of(model)), HasSubstr("r.json: it has no time for conv2d:n=4"));
  const Model forward = network("resnet18", "batch=2,direction=fprop");
  EXPECT_THAT(refusal(forward, record_of(forward)), HasSubstr("no backward passes"));
  // The network was measured forward alone.
  EXPECT_THAT(refusal(model, record_of(forward)), HasSubstr("r.json: it has no backward passes"));
}

}  // namespace
}  // namespace jitterscope
