// Lays out text and tables on a page of fixed-width columns.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// Width of lines and tables if no terminal sets another.
inline constexpr std::size_t kPageWidth = 80;

/// Returns the terminal's width in columns; nullopt if the stream is no terminal.
std::optional<std::size_t> terminal_width(std::FILE* stream);

/// Returns the width for stdout: COLUMNS if it is set, else that of its terminal (60 to 200), else
/// kPageWidth.
std::size_t page_width();

enum class FindingsShown { none, top, all };

struct Page {
  std::size_t width = kPageWidth;
  bool details = false;  ///< show everything known of each operation, and explain the words
  /// Number of operations shown, the slowest first. Empty: all, in their order.
  std::optional<std::size_t> top = {};
  FindingsShown findings = FindingsShown::top;
};

/// The reader's wishes for the page; the record decides what is left open.
struct ShownPage {
  std::size_t width = kPageWidth;
  bool details = false;
  std::optional<std::size_t> top = {};  ///< empty: 10 of a model without details, otherwise all
  std::optional<FindingsShown> findings = {};
};

/// Shows the slowest layers of a model, and all rows of a sweep in order.
Page page_of(const ShownPage& shown, bool is_model);

// Below: text measured, cut and wrapped by its display width in columns.

/// Number of terminal columns: 2 for East Asian wide characters and emoji, 0 for combining marks, 1 for a
/// byte that is not UTF-8.
std::size_t display_width(std::string_view text);

/// Replaces control characters and line breaks by spaces, and bytes that are not UTF-8 by U+FFFD.
std::string one_line(std::string_view text);

/// Applies one_line to each line; line breaks stay.
std::string harmless_lines(std::string_view text);

/// Cuts to at most `width` columns; "…" marks the cut.
std::string cut_to_width(std::string_view text, std::size_t width);

/// Breaks a name into lines of at most `width` columns, behind a space, comma, slash or dot where there is
/// one.
std::vector<std::string> lines_of_name(std::string_view name, std::size_t width);

/// Wraps at spaces into lines of at most `width` columns; lines after the first begin with `indent` spaces. A
/// word longer than a line stays whole. Ends with a line break.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

// Below: Markdown tables that are also readable as plain text.

enum class Align { left, right };

struct TableColumn {
  std::string heading;
  Align align = Align::left;
  std::vector<std::string> cells;
  int spare = 0;  ///< fitted_table leaves the column with the largest value out first; 0: never
};

/// Makes one line per row, with columns as wide as their widest cell and no trailing spaces. Escapes bars and
/// backslashes; line breaks become spaces. Fills short columns with empty cells.
std::string markdown_table(std::span<const TableColumn> columns);

/// Makes a table of at most `width` columns, and a line that names the spare columns that it leaves out.
/// Nothing is cut: if names (left-aligned cells) do not fit beside what is never left out, they continue on
/// further lines. A table of many numbers may be wider.
std::string fitted_table(std::vector<TableColumn> columns, std::size_t width);

/// Splits the columns into tables of at most `width` columns, each of which begins with `keys`.
std::string split_tables(const std::vector<TableColumn>& keys, std::span<const TableColumn> columns,
                         std::size_t width);

/// Returns the display width of the table's lines.
std::size_t table_width(std::span<const TableColumn> columns);

}  // namespace jitterscope
