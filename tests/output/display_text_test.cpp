#include "output/text.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

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

TEST(DisplayText, CutEndsBehindAWord) {
  EXPECT_EQ(cut_to_width("at::native::vectorized_kernel", 25), "at::native::vectorized_…");
  EXPECT_EQ(cut_to_width("layer1.0.downsample", 12), "layer1.0.…");
  EXPECT_EQ(cut_to_width("one two three", 10), "one two…");
}

std::string without_spaces(std::string_view text) {
  std::string rest(text);
  std::erase(rest, ' ');
  return rest;
}

TEST(DisplayText, ANameContinuesBehindASeparator) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of_name("conv2d n=32,c=64", 16), (Lines{"conv2d n=32,c=64"}));
  EXPECT_EQ(lines_of_name("conv2d n=32,c=64,hw=56", 18), (Lines{"conv2d n=32,c=64,", "  hw=56"}));
  EXPECT_EQ(lines_of_name("events in a held queue, minus constant", 30),
            (Lines{"events in a held queue, minus", "  constant"}));
  EXPECT_EQ(lines_of_name("layer2.0.downsample.0.dgrad", 20), (Lines{"layer2.0.downsample.", "  0.dgrad"}));
  EXPECT_EQ(lines_of_name("relu of 0.25 and 1.5", 15), (Lines{"relu of 0.25", "  and 1.5"}));
  EXPECT_EQ(lines_of_name("", 10), (Lines{""}));
}

TEST(DisplayText, NothingOfANameIsLostAtAnyWidth) {
  for (const std::string_view name :
       {"layer2.0.downsample.0.dgrad", "日本語日本語日本語", "averylongwordwithoutanyseparator"}) {
    for (std::size_t width = 4; width < 40; ++width) {
      std::string whole;
      for (const std::string& line : lines_of_name(name, width)) {
        EXPECT_LE(display_width(line), width) << line;
        whole += line;
      }
      EXPECT_EQ(without_spaces(whole), name) << width;
    }
  }
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
