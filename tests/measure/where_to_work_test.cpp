// Where a network's time goes, and what faster kernels could save: numbers computed by hand.
#include "measure/where_to_work.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kFlopsCeiling = 100e12, kBytesCeiling = 4e12;

// So many calls, one for each name, that reach this share of the ceiling of arithmetic, or of memory.
RunEntry layer(const std::string& operation, double microseconds_of_a_call, double reached,
               std::vector<std::string> names, bool by_compute = true) {
  RunEntry entry;
  entry.layers = std::move(names);
  entry.count = std::ssize(entry.layers);
  entry.result.subject = Operation::parse(operation);
  const double seconds = microseconds_of_a_call * 1e-6;
  if (by_compute) {
    entry.result.flops = reached * kFlopsCeiling * seconds;
    entry.result.bytes = Bytes(1);
  } else {
    entry.result.bytes = Bytes(static_cast<std::int64_t>(reached * kBytesCeiling * seconds));
  }
  Measurement measurement;
  const Nanoseconds time = microseconds(microseconds_of_a_call);
  measurement.time = {time, time, time, 10};
  entry.result.measurements = {measurement};
  return entry;
}

// 1,000 us in all.
RunRecord network() {
  RunRecord record;
  record.ceilings.bytes_per_second = kBytesCeiling;
  record.ceilings.compute = {{DataType::f16, kFlopsCeiling, "matmul:m=8192,n=8192,k=8192,dtype=f16"}};
  record.entries = {
      layer("conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16", 90, 0.41,
            {"layer1.0.conv2.fprop", "layer1.1.conv2.fprop"}),
      layer("conv2d:n=8,c=64,hw=56,k=256,rs=1,dtype=f16", 320, 0.95, {"layer2.0.conv1.fprop"}),
      // Equal operations in two places of the network.
      layer("relu:count=1Mi,dtype=f16", 100, 0.8, {"layer1.0.relu.forward", "layer2.0.relu.forward"}, false),
      // Faster than a copy through memory: in the cache.
      layer("softmax:rows=1024,columns=1024,dtype=f16", 100, 1.5, {"head.forward"}, false),
      layer("aten::abs(f16[1024])", 200, 0.5, {"abs"}, false)};
  return record;
}

const WorkGroup& group(const std::vector<WorkGroup>& groups, const std::string& name) {
  const auto found = std::ranges::find(groups, name, &WorkGroup::name);
  if (found == groups.end()) throw std::runtime_error("no group " + name);
  return *found;
}

std::vector<std::string> names_of(const std::vector<WorkGroup>& groups) {
  std::vector<std::string> names;
  for (const WorkGroup& each : groups) names.push_back(each.name);
  return names;
}

TEST(WhereToWork, KindsAddUpWithWhatTheyCouldSave) {
  const WhereToWork where = where_to_work(network()).value();
  EXPECT_THAT(names_of(where.kinds),
              ElementsAre("convolutions", "elementwise", "PyTorch's own operators", "softmax"));
  const WorkGroup& convolutions = where.kinds.front();
  EXPECT_EQ(convolutions.calls, 3);
  EXPECT_NEAR(convolutions.time.value(), 500e3, 1e-6);
  EXPECT_NEAR(convolutions.share, 0.5, 1e-12);
  // 0.18 * 0.59 + 0.32 * 0.05
  EXPECT_NEAR(convolutions.could_save, 0.1222, 1e-9);
  // What its calls take at their ceilings, (0.18 * 0.41 + 0.32 * 0.95) / 0.5.
  EXPECT_NEAR(convolutions.of_ceiling().value(), 0.7556, 1e-9);
  EXPECT_NEAR(group(where.kinds, "elementwise").could_save, 0.04, 1e-5);
  double shares = 0.0;
  for (const WorkGroup& kind : where.kinds) shares += kind.share;
  EXPECT_NEAR(shares, 1.0, 1e-12);
}

TEST(WhereToWork, PartsAreRankedByWhatTheyCouldSave) {
  const WhereToWork where = where_to_work(network()).value();
  EXPECT_THAT(names_of(where.parts),
              ElementsAre("convolutions 3x3 of layer1", "relu of layer1", "relu of layer2",
                          "convolutions 1x1 of layer2", "aten::abs of abs", "softmax of head"));
  EXPECT_NEAR(where.parts.front().could_save, 0.1062, 1e-9);
  // One of its two calls.
  EXPECT_NEAR(group(where.parts, "relu of layer1").share, 0.1, 1e-12);
  EXPECT_NEAR(group(where.parts, "relu of layer1").could_save, 0.02, 1e-6);
  EXPECT_THAT(group(where.parts, "relu of layer2").results, ElementsAre(2u));
  EXPECT_EQ(
      advice_of(where),
      "Work on: convolutions 3x3 of layer1 (18 % of the time, at 41 % of their ceiling: at most 11 % to "
      "gain)");
}

TEST(WhereToWork, WhatIsAtItsCeilingAndWhatHasNoneIsSaid) {
  const WhereToWork where = where_to_work(network()).value();
  EXPECT_TRUE(group(where.parts, "convolutions 1x1 of layer2").is_at_ceiling());
  EXPECT_FALSE(group(where.parts, "convolutions 3x3 of layer1").is_at_ceiling());
  EXPECT_FALSE(group(where.parts, "softmax of head").of_ceiling());
  EXPECT_FALSE(group(where.parts, "aten::abs of abs").of_ceiling());
  EXPECT_NEAR(where.at_ceiling, 0.32, 1e-12);
  EXPECT_NEAR(where.unknown, 0.3, 1e-12);
  EXPECT_NEAR(where.faster_than_ceiling, 0.1, 1e-12);
  EXPECT_EQ(
      unknown_ceilings(where),
      "For 30 % of the time no ceiling is known: 10 % was faster than what was measured as its ceiling, as "
      "operands in a cache are than a copy through memory, and 20 % has nothing measured to compare with.");
}

TEST(WhereToWork, WithoutCeilingsNothingIsNamed) {
  RunRecord record = network();
  record.ceilings = {};
  const WhereToWork where = where_to_work(record).value();
  EXPECT_EQ(advice_of(where), "Work on: not known, as no layer has a ceiling that was measured");
  EXPECT_EQ(unknown_ceilings(where),
            "For 100 % of the time no ceiling is known: it has nothing measured to compare with.");
  EXPECT_EQ(names_of(where.parts).front(), "convolutions 1x1 of layer2") << "the longest first";
}

TEST(WhereToWork, WhereAllIsAtItsCeilingNoKernelIsNamed) {
  RunRecord record = network();
  record.entries = {record.entries[1], record.entries[1]};
  const WhereToWork where = where_to_work(record).value();
  EXPECT_EQ(advice_of(where), "Work on: no kernel alone, as what has a known ceiling is at it");
}

// At its ceiling for most of the time, and a convolution that has 0.5 % to gain.
RunRecord with_little_to_gain() {
  RunRecord record = network();
  record.entries = {record.entries[1], layer("conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16", 3.2, 0.5,
                                             {"layer1.0.conv2.fprop"})};
  return record;
}

TEST(WhereToWork, WhatIsNotWorthItIsNotAdvised) {
  EXPECT_EQ(
      advice_of(where_to_work(with_little_to_gain()).value()),
      "Work on: no kernel alone, as none is worth it; the most is in convolutions 3x3 of layer1 (1 % of the "
      "time, at 50 % of their ceiling: at most 0.5 % to gain)");
}

TEST(WhereToWork, ManySmallPartsOfOneKindAreWorthItTogether) {
  RunRecord record = with_little_to_gain();
  for (int i = 0; i < 8; ++i) {
    record.entries.push_back(
        layer("relu:count=1Mi,dtype=f16", 5, 0.5, {"layer" + std::to_string(i) + ".relu.forward"}, false));
  }
  EXPECT_THAT(advice_of(where_to_work(record).value()),
              testing::StartsWith("Work on: elementwise (11 % of the time"));
}

TEST(WhereToWork, APartWithSomeCeilingsUnknownSaysOfHowMuchItSpeaks) {
  RunRecord record = network();
  record.entries.resize(1);
  RunEntry cached = record.entries.front();  // as long, and faster than any ceiling
  cached.result.subject = Operation::parse("conv2d:n=8,c=64,hw=56,k=128,rs=3,pad=1,dtype=f16");
  cached.result.flops *= 4.0;
  record.entries.push_back(cached);
  const WhereToWork where = where_to_work(record).value();
  EXPECT_NEAR(where.parts.front().share, 1.0, 1e-12);
  EXPECT_NEAR(where.parts.front().known_share, 0.5, 1e-12);
  EXPECT_NEAR(where.parts.front().could_save, 0.5 * 0.59, 1e-9);
  EXPECT_THAT(advice_of(where), HasSubstr("50 % of it with a known ceiling, at 41 % of their ceiling"));
}

// The name of the only part of a network with such a layer, beside one that is always the same.
std::string part_with(const std::string& operation, const std::string& name) {
  RunRecord record = network();
  record.entries = {layer(operation, 1, 0.5, {name}), layer("add:count=8", 1, 0.5, {"z.forward"})};
  std::vector<std::string> names = names_of(where_to_work(record).value().parts);
  std::erase(names, "add of z");
  return names.size() == 1 ? names.front() : "";
}

TEST(WhereToWork, PlacesAreTheNetworksOwnOrTheSizes) {
  const std::string conv = "conv2d:n=8,c=64,hw=56,k=64,rs=3,pad=1,groups=64,dtype=f16";
  EXPECT_EQ(part_with(conv, "features.3.conv.1.0.fprop"), "depthwise convolutions 3x3 of features");
  EXPECT_EQ(part_with(conv, "conv1.wgrad"), "depthwise convolutions 3x3 of conv1");
  EXPECT_EQ(part_with(conv, "aten::cudnn_convolution#640"), "depthwise convolutions 3x3 at 56x56");
  EXPECT_EQ(part_with(conv, "line 45"), "depthwise convolutions 3x3 at 56x56");
  EXPECT_EQ(part_with("layer_norm:rows=8,columns=8", "encoder.layers.encoder_layer_0.ln_1.forward"),
            "layer norms of encoder.layers");
  // The three passes of one layer's product.
  for (const char* product :
       {"linear:n=8192,in=768,out=3072", "matmul:m=8192,n=768,k=3072", "matmul:m=3072,n=768,k=8192,ta=1"}) {
    EXPECT_EQ(part_with(product, "transformer.h.3.mlp.c_fc.fprop"),
              "products 768x3072x8192 of transformer.h");
  }
}

TEST(WhereToWork, IsForNetworksOfSeveralOperations) {
  RunRecord record = network();
  record.entries.resize(1);
  EXPECT_FALSE(where_to_work(record));
  record = network();
  for (RunEntry& entry : record.entries) entry = {.result = entry.result};
  EXPECT_FALSE(where_to_work(record));
  record = network();
  for (RunEntry& entry : record.entries) entry.result.measurements.clear();
  EXPECT_FALSE(where_to_work(record));
}

}  // namespace
}  // namespace jitterscope
