// How wide a page is, and how much of a run it shows.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// Lines and tables are kept to this where no terminal says otherwise.
inline constexpr std::size_t kPageWidth = 80;

/// Of a terminal; nothing where the stream is none.
std::optional<std::size_t> terminal_width(std::FILE* stream);

/// For what is printed on stdout: that of its terminal, else COLUMNS, else kPageWidth; 60 to 200.
std::size_t page_width();

enum class FindingsShown { none, top, all };

struct Page {
  std::size_t width = kPageWidth;
  bool details = false;  ///< everything that is known of each operation, and what the words mean
  /// How many operations of several are shown, the slowest first; nothing: all, in their order.
  std::optional<std::size_t> top = {};
  FindingsShown findings = FindingsShown::top;
};

/// What a reader asked of the page; what was left open follows from the record.
struct ShownPage {
  std::size_t width = kPageWidth;
  bool details = false;
  std::optional<std::size_t> top = {};  ///< nothing: 10 of a model without details, all of others
  std::optional<FindingsShown> findings = {};
};

/// A model shows its slowest layers; a sweep is read from its first row to its last.
Page page_of(const ShownPage& shown, bool is_model);

// Text on a grid of columns: how wide it is shown, cut and wrapped by that width.

/// Columns a terminal needs: 2 for East Asian wide characters and emoji, 0 for combining marks. A byte that
/// is not UTF-8 counts as one.
std::size_t display_width(std::string_view text);

/// Control characters, line breaks among them, become spaces; what is not UTF-8 becomes U+FFFD.
std::string one_line(std::string_view text);

/// The same of each line: line breaks stay.
std::string harmless_lines(std::string_view text);

/// At most `width` columns; what was cut is shown by "…".
std::string cut_to_width(std::string_view text, std::size_t width);

/// The same for a name: of a list of parameters the last are left out, of other names the middle; no number
/// is cut in two.
std::string shortened(std::string_view name, std::size_t width);

/// Lines of at most `width` columns, broken at spaces; every line after the first begins with `indent`
/// spaces. A word longer than a line stays whole. Ends with a line break.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

// Markdown tables that are also readable as plain text.

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
