#include "output/text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace jitterscope {
namespace {

std::size_t width_where_columns_is(const char* value) {
  ::setenv("COLUMNS", value, 1);
  const std::size_t width = page_width();
  ::unsetenv("COLUMNS");
  return width;
}

TEST(Page, IsAsWideAsColumnsSays) {
  if (terminal_width(stdout)) GTEST_SKIP() << "stdout is a terminal, which says how wide it is";
  ::unsetenv("COLUMNS");
  EXPECT_EQ(page_width(), kPageWidth);
  EXPECT_EQ(width_where_columns_is("120"), 120u);
  EXPECT_EQ(width_where_columns_is("20"), 60u);
  EXPECT_EQ(width_where_columns_is("9999"), 9999u) << "a reader who asks for all columns gets them";
  for (const char* odd : {"", "0", "-5", "wide", "80x24"}) {
    EXPECT_EQ(width_where_columns_is(odd), kPageWidth) << odd;
  }
}

}  // namespace
}  // namespace jitterscope
