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

TEST(Names, NothingIsNearToNonsense) {
  EXPECT_EQ(nearest_name("xyzzyq", kKnown), "");
  EXPECT_EQ(nearest_name(std::string(100000, 's'), kKnown), "");
}

TEST(Names, SuggestionListsAllWhereNothingIsNear) {
  EXPECT_EQ(suggestion("strde", kKnown), " (did you mean 'stride'?)");
  EXPECT_EQ(suggestion("q1w2e3", kKnown), " (known: stride, pad, dilation, groups)");
}

}  // namespace
}  // namespace jitterscope
