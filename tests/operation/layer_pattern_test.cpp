#include "operation/layer_pattern.hpp"

#include <gmock/gmock.h>

#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::usage_message;

// conv1 -> relu1 -> conv2 (equal to conv1) -> softmax, in this order.
Model network() {
  Model model;
  model.layers.push_back({{"conv1", "conv2"}, Operation::parse("conv2d:n=1,c=4,hw=8,k=4,rs=3,pad=1")});
  model.layers.push_back({{"relu1"}, Operation::parse("relu:count=256")});
  model.layers.push_back({{"loss"}, Operation::parse("softmax:rows=1,columns=256")});
  model.calls.push_back({.layer = 0, .name = "conv1", .inputs = {}});
  model.calls.push_back({.layer = 1, .name = "relu1", .inputs = {{0, 0, 2}}});
  model.calls.push_back({.layer = 0, .name = "conv2", .inputs = {{0, 1, 1}, {1, 0, 1}}});
  model.calls.push_back({.layer = 2, .name = "loss", .inputs = {{0, 2, 2}}});
  return model;
}

Model kept(Model model, const std::string& pattern) {
  keep_layers(model, LayerPattern(pattern));
  return model;
}

TEST(LayerPattern, IsSearchedInNamesAndInOperations) {
  EXPECT_THAT(kept(network(), "relu").layers.front().names, ElementsAre("relu1"));
  EXPECT_THAT(kept(network(), "conv2d:").layers.front().names, ElementsAre("conv1", "conv2"));
  EXPECT_THAT(kept(network(), "columns=256").layers.front().names, ElementsAre("loss"));
  EXPECT_EQ(kept(network(), "^(relu|lo)").layers.size(), 2u);
  EXPECT_TRUE(kept(network(), "^onv").layers.empty());
}

TEST(LayerPattern, OfEqualLayersThoseStayWhoseNamesMatch) {
  const Model model = kept(network(), "^conv2$");
  ASSERT_EQ(model.layers.size(), 1u);
  EXPECT_THAT(model.layers.front().names, ElementsAre("conv2"));
  EXPECT_EQ(model.layers.front().count(), 1);
  EXPECT_THAT(model.notes.back(), HasSubstr("'^conv2$' are included, 1 of 4"));
}

TEST(LayerPattern, CallsKeepTheirOrderAndWhatTheyRead) {
  const Model model = kept(network(), "conv|loss");
  ASSERT_EQ(model.calls.size(), 3u);
  EXPECT_EQ(model.calls[1].name, "conv2");
  EXPECT_EQ(model.calls[1].layer, 0u);
  ASSERT_EQ(model.calls[1].inputs.size(), 1u);  // the weight of conv1; what relu1 wrote is gone
  EXPECT_EQ(model.calls[1].inputs[0].call, 0u);
  EXPECT_EQ(model.calls[1].unwritten, 1);
  EXPECT_EQ(model.calls[2].layer, 1u);
  EXPECT_EQ(model.calls[2].inputs[0].call, 1u);
  EXPECT_EQ(model.calls[2].unwritten, 0);
}

TEST(LayerPattern, RecordedTimesAreOfWhatIsLeft) {
  Model model = network();
  model.layers[0].recorded_times = {microseconds(4), microseconds(6)};
  model.layers[1].recorded_times = {microseconds(2)};
  model.layers[2].recorded_times = {microseconds(1)};
  model.untimed = {{"aten::conv_tbc", 1, "unknown", microseconds(3)},
                   {"aten::sort", 1, "unknown", microseconds(7)}};
  model.recorded_gpu_time = microseconds(23);
  keep_layers(model, LayerPattern("conv1|conv_|relu"));
  EXPECT_EQ(model.layers[0].recorded_times, std::vector{microseconds(4)});
  EXPECT_EQ(model.untimed.size(), 1u);
  EXPECT_EQ(model.recorded_gpu_time, microseconds(9));
}

// A sum without one of its parts would be taken for the whole.
TEST(LayerPattern, ATimeThatIsNotKnownLeavesNoneOfTheRest) {
  Model model = network();
  for (Layer& layer : model.layers)
    layer.recorded_times.assign(layer.names.size(), microseconds(10) / static_cast<double>(layer.count()));
  model.untimed = {{"aten::conv_tbc", 1, "not in the file", std::nullopt},
                   {"aten::sort", 1, "it launched nothing", Nanoseconds(0)}};
  model.recorded_gpu_time = microseconds(30);
  EXPECT_EQ(kept(model, "relu|sort").recorded_gpu_time, microseconds(10));
  EXPECT_EQ(kept(model, "relu|conv_tbc").recorded_gpu_time, std::nullopt);
  model.layers[1].recorded_times.clear();
  EXPECT_EQ(kept(model, "relu|sort").recorded_gpu_time, std::nullopt);
}

TEST(LayerPattern, AWrongOneIsExplainedInPlainWords) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"(conv", "a parenthesis is not closed"}, {"[a-", "--only"},
      {"[conv", "a bracket [ is not closed"},   {"*conv", "write .* for anything"},
      {"conv{2", "a brace { is not closed"},    {"[z-a]", "a range in brackets ends before it begins"},
      {"conv\\", "behind a backslash"},         {"(a)\\7", "names no group"},
  };
  for (const auto& [pattern, words] : kWrong) {
    EXPECT_THAT(usage_message([&] { LayerPattern{pattern}; }), HasSubstr(words)) << pattern;
  }
}

}  // namespace
}  // namespace jitterscope
