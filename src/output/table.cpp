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

}  // namespace

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
