#include "base/names.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

const std::vector<std::string> kKnown = {"stride", "pad", "dilation", "groups"};

TEST(Names, NearestIsFoundThroughTypingErrors) {
  EXPECT_EQ(nearest_name("strid", kKnown), "stride");
  EXPECT_EQ(nearest_name("gruops", kKnown), "groups");
  EXPECT_EQ(nearest_name("dilatoin", kKnown), "dilation");
}

TEST(Names, CaseDashesAndUnderscoresAreNoDifference) {
  const std::vector<std::string> names = {"mobilenet_v2", "resnet50", "bert-base"};
  EXPECT_EQ(nearest_name("ResNet-50", names), "resnet50");
  EXPECT_EQ(nearest_name("MobileNetV2", names), "mobilenet_v2");
  EXPECT_EQ(nearest_name("bert", names), "bert-base");
}

TEST(Names, OtherLibrariesWordsAreKnownWhereTheirMeaningIs) {
  const std::vector<std::string> convolution = {"n", "c", "hw", "k", "rs"}, attention = {"batch", "heads"};
  EXPECT_EQ(nearest_name("batch_size", convolution), "n");
  EXPECT_EQ(nearest_name("batch_size", attention), "batch");
  EXPECT_EQ(nearest_name("kernel_size", convolution), "rs");
  EXPECT_EQ(nearest_name("n", attention), "batch");
}

TEST(Names, NothingIsNearToNonsense) {
  EXPECT_EQ(nearest_name("xyzzyq", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(100000, 's'), kKnown), "");
}

TEST(Names, SuggestionListsAllWhereNothingIsNear) {
  EXPECT_EQ(suggestion("strde", kKnown), " (did you mean 'stride'?)");
  EXPECT_EQ(suggestion("q1w2e3", kKnown), " (known: stride, pad, dilation, groups)");
}

TEST(Names, ASentenceThatIsThereIsNotAddedAgain) {
  std::vector<std::string> sentences{"a", "b"};
  add_once(sentences, "b");
  add_once(sentences, "c");
  EXPECT_EQ(sentences, (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace jitterscope
