#include "output/text.hpp"

#include "base/quantity_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <string>
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

TEST(FittedTable, TheSparestColumnIsLeftOutFirstAndNamed) {
  EXPECT_EQ(fitted_table(wide_columns(), 200), markdown_table(wide_columns()));
  const std::size_t all = table_width(wide_columns());
  EXPECT_EQ(fitted_table(wide_columns(), all), markdown_table(wide_columns()));
  std::vector<TableColumn> without_rate = wide_columns();
  without_rate.pop_back();
  EXPECT_EQ(fitted_table(wide_columns(), all - 1),
            markdown_table(without_rate) + "\nLeft out at " + std::to_string(all - 1) +
                " columns: rate (--html FILE or COLUMNS=" + std::to_string(all) + " shows all).\n");
}

TEST(FittedTable, NamesContinueOnFurtherLinesAndNothingIsCut) {
  EXPECT_EQ(fitted_table(wide_columns(), 55),
            "|   # | operation               |              time |\n"
            "| --: | ----------------------- | ----------------: |\n"
            "|   1 | conv2d n=32,c=64,hw=56, | 124.9 µs ± 0.15 % |\n"
            "|     |   k=64,rs=3             |                   |\n"
            "\nLeft out at 55 columns: clock, rate (--html FILE or\nCOLUMNS=87 shows all).\n");
  EXPECT_THAT(fitted_table(wide_columns(), 55, AllColumns::details).lines(),
              testing::HasSubstr("clock, rate (--details shows\nall)."));
  for (const std::size_t width : {45u, 30u, 10u}) {
    const std::string narrow = fitted_table(wide_columns(), width);
    EXPECT_NE(narrow.find("124.9 µs ± 0.15 %"), std::string::npos) << width;
    EXPECT_EQ(narrow.find("…"), std::string::npos) << narrow;
  }
}

TEST(FittedTable, AColumnTakesItsShorterCellsBeforeItIsLeftOut) {
  const std::vector<TableColumn> columns = {{"", Align::left, {"conv1"}},
                                            {"time", Align::right, {"124.9 µs ± 0.15 %"}, 1, {"124.9 µs"}},
                                            {"clock", Align::right, {"1704 MHz"}, 2}};
  EXPECT_THAT(fitted_table(columns, 40).lines(),
              testing::HasSubstr("| conv1 | 124.9 µs ± 0.15 % | 1704 MHz |"));
  EXPECT_THAT(
      fitted_table(columns, 39).lines(),
      testing::AllOf(testing::HasSubstr("| conv1 | 124.9 µs ± 0.15 % |"), testing::HasSubstr(": clock")));
  EXPECT_THAT(fitted_table(columns, 25).lines(), testing::HasSubstr("| conv1 | 124.9 µs |"));
  EXPECT_THAT(fitted_table(columns, 15).lines(), testing::HasSubstr("columns: time,"));
}

TEST(FittedTable, AColumnWithoutAValueIsNotShown) {
  std::vector<TableColumn> columns = wide_columns();
  const std::string without = fitted_table(columns, 200);
  columns.insert(columns.begin() + 1, {"empty", Align::left, {""}});
  columns.push_back({"unknown", Align::right, {std::string(kAbsent)}});
  EXPECT_EQ(fitted_table(columns, 200), without);
  EXPECT_EQ(split_tables({columns[0]}, columns, 200), split_tables({columns[0]}, wide_columns(), 200));
  const std::vector<TableColumn> nothing = {{"a", Align::left, {""}}, {"b", Align::right, {""}}};
  EXPECT_EQ(table_width(nothing), 13u) << "all without a value: the headings say what there could have been";
  EXPECT_NE(std::string(fitted_table(nothing, 80)).find("| a   |   b |"), std::string::npos);
}

TEST(FittedTable, TheLongestNamesContinueFirst) {
  EXPECT_EQ(
      fitted_table(
          {{"", Align::left, {"overlap of the parts"}}, {"first", Align::left, {"24.17 µs ± 0.073 %"}}}, 40),
      "|                | first              |\n"
      "| -------------- | ------------------ |\n"
      "| overlap of the | 24.17 µs ± 0.073 % |\n"
      "|   parts        |                    |\n");
}

TEST(FittedTable, NamesContinueBehindABorderOfTheirWords) {
  const std::string name = "at::native::vectorized_elementwise_kernel_of_everything";
  for (const std::size_t width : {30u, 24u, 20u}) {
    for (const std::string& line : lines_of_name(name, width)) {
      EXPECT_LE(display_width(line), width);
      const char last = line.back();
      EXPECT_TRUE(last == ':' || last == '_' || name.ends_with(line.substr(2))) << line;
    }
  }
}

// A column is worth more than a name in one line, if the name must be wrapped in any case.
TEST(FittedTable, AWrappedNameLeavesRoomForSpareColumns) {
  std::vector<TableColumn> columns = wide_columns();
  columns[1].cells = {"conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop"};
  const std::string table = fitted_table(columns, 90);
  EXPECT_NE(table.find("1704 MHz"), std::string::npos) << table;
  EXPECT_NE(table.find("layout=nhwc,"), std::string::npos) << table;
}

TEST(FittedTable, ANarrowColumnHasTheRoomThatAWideOneLeaves) {
  const std::vector<TableColumn> columns = {{"name", Align::left, {"a name"}},
                                            {"time", Align::right, {"1.00 ms"}},
                                            {"narrow", Align::right, {"12"}, 2},
                                            {"wide", Align::right, {std::string(30, 'w')}, 1}};
  const std::string table = fitted_table(columns, 40);
  EXPECT_NE(table.find("narrow |"), std::string::npos) << table;
  EXPECT_NE(table.find("Left out at 40 columns: wide ("), std::string::npos) << table;
}

TEST(FittedTable, WhatIsTooWideWithoutAnySpareColumnContinuesBelow) {
  const std::vector<TableColumn> columns = {{"name", Align::left, {"first", "second"}},
                                            {"one", Align::right, {std::string(25, '1'), "1"}},
                                            {"two", Align::right, {std::string(25, '2'), "2"}},
                                            {"three", Align::right, {std::string(25, '3'), "3"}}};
  const std::string table = fitted_table(columns, 60);
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 60u) << line;
  for (const char digit : {'1', '2', '3'}) EXPECT_NE(table.find(std::string(25, digit)), std::string::npos);
  EXPECT_EQ(fitted_table(columns, 200).lines().find("first"),
            fitted_table(columns, 200).lines().rfind("first"));
  EXPECT_NE(table.find("second"), table.rfind("second")) << "each part has the names";
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
