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
};

/// One line per row, columns as wide as their widest cell, no trailing spaces. Cells may hold anything:
/// bars and backslashes are escaped, line breaks become spaces. Short columns are filled with empty cells.
std::string markdown_table(std::span<const TableColumn> columns);

/// Display width of its lines.
std::size_t table_width(std::span<const TableColumn> columns);

}  // namespace jitterscope
