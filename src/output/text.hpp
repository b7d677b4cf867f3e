// Lays out text and tables on a page of fixed-width columns.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
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
  /// The text is for a page of HTML: its head has the headline, nothing names a flag, and the causes of
  /// findings are folded.
  bool is_html = false;
};

/// The reader's wishes for the page; the record decides what is left open.
struct ShownPage {
  std::size_t width = kPageWidth;
  bool details = false;
  /// Empty: of a model the 10 slowest without details, in HTML all from the slowest on; otherwise all in
  /// order.
  std::optional<std::size_t> top = {};
  std::optional<FindingsShown> findings = {};
  bool is_html = false;
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

/// Cuts to at most `width` columns, behind a word where there is one; "…" marks the cut.
std::string cut_to_width(std::string_view text, std::size_t width);

/// True if a name may continue in a further line behind its first `end` bytes: behind a space, comma, slash,
/// dot, underscore or colon.
bool may_break_behind(std::string_view name, std::size_t end);
/// Breaks a name into lines of at most `width` columns, where it may break if there is such a place.
std::vector<std::string> lines_of_name(std::string_view name, std::size_t width);

// Below: what commands print, in blocks. Lines of a terminal, which are Markdown too, and HTML come from the
// same blocks.

enum class Align { left, right };

struct TableColumn {
  std::string heading;
  Align align = Align::left;
  std::vector<std::string> cells;
  /// fitted_table leaves the column with the largest value out first; 0: never, as what a flag asked for
  int spare = 0;
  /// Shorter cells, which fitted_table takes before it leaves the column out; empty: there are none.
  std::vector<std::string> narrow = {};
};

/// How a reader gets the columns that a table has no room for.
enum class AllColumns {
  page_of_html,   ///< --html FILE, or a wider terminal
  details,        ///< --details
  file_of_json,   ///< --json FILE, or a wider terminal
  wider_terminal  ///< no flag does
};

/// A text reads as a std::string: its lines. html_of (output/html.hpp) writes it as HTML.
class Text {
 public:
  /// Text between two ** is bold.
  struct Paragraph {
    std::string text;
    std::size_t width, indent;
  };
  enum class Mark { bullet, number, status };
  struct Item {
    Mark kind;
    std::string mark, text;
    std::vector<std::string> more;  ///< paragraphs below the text
    bool folds_more;                ///< HTML shows them on a click only
    std::size_t width, indent;
  };
  struct Table {
    std::vector<TableColumn> keys, columns;
    std::size_t width;
    bool is_split;  ///< in lines, columns that do not fit continue in a further table behind the keys
    AllColumns all = AllColumns::page_of_html;
  };
  using Block = std::variant<std::string, Paragraph, Item, Table>;  // a string: lines as they are

  Text() = default;
  Text(std::string lines);                                    // NOLINT(google-explicit-constructor)
  Text(const char* lines) : Text(std::string(lines)) {}       // NOLINT(google-explicit-constructor)
  Text(char letter) : Text(std::string(1, letter)) {}         // NOLINT(google-explicit-constructor)
  Text(Block block) { blocks_.push_back(std::move(block)); }  // NOLINT(google-explicit-constructor)
  operator std::string() const { return lines(); }            // NOLINT(google-explicit-constructor)

  Text& operator+=(const Text& more);
  friend Text operator+(Text left, const Text& right) { return std::move(left += right); }
  friend bool operator==(const Text& a, const Text& b) { return a.lines() == b.lines(); }

  std::string lines() const;
  bool empty() const { return blocks_.empty(); }
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
};

/// Joins the parts that are not empty, with an empty line between them.
Text sections(const std::vector<Text>& parts);

/// Makes a paragraph, wrapped at spaces into lines of at most `width` columns; lines after the first begin
/// with `indent` spaces. A word longer than a line stays whole. Ends with a line break.
Text wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

/// Makes "- text", and items with a number: "1. text", with further paragraphs below.
Text list_item(std::string_view text, std::size_t width);
Text numbered_item(std::size_t number, std::string_view text, std::size_t width, std::size_t indent,
                   std::vector<std::string> more = {}, bool folds_more = false);
/// Makes an item behind a status, such as "ok"; all texts begin in the column `indent`.
Text status_item(std::string_view status, std::string_view text, std::size_t width, std::size_t indent,
                 std::vector<std::string> more = {});

/// Makes one line per row, with columns as wide as their widest cell and no trailing spaces. Escapes bars and
/// backslashes; line breaks become spaces. Fills short columns with empty cells.
Text markdown_table(std::span<const TableColumn> columns);

// In both tables below, a column without a value is not shown: one whose cells are all empty or kAbsent.

/// Makes a table of at most `width` columns, and a line that names the spare columns that it leaves out.
/// Nothing is cut: if names (left-aligned cells) do not fit beside what is never left out, they continue on
/// further lines. A table of many numbers may be wider.
Text fitted_table(std::vector<TableColumn> columns, std::size_t width,
                  AllColumns all = AllColumns::page_of_html);

/// True if the table takes at most `width` columns where no name is longer than `longest_name`.
bool fits(std::span<const TableColumn> columns, std::size_t longest_name, std::size_t width);

/// Leaves the sparest columns out until the table fits if no name is longer than `longest_name`.
std::vector<TableColumn> without_spare(std::vector<TableColumn> columns, std::size_t longest_name,
                                       std::size_t width);

/// Splits the columns into tables of at most `width` columns, each of which begins with `keys`.
Text split_tables(const std::vector<TableColumn>& keys, std::span<const TableColumn> columns,
                  std::size_t width);

/// Returns the display width of the table's lines.
std::size_t table_width(std::span<const TableColumn> columns);

}  // namespace jitterscope
