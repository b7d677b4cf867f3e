#include "output/table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "output/display_text.hpp"

namespace jitterscope {
namespace {

TEST(Table, AlignsByDisplayWidth) {
  const std::array<TableColumn, 2> columns = {
      {{"layer", Align::left, {"conv", "日本"}}, {"time", Align::right, {"9.1 µs", "12.25 µs"}}}};
  EXPECT_EQ(markdown_table(columns),
            "| layer |     time |\n"
            "| ----- | -------: |\n"
            "| conv  |   9.1 µs |\n"
            "| 日本  | 12.25 µs |\n");
}

TEST(Table, EscapesWhatWouldBreakARow) {
  const std::array<TableColumn, 1> columns = {{{"a|b", Align::left, {"x\ny", "p\\|q"}}}};
  EXPECT_EQ(markdown_table(columns),
            "| a\\|b   |\n"
            "| ------ |\n"
            "| x y    |\n"
            "| p\\\\\\|q |\n");
}

TEST(Table, ShortColumnsAreFilledAndNarrowOnesStayValid) {
  const std::array<TableColumn, 2> columns = {{{"a", Align::left, {"1", "2"}}, {"b", Align::right, {"3"}}}};
  EXPECT_EQ(markdown_table(columns),
            "| a   |   b |\n"
            "| --- | --: |\n"
            "| 1   |   3 |\n"
            "| 2   |     |\n");
}

TEST(Table, EveryLineIsAsWideAsItSays) {
  const std::array<TableColumn, 3> columns = {{{"µ", Align::left, {"", "±|", "e\u0301"}},
                                               {"", Align::right, {"\xff", "日本", "\\"}},
                                               {"long heading", Align::right, {"1", "2", "3"}}}};
  std::istringstream lines(markdown_table(columns));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(display_width(line), table_width(columns)) << line;
    EXPECT_TRUE(line.starts_with("| ") && line.ends_with(" |")) << line;
  }
}

}  // namespace
}  // namespace jitterscope
