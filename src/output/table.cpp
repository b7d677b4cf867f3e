#include "output/table.hpp"

#include <algorithm>

#include "output/display_text.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kNarrowest = 3;  // "---" is the shortest delimiter that every Markdown reader takes

// Escaping the backslash too keeps "\|" in a name from being read as an escaped bar.
std::string escaped(const std::string& cell) {
  std::string text;
  for (const char c : one_line(cell)) {
    if (c == '|' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::size_t column_width(const TableColumn& column) {
  std::size_t width = std::max(kNarrowest, display_width(escaped(column.heading)));
  for (const std::string& cell : column.cells) width = std::max(width, display_width(escaped(cell)));
  return width;
}

std::string padded(const std::string& cell, Align align, std::size_t width) {
  const std::string text = escaped(cell);
  const std::string space(width - display_width(text), ' ');
  return align == Align::left ? text + space : space + text;
}

std::string delimiter(const TableColumn& column, std::size_t width) {
  return column.align == Align::left ? std::string(width, '-') : std::string(width - 1, '-') + ':';
}

// Widest of the left-aligned columns that can still be shortened; null where none can.
TableColumn* widest_name(std::vector<TableColumn>& columns) {
  constexpr std::size_t kShortest = 12;
  TableColumn* widest = nullptr;
  for (TableColumn& column : columns) {
    const std::size_t width = column_width(column);
    if (column.align == Align::right || width <= std::max(kShortest, display_width(column.heading))) continue;
    if (widest == nullptr || width > column_width(*widest)) widest = &column;
  }
  return widest;
}

void shorten_names(std::vector<TableColumn>& columns, std::size_t width) {
  while (table_width(columns) > width) {
    TableColumn* widest = widest_name(columns);
    if (widest == nullptr) return;
    const std::size_t room = column_width(*widest) - 1;
    for (std::string& cell : widest->cells) cell = shortened(one_line(cell), room);
  }
}

}  // namespace

std::string fitted_table(std::vector<TableColumn> columns, std::size_t width) {
  while (table_width(columns) > width) {
    const auto sparest = std::ranges::max_element(columns, {}, &TableColumn::spare);
    if (sparest == columns.end() || sparest->spare == 0) break;
    columns.erase(sparest);
  }
  shorten_names(columns, width);
  return markdown_table(columns);
}

std::string split_tables(const std::vector<TableColumn>& keys, std::span<const TableColumn> columns,
                         std::size_t width) {
  std::string text;
  while (!columns.empty()) {
    std::vector<TableColumn> table = keys;
    table.push_back(columns.front());
    columns = columns.subspan(1);
    while (!columns.empty()) {
      table.push_back(columns.front());
      if (table_width(table) > width) {
        table.pop_back();
        break;
      }
      columns = columns.subspan(1);
    }
    shorten_names(table, width);
    text += (text.empty() ? "" : "\n") + markdown_table(table);
  }
  return text;
}

std::string markdown_table(std::span<const TableColumn> columns) {
  std::size_t rows = 0;
  std::vector<std::size_t> widths;
  for (const TableColumn& column : columns) {
    rows = std::max(rows, column.cells.size());
    widths.push_back(column_width(column));
  }
  std::string headings = "|", delimiters = "|";
  std::vector<std::string> lines(rows, "|");
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const TableColumn& column = columns[c];
    headings += ' ' + padded(column.heading, column.align, widths[c]) + " |";
    delimiters += ' ' + delimiter(column, widths[c]) + " |";
    for (std::size_t row = 0; row < rows; ++row) {
      const std::string cell = row < column.cells.size() ? column.cells[row] : std::string();
      lines[row] += ' ' + padded(cell, column.align, widths[c]) + " |";
    }
  }
  std::string text = headings + '\n' + delimiters + '\n';
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::size_t table_width(std::span<const TableColumn> columns) {
  std::size_t width = 1;
  for (const TableColumn& column : columns) width += column_width(column) + 3;
  return width;
}

}  // namespace jitterscope
