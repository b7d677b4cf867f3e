// Markdown tables that are also readable as plain text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace jitterscope {

enum class Align { left, right };

struct TableColumn {
  std::string heading;
  Align align = Align::left;
  std::vector<std::string> cells;
  int spare = 0;  ///< fitted_table: leaves a table that is too wide, the largest first; 0 stays
};

/// One line per row, columns as wide as their widest cell, no trailing spaces. Cells may hold anything:
/// bars and backslashes are escaped, line breaks become spaces. Short columns are filled with empty cells.
std::string markdown_table(std::span<const TableColumn> columns);

/// A table of at most `width` columns: what is spare leaves it, then names (left-aligned cells) are
/// shortened. No number is cut, so that a table of many numbers is wider.
std::string fitted_table(std::vector<TableColumn> columns, std::size_t width);

/// All columns in as many tables of at most `width` columns as that takes, each of which begins with the
/// keys.
std::string split_tables(const std::vector<TableColumn>& keys, std::span<const TableColumn> columns,
                         std::size_t width);

/// Display width of its lines.
std::size_t table_width(std::span<const TableColumn> columns);

}  // namespace jitterscope
