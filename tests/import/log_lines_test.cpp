#include "import/library_log.hpp"

#include <gmock/gmock.h>

namespace jitterscope::library_log {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(LogLines, EndWithOrWithoutCarriageReturns) {
  LineReader lines("a\r\n\nb");
  const auto first = lines.next(), second = lines.next(), third = lines.next();
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->text, "a");
  EXPECT_EQ(second->text, "");
  EXPECT_EQ(third->text, "b");
  EXPECT_EQ(third->number, 3);
  EXPECT_FALSE(lines.next());
}

TEST(LogLines, ListsOfNumbersTakeTheCommasOfCudnnFrontend) {
  EXPECT_THAT(number_list("[ 8,64,56,-1 ]"), Optional(ElementsAre(8, 64, 56, -1)));
  EXPECT_THAT(number_list(" [,1,1 ] Dilation"), Optional(ElementsAre(1, 1)));
  EXPECT_THAT(number_list("[]"), Optional(ElementsAre()));
  for (const char* damaged : {"8,64]", "[8,64", "[8,,64]", "[8,x]", "[8 64]", "[99999999999999999999]", "",
                              "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"}) {
    EXPECT_EQ(number_list(damaged), std::nullopt) << damaged;
  }
}

TEST(LogLines, NumbersAreWhole) {
  EXPECT_EQ(whole_number(" -12 "), -12);
  EXPECT_EQ(whole_number("12a"), std::nullopt);
  EXPECT_EQ(whole_number(""), std::nullopt);
  EXPECT_EQ(real_number("  0.179072"), 0.179072);
  EXPECT_EQ(real_number("nan"), std::nullopt);
  EXPECT_EQ(real_number("inf"), std::nullopt);
}

TEST(LogLines, EnginesAreOneWord) {
  EXPECT_TRUE(is_engine("ConvFwd_eng41_k12=-1"));
  EXPECT_FALSE(is_engine("ConvFwd_eng41,dtype=f64"));
  EXPECT_FALSE(is_engine(""));
  EXPECT_FALSE(is_engine(std::string(201, 'a')));
}

TEST(LogLines, QuotedTextHasNoControlCharactersAndAnEnd) {
  EXPECT_EQ(quotable(" a\x01\xff"
                     "b "),
            "a??b");
  EXPECT_EQ(quotable(std::string(100, 'a')), std::string(80, 'a') + "…");
}

}  // namespace
}  // namespace jitterscope::library_log
