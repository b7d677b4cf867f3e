#include "output/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

std::optional<std::size_t> columns_variable() {
  const char* value = std::getenv("COLUMNS");
  if (value == nullptr) return std::nullopt;
  const std::string_view text(value);
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), columns);
  if (error != std::errc() || end != text.end() || columns == 0) return std::nullopt;
  return columns;
}

}  // namespace

std::optional<std::size_t> terminal_width(std::FILE* stream) {
  winsize size{};
  const bool known = ::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::optional<std::size_t>(size.ws_col) : std::nullopt;
}

std::size_t page_width() {
  // Below 60, no table has room beside its numbers; above 200, readers lose the line between its ends.
  constexpr std::size_t kNarrowest = 60, kWidest = 200;
  // The variable comes first, so that a reader can ask for the columns that a terminal has no room for.
  if (const auto columns = columns_variable()) return std::max(*columns, kNarrowest);
  return std::clamp(terminal_width(stdout).value_or(kPageWidth), kNarrowest, kWidest);
}

namespace {

constexpr std::string_view kEllipsis = "…";

struct Range {
  char32_t first, last;
};
// Blocks of UAX #11 and combining marks that names may hold; wcwidth would depend on the locale.
constexpr std::array<Range, 5> kZeroWidth = {
    {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}}};
constexpr std::array<Range, 8> kDoubleWidth = {{{0x1100, 0x115f},
                                                {0x2e80, 0x303e},
                                                {0x3041, 0xa4cf},
                                                {0xac00, 0xd7a3},
                                                {0xf900, 0xfaff},
                                                {0xff00, 0xff60},
                                                {0x1f300, 0x1faff},
                                                {0x20000, 0x3fffd}}};

std::size_t width_of(char32_t code) {
  const auto inside = [code](const Range& range) { return code >= range.first && code <= range.last; };
  if (std::any_of(kZeroWidth.begin(), kZeroWidth.end(), inside)) return 0;
  return std::any_of(kDoubleWidth.begin(), kDoubleWidth.end(), inside) ? 2 : 1;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    width += width_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (!character.valid) {
      line += "\xef\xbf\xbd";
    } else if (is_control(character.code)) {
      line += ' ';
    } else {
      line += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return line;
}

std::string harmless_lines(std::string_view text) {
  std::string lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines += one_line(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return lines + one_line(text);
}

std::string cut_to_width(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::size_t end = 0, used = 0, border = 0;
  while (end < text.size()) {
    const Utf8Character character = first_character(text.substr(end));
    used += width_of(character.code);
    if (used > width - 1) break;
    end += character.bytes;
    if (may_break_behind(text, end)) border = end;
  }
  // A word that takes most of the room is cut: more of it is left than of what stands before it.
  const std::string_view cut = text.substr(0, 2 * border > end ? border : end);
  return std::string(cut.substr(0, cut.find_last_not_of(' ') + 1)) + std::string(kEllipsis);
}

bool may_break_behind(std::string_view name, std::size_t end) {
  const char last = name[end - 1];
  if (last == ' ' && end < name.size() && name[end] == '%') return false;
  const bool is_doubled = end < name.size() && name[end] == last;  // behind :: and __, not within
  if (last == ' ' || last == ',' || last == '/' || ((last == '_' || last == ':') && !is_doubled)) return true;
  // A dot between digits belongs to a number.
  const bool is_in_number = end >= 2 && is_digit(name[end - 2]) && end < name.size() && is_digit(name[end]);
  return last == '.' && !is_in_number;
}

std::vector<std::string> lines_of_name(std::string_view name, std::size_t width) {
  // Lines after the first are indented, so that they read as what they continue.
  constexpr std::string_view kIndent = "  ";
  std::vector<std::string> lines;
  while (true) {
    const std::size_t indent = lines.empty() ? 0 : kIndent.size();
    const std::size_t room = std::max<std::size_t>(width, kIndent.size() + 2) - indent;
    std::size_t end = 0, used = 0, behind_separator = 0;
    while (end < name.size()) {
      const Utf8Character character = first_character(name.substr(end));
      used += width_of(character.code);
      if (used > room) break;
      end += character.bytes;
      if (may_break_behind(name, end)) behind_separator = end;
    }
    if (end < name.size() && behind_separator > 0) end = behind_separator;
    lines.push_back(std::string(kIndent.substr(0, indent)) + std::string(name.substr(0, end)));
    while (lines.back().ends_with(' ')) lines.back().pop_back();
    name.remove_prefix(end);
    name.remove_prefix(std::min(name.size(), name.find_first_not_of(' ')));
    if (name.empty()) return lines;
  }
}

namespace {

std::string wrapped_lines(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  while (true) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    const std::size_t word_width = display_width(word);
    if (column > 0 && column + 1 + word_width > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word_width;
  }
  return result + '\n';
}

constexpr std::size_t kNarrowest = 3;  // "---" is the shortest delimiter that every Markdown reader accepts

// Escapes backslashes too: otherwise "\|" in a name would be read as an escaped bar.
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

bool has_value(const TableColumn& column) {
  return std::ranges::any_of(column.cells,
                             [](const std::string& cell) { return !cell.empty() && cell != kAbsent; });
}

// Leaves out the columns without a value, unless the table has none at all.
std::vector<TableColumn> with_values(std::span<const TableColumn> columns) {
  std::vector<TableColumn> filled;
  std::ranges::copy_if(columns, std::back_inserter(filled), has_value);
  return filled.empty() ? std::vector<TableColumn>(columns.begin(), columns.end()) : filled;
}

// Returns the width of a table whose names (left-aligned cells) take at most `longest_name` columns.
std::size_t width_with_names(std::span<const TableColumn> columns, std::size_t longest_name) {
  std::size_t width = 1;
  for (const TableColumn& column : columns) {
    const std::size_t own = column_width(column);
    const std::size_t least = std::max({kNarrowest, longest_name, display_width(escaped(column.heading))});
    width += (column.align == Align::left ? std::min(own, least) : own) + 3;
  }
  return width;
}

// Continues each name that is wider than its column's width in rows of its own, whose other cells are empty.
void wrap_names(std::vector<TableColumn>& columns, const std::vector<std::size_t>& widths) {
  std::size_t rows = 0;
  for (const TableColumn& column : columns) rows = std::max(rows, column.cells.size());
  std::vector<TableColumn> wrapped_columns = columns;
  for (TableColumn& column : wrapped_columns) column.cells.clear();
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::vector<std::string>> lines;
    std::size_t height = 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const TableColumn& column = columns[c];
      const std::string cell = row < column.cells.size() ? one_line(column.cells[row]) : std::string();
      const bool fits = column.align == Align::right || display_width(escaped(cell)) <= widths[c];
      lines.push_back(fits ? std::vector{cell} : lines_of_name(cell, widths[c]));
      height = std::max(height, lines.back().size());
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      lines[c].resize(height);
      std::ranges::move(lines[c], std::back_inserter(wrapped_columns[c].cells));
    }
  }
  columns = std::move(wrapped_columns);
}

constexpr std::size_t kShortestName = 12;

// Wraps names, the widest first, until the table is at most `width` columns wide.
void fit_names(std::vector<TableColumn>& columns, std::size_t width) {
  std::size_t all = table_width(columns);
  if (all <= width) return;
  std::vector<std::size_t> widths, least;
  for (const TableColumn& column : columns) {
    const bool is_name = column.align == Align::left;
    widths.push_back(column_width(column));
    least.push_back(is_name ? std::max(kShortestName, display_width(escaped(column.heading)))
                            : widths.back());
  }
  const std::vector<std::size_t> whole = widths;
  while (all > width) {
    // A column that continues on further lines anyway gives more than one that would begin to.
    const auto worth = [&](std::size_t c) { return (widths[c] < whole[c] ? 5 : 4) * widths[c]; };
    std::size_t widest = columns.size();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (widths[c] > least[c] && (widest == columns.size() || worth(c) > worth(widest))) widest = c;
    }
    if (widest == columns.size()) break;
    --widths[widest];
    --all;
  }
  wrap_names(columns, widths);
}

// A wider page is no help where the terminal is as wide as it can be, so a flag comes first.
std::string what_shows_all(AllColumns all, std::size_t width) {
  std::string wider = "COLUMNS=" + std::to_string(width);
  switch (all) {
    case AllColumns::page_of_html: return "--html FILE or " + wider;
    case AllColumns::details: return "--details";
    case AllColumns::file_of_json: return "--json FILE or " + wider;
    case AllColumns::wider_terminal: break;
  }
  return wider;
}

std::string left_out_line(std::span<const TableColumn> all, std::span<const TableColumn> shown,
                          std::size_t width, AllColumns shown_by) {
  std::vector<std::string> names;
  for (const TableColumn& column : all) {
    if (std::ranges::find(shown, column.heading, &TableColumn::heading) == shown.end())
      names.push_back(one_line(column.heading));
  }
  if (names.empty()) return {};
  std::string text = "Left out at " + std::to_string(width) + " columns: " + joined(names);
  return '\n' +
         wrapped_lines(text + " (" + what_shows_all(shown_by, table_width(all)) + " shows all).", width, 0);
}

std::string table_lines(std::span<const TableColumn> columns);

std::string split_lines(const std::vector<TableColumn>& keys, std::span<const TableColumn> columns,
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
    fit_names(table, width);
    text += (text.empty() ? "" : "\n") + table_lines(table);
  }
  return text;
}

// Returns what stays of a table that no column is left to be taken out of: parts below each other, each with
// the names.
std::string lines_in_parts(const std::vector<TableColumn>& columns, std::size_t width) {
  const std::span<const TableColumn> all = columns;
  return split_lines({columns.front()}, all.subspan(1), width);
}

std::string fitted_lines(const std::vector<TableColumn>& columns, std::size_t width, AllColumns all) {
  // If a name must be wrapped in any case, a column is worth more than a long line of it.
  constexpr std::size_t kWrapped = 36;
  std::vector<TableColumn> shown = without_spare(columns, width, width);
  if (table_width(shown) > width) shown = without_spare(columns, kWrapped, width);
  if (!fits(shown, kShortestName, width)) shown = without_spare(columns, kShortestName, width);
  const std::string left_out = left_out_line(columns, shown, width, all);
  fit_names(shown, width);
  const bool is_too_wide = shown.size() > 2 && table_width(shown) > width;
  return (is_too_wide ? lines_in_parts(shown, width) : table_lines(shown)) + left_out;
}

std::string table_lines(std::span<const TableColumn> columns) {
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

struct LinesOf {
  std::string operator()(const std::string& lines) const { return lines; }
  std::string operator()(const Text::Paragraph& paragraph) const {
    return wrapped_lines(paragraph.text, paragraph.width, paragraph.indent);
  }
  std::string operator()(const Text::Item& item) const {
    const std::string space(item.indent, ' ');
    std::string text;
    if (item.kind == Text::Mark::status) {
      text = in_column(item.text, item);
      text.replace(0, std::min(item.indent, item.mark.size() + 2), "  " + item.mark);
      for (const std::string& more : item.more) text += in_column(more, item);
      return text;
    }
    text = wrapped_lines(item.mark + ' ' + item.text, item.width, item.indent);
    if (item.folds_more) return text;
    for (const std::string& more : item.more)
      text += space + wrapped_lines(more, item.width - item.indent, item.indent);
    return text;
  }
  std::string operator()(const Text::Table& table) const {
    return table.is_split ? split_lines(table.keys, table.columns, table.width)
                          : fitted_lines(table.columns, table.width, table.all);
  }

 private:
  // All lines start in one column, so that the marks can be read down the page.
  static std::string in_column(const std::string& text, const Text::Item& item) {
    std::string lines(item.indent, ' ');
    lines += wrapped_lines(text, item.width - item.indent, 0);
    for (std::size_t end = lines.find('\n'); end + 1 < lines.size(); end = lines.find('\n', end + 1))
      lines.insert(end + 1, item.indent, ' ');
    return lines;
  }
};

}  // namespace

Text::Text(std::string lines) {
  if (!lines.empty()) blocks_.emplace_back(std::move(lines));
}

Text& Text::operator+=(const Text& more) {
  for (const Block& block : more.blocks_) {
    // A line may be made of several pieces.
    auto* end = blocks_.empty() ? nullptr : std::get_if<std::string>(&blocks_.back());
    const auto* lines = std::get_if<std::string>(&block);
    if (end != nullptr && lines != nullptr) {
      *end += *lines;
    } else {
      blocks_.push_back(block);
    }
  }
  return *this;
}

std::string Text::lines() const {
  std::string text;
  for (const Block& block : blocks_) text += std::visit(LinesOf(), block);
  return text;
}

Text sections(const std::vector<Text>& parts) {
  Text text;
  for (const Text& part : parts) {
    if (!part.empty()) text += text.empty() ? part : '\n' + part;
  }
  return text;
}

Text wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  return Text::Block(Text::Paragraph{std::string(text), width, indent});
}

Text list_item(std::string_view text, std::size_t width) {
  return Text::Block(Text::Item{Text::Mark::bullet, "-", std::string(text), {}, false, width, 2});
}

Text numbered_item(std::size_t number, std::string_view text, std::size_t width, std::size_t indent,
                   std::vector<std::string> more, bool folds_more) {
  return Text::Block(Text::Item{Text::Mark::number, std::to_string(number) + '.', std::string(text),
                                std::move(more), folds_more, width, indent});
}

Text status_item(std::string_view status, std::string_view text, std::size_t width, std::size_t indent,
                 std::vector<std::string> more) {
  return Text::Block(Text::Item{Text::Mark::status, std::string(status), std::string(text), std::move(more),
                                false, width, indent});
}

Text markdown_table(std::span<const TableColumn> columns) {
  constexpr std::size_t kUnlimited = 1'000'000;
  return fitted_table({columns.begin(), columns.end()}, kUnlimited);
}

Text fitted_table(std::vector<TableColumn> columns, std::size_t width, AllColumns all) {
  return Text::Block(Text::Table{{}, with_values(columns), width, false, all});
}

Text split_tables(const std::vector<TableColumn>& keys, std::span<const TableColumn> columns,
                  std::size_t width) {
  if (columns.empty()) return {};
  return Text::Block(Text::Table{keys, with_values(columns), width, true});
}

std::size_t table_width(std::span<const TableColumn> columns) {
  std::size_t width = 1;
  for (const TableColumn& column : columns) width += column_width(column) + 3;
  return width;
}

bool fits(std::span<const TableColumn> columns, std::size_t longest_name, std::size_t width) {
  return width_with_names(columns, longest_name) <= width;
}

std::vector<TableColumn> without_spare(std::vector<TableColumn> columns, std::size_t longest_name,
                                       std::size_t width) {
  const std::vector<TableColumn> all = std::move(columns);
  std::vector<TableColumn> shown = all;
  while (!fits(shown, longest_name, width)) {
    const auto sparest = std::ranges::max_element(shown, {}, &TableColumn::spare);
    if (sparest == shown.end() || sparest->spare == 0) break;
    if (sparest->narrow.empty()) {
      shown.erase(sparest);
    } else {
      sparest->cells = std::exchange(sparest->narrow, {});
    }
  }
  // A narrow column that was left out first may have room where a wide one is gone.
  const auto is_shown = [&](const TableColumn& column) {
    return std::ranges::find(shown, column.heading, &TableColumn::heading) != shown.end();
  };
  std::vector<const TableColumn*> left_out;
  for (const TableColumn& column : all) {
    if (!is_shown(column)) left_out.push_back(&column);
  }
  std::ranges::stable_sort(left_out, {}, [](const TableColumn* column) { return column->spare; });
  for (const TableColumn* column : left_out) {
    std::vector<TableColumn> more;
    for (const TableColumn& each : all) {
      if (&each == column || is_shown(each)) more.push_back(each);
    }
    if (fits(more, longest_name, width)) shown = std::move(more);
  }
  return shown;
}

Page page_of(const ShownPage& shown, bool is_model) {
  constexpr std::size_t kSlowest = 10, kAll = 1'000'000;
  Page page;
  page.width = shown.width;
  page.details = shown.details;
  page.top = shown.top;
  if (!shown.top && is_model && shown.is_html) page.top = kAll;  // tables of HTML scroll
  if (!shown.top && is_model && !shown.is_html && !shown.details) page.top = kSlowest;
  page.findings = shown.findings.value_or(shown.details ? FindingsShown::all : FindingsShown::top);
  page.is_html = shown.is_html;
  return page;
}

}  // namespace jitterscope
