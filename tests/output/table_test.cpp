#include "output/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <vector>

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

std::vector<TableColumn> wide_columns() {
  return {{"#", Align::right, {"1"}},
          {"operation", Align::left, {"conv2d n=32,c=64,hw=56,k=64,rs=3"}},
          {"time", Align::right, {"124.9 µs ± 0.15 %"}},
          {"clock", Align::right, {"1704 MHz"}, 1},
          {"rate", Align::right, {"509 TFLOP/s"}, 2}};
}

TEST(FittedTable, WhatIsSparestLeavesFirst) {
  EXPECT_EQ(fitted_table(wide_columns(), 200), markdown_table(wide_columns()));
  const std::size_t all = table_width(wide_columns());
  EXPECT_NE(fitted_table(wide_columns(), all).find("rate"), std::string::npos);
  const std::string narrower = fitted_table(wide_columns(), all - 1);
  EXPECT_EQ(narrower.find("rate"), std::string::npos);
  EXPECT_NE(narrower.find("clock"), std::string::npos);
}

TEST(FittedTable, NamesAreShortenedAndNumbersAreNot) {
  const std::string narrow = fitted_table(wide_columns(), 55);
  EXPECT_NE(narrow.find("| conv2d n=32,c=64,hw=56,… |"), std::string::npos) << narrow;
  EXPECT_LE(display_width(narrow.substr(0, narrow.find('\n'))), 55u);
  for (const std::size_t width : {45u, 30u, 10u}) {
    EXPECT_NE(fitted_table(wide_columns(), width).find("124.9 µs ± 0.15 %"), std::string::npos) << width;
  }
}

TEST(SplitTables, HoldAllColumnsBehindTheKeys) {
  const std::vector<TableColumn> keys = {{"#", Align::right, {"1", "2"}}};
  std::vector<TableColumn> columns;
  for (int i = 0; i < 5; ++i) columns.push_back({"heading " + std::to_string(i), Align::right, {"1", "2"}});
  std::istringstream lines(split_tables(keys, columns, 40));
  std::size_t headings = 0, tables = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), 40u) << line;
    if (!line.starts_with("|   # |")) continue;
    ++tables;
    for (std::size_t at = line.find("heading"); at != std::string::npos; at = line.find("heading", at + 1))
      ++headings;
  }
  EXPECT_EQ(headings, 5u);
  EXPECT_EQ(tables, 3u);
  EXPECT_EQ(split_tables(keys, columns, 5), split_tables(keys, columns, 1)) << "one column each, not none";
}

}  // namespace
}  // namespace jitterscope
