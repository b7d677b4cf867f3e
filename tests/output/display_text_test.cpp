#include "output/text.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace jitterscope {
namespace {

TEST(DisplayText, WidthCountsColumnsNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("127.9 µs ± 0.1 %"), 16u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("e\u0301"), 1u);
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width("\xc3"), 1u);          // cut in the middle
  EXPECT_EQ(display_width("\xe0\x80\x80"), 3u);  // overlong
}

TEST(DisplayText, OneLineHoldsNoControlCharactersAndIsUtf8) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[31m"), "a b c [31m");
  EXPECT_EQ(one_line("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(one_line("µ日"), "µ日");
}

TEST(DisplayText, HarmlessLinesKeepTheirBreaks) {
  EXPECT_EQ(harmless_lines("a\x1b[2J\n\n b\xff\r"), "a [2J\n\n b\xef\xbf\xbd ");
  EXPECT_EQ(harmless_lines(""), "");
}

TEST(DisplayText, CutKeepsWholeCharacters) {
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 4), "abc…");
  EXPECT_EQ(cut_to_width("日本語", 4), "日…");
  EXPECT_EQ(cut_to_width("abc", 1), "…");
  EXPECT_EQ(cut_to_width("abc", 0), "");
}

TEST(DisplayText, ANameIsShortenedWhereItSaysLeast) {
  EXPECT_EQ(shortened("conv2d n=32,c=64", 16), "conv2d n=32,c=64");
  EXPECT_EQ(shortened("conv2d n=32,c=64,hw=56", 21), "conv2d n=32,c=64,…");
  EXPECT_EQ(shortened("conv2d n=32,c=64,hw=56", 15), "conv2d n=32,…");
  EXPECT_EQ(shortened("events in a held queue, less the constant", 30), "events in a hel…s the constant");
  // Of a path both ends tell it from others.
  EXPECT_EQ(shortened("layer2.0.downsample.0.dgrad", 20), "layer2.0.d…e.0.dgrad");
  for (std::size_t width = 1; width < 27; ++width) {
    EXPECT_LE(display_width(shortened("layer2.0.downsample.0.dgrad", width)), width);
    EXPECT_LE(display_width(shortened("日本語日本語日本語", width)), width);
  }
}

TEST(DisplayText, NoNumberIsCutInTwo) {
  EXPECT_EQ(shortened("relu count=12345678,dtype=f32", 15), "relu count=…");
  EXPECT_EQ(shortened("block1234567890end", 12), "block…end");
}

TEST(DisplayText, WrappedLinesFitAndLoseNoWord) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three\n");
  EXPECT_EQ(wrapped("  a   b ", 80), "a b\n");
  EXPECT_EQ(wrapped("averylongword b", 5), "averylongword\nb\n");
  const std::string text = wrapped("the µ of a ± b is no more than the width of a line of text", 20, 3);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 20u) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

}  // namespace
}  // namespace jitterscope
