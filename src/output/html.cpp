#include "output/html.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kMostRows = 2000;  // limit for a table on a page
constexpr std::string_view kBold = "**", kCode = "`";

// Puts an element around what stands between two marks. An odd number of marks means that a name contains
// some: nothing changes.
std::string with_element(std::string_view text, std::string_view mark, std::string_view element) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(mark); at != text.npos; at = text.find(mark, at + mark.size())) {
    places.push_back(at);
  }
  if (places.size() % 2 != 0) return std::string(text);
  std::string made;
  std::size_t done = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    made += text.substr(done, places[i] - done);
    made += fmt::format("<{}{}>", i % 2 == 0 ? "" : "/", element);
    done = places[i] + mark.size();
  }
  return made + std::string(text.substr(done));
}

std::string sentence_html(std::string_view text) {
  return with_element(with_element(escaped_html(text), kBold, "strong"), kCode, "code");
}

// Keeps a number and its unit in one line.
std::string with_kept_units(std::string_view cell) {
  const std::string text = one_line(cell);
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_unit = text[i] == ' ' && i > 0 && is_digit(text[i - 1]) && i + 1 < text.size() &&
                         (text[i + 1] == '%' || std::isalpha(static_cast<unsigned char>(text[i + 1])) != 0 ||
                          text.substr(i + 1).starts_with("µ"));
    if (is_unit) {
      kept += "\u00a0";
    } else {
      kept += text[i];
    }
  }
  return kept;
}

std::string cell_html(const TableColumn& column, std::string_view cell) {
  if (column.align == Align::right) return escaped_html(with_kept_units(cell));
  const bool is_bold = cell.size() > 2 * kBold.size() && cell.starts_with(kBold) && cell.ends_with(kBold);
  return is_bold ? sentence_html(cell) : breakable_html(one_line(cell));
}

// A narrow screen has room for so many columns of letters, if names take no more than kNarrowName of them.
constexpr std::size_t kNarrow = 56, kNarrowName = 16;
constexpr std::size_t kLongName = 24;  // a column of longer ones is not made narrower than these lines need

struct HtmlColumn {
  const TableColumn* column;
  bool is_spare;        // hidden on a narrow screen
  std::string opening;  // the attributes of its cells
};

std::string longest_word(std::string_view text) {
  std::string longest;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end - begin > longest.size()) longest = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return longest;
}

// Returns the columns as narrow as a screen may make them: a heading continues behind each word, a number
// behind its unit.
std::vector<TableColumn> narrowest(std::span<const TableColumn> columns) {
  std::vector<TableColumn> narrow(columns.begin(), columns.end());
  for (TableColumn& column : narrow) {
    if (column.align == Align::left) continue;
    column.heading = longest_word(with_kept_units(column.heading));
    for (std::string& cell : column.cells) cell = longest_word(with_kept_units(cell));
  }
  return narrow;
}

std::vector<HtmlColumn> html_columns(std::span<const TableColumn> columns, bool stacks) {
  const std::vector<TableColumn> narrow = narrowest(columns);
  const std::vector<TableColumn> kept = stacks ? narrow : without_spare(narrow, kNarrowName, kNarrow);
  std::vector<HtmlColumn> made;
  std::size_t next = 0;  // the next column of those that are kept, in their order
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TableColumn& column = columns[i];
    const bool is_kept =
        next < kept.size() && kept[next].heading == narrow[i].heading && kept[next].cells == narrow[i].cells;
    if (is_kept) ++next;
    const auto is_long = [](const std::string& cell) { return display_width(cell) > kLongName; };
    std::vector<std::string> kinds;
    if (column.align == Align::right) kinds.emplace_back("number");
    if (column.align == Align::left && std::ranges::any_of(column.cells, is_long)) kinds.emplace_back("name");
    if (!is_kept) kinds.emplace_back("spare");
    made.push_back(
        {&column, !is_kept, kinds.empty() ? "" : fmt::format(" class=\"{}\"", joined(kinds, " "))});
  }
  return made;
}

// With `stacks`, each cell that has a value brings its heading: on a narrow screen rows become lists, in
// which nothing is cut.
std::string row_html(const std::vector<HtmlColumn>& columns, std::string_view element, bool stacks,
                     auto&& text_of) {
  std::string made = "<tr>";
  for (const HtmlColumn& each : columns) {
    const std::string_view text = text_of(*each.column);
    const std::string heading =
        stacks && !text.empty() && text != kAbsent
            ? fmt::format(" data-is=\"{}\"", escaped_html(one_line(each.column->heading)))
            : "";
    made +=
        fmt::format("<{0}{1}{2}>{3}</{0}>", element, each.opening, heading, cell_html(*each.column, text));
  }
  return made + "</tr>\n";
}

// Writes the blocks in order; paragraphs and items that follow each other share an element.
class HtmlWriter {
 public:
  void operator()(const std::string& lines) {
    std::string_view rest = lines;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      if (line.empty()) {
        close();
      } else if (line.starts_with("    ")) {
        open("pre");
        html_ += escaped_html(line.substr(4)) + '\n';
      } else {
        add_line(line);
      }
    }
  }

  void operator()(const Text::Paragraph& paragraph) { add_line(paragraph.text); }

  void operator()(const Text::Item& item) {
    const bool is_status = item.kind == Text::Mark::status;
    open(item.kind == Text::Mark::number ? "ol" : "ul", is_status ? "status" : "");
    std::string text = sentence_html(item.text), more;
    if (is_status) text = fmt::format("<b class=\"mark {0}\">{0}</b> {1}", escaped_html(item.mark), text);
    for (const std::string& each : item.more) more += "<p>" + sentence_html(each) + "</p>";
    html_ += "<li>" + (item.folds_more && !more.empty()
                           ? fmt::format("<details><summary>{}</summary>{}</details>", text, more)
                           : text + more);
    html_ += "</li>\n";
  }

  void operator()(const Text::Table& table) {
    close();
    std::vector<TableColumn> columns = table.keys;
    columns.insert(columns.end(), table.columns.begin(), table.columns.end());
    if (table.is_split) {
      for (TableColumn& column : columns) column.spare = 0;
    }
    html_ += html_table(columns);
  }

  std::string html() && {
    close();
    return std::move(html_);
  }

 private:
  void add_line(std::string_view line) {
    if (element_ == "p") html_ += "<br>\n";
    open("p");
    html_ += sentence_html(line);
  }

  void open(std::string_view element, std::string_view kind = "") {
    if (element_ == element && kind_ == kind) return;
    close();
    element_ = element;
    kind_ = kind;
    html_ += fmt::format("<{}{}>", element, kind.empty() ? "" : fmt::format(" class=\"{}\"", kind));
  }

  void close() {
    if (!element_.empty()) html_ += fmt::format("</{}>\n", element_);
    element_ = kind_ = "";
  }

  std::string html_;
  std::string_view element_, kind_;
};

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    switch (letter) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      case '\'': safe += "&#39;"; break;
      default: safe += letter;
    }
  }
  return safe;
}

std::string breakable_html(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    std::size_t end = 1;
    while (end < text.size() && !may_break_behind(text, end)) ++end;
    const bool is_at_space = text[end - 1] == ' ' || (end < text.size() && text[end] == ' ');
    made += escaped_html(text.substr(0, end)) + (end < text.size() && !is_at_space ? "<wbr>" : "");
    text.remove_prefix(end);
  }
  return made;
}

std::string html_of(const Text& text) {
  HtmlWriter writer;
  for (const Text::Block& block : text.blocks()) std::visit(writer, block);
  return std::move(writer).html();
}

std::string html_table(std::span<const TableColumn> columns) {
  std::size_t rows = 0;
  for (const TableColumn& column : columns) rows = std::max(rows, column.cells.size());
  const bool stacks = !fits(without_spare(narrowest(columns), kNarrowName, kNarrow), kNarrowName, kNarrow);
  const std::vector<HtmlColumn> shown = html_columns(columns, stacks);
  std::string made = fmt::format("<div class=\"rows{}\"><table>\n<thead>", stacks ? " stacks" : "");
  made += row_html(shown, "th", false,
                   [](const TableColumn& column) { return std::string_view(column.heading); });
  made += "</thead>\n<tbody>\n";
  for (std::size_t i = 0; i < std::min(rows, kMostRows); ++i) {
    made += row_html(shown, "td", stacks, [&](const TableColumn& column) {
      return i < column.cells.size() ? std::string_view(column.cells[i]) : std::string_view();
    });
  }
  made += "</tbody></table></div>\n";
  std::vector<std::string> left_out;
  for (const HtmlColumn& each : shown) {
    if (each.is_spare) left_out.push_back(one_line(each.column->heading));
  }
  if (!left_out.empty())
    made += fmt::format("<p class=\"left-out\">A wider screen also shows: {}.</p>\n",
                        escaped_html(joined(left_out)));
  if (rows > kMostRows) {
    made += fmt::format("<p>{} of {} rows; the JSON record has them all.</p>\n", kMostRows, rows);
  }
  return made;
}

std::string html_marks(std::span<const std::string> marks) {
  std::string items;
  for (const std::string& mark : marks) {
    if (!mark.empty()) items += fmt::format("<li>{}</li>", escaped_html(one_line(mark)));
  }
  return items.empty() ? items : fmt::format("<ul class=\"marks\">{}</ul>\n", items);
}

}  // namespace jitterscope
