#include "cli/document.hpp"

namespace jitterscope::cli {
namespace {

// What Markdown would read as a mark; between backticks only the bar of a table is one.
std::string markdown_text(const std::string& text, bool in_table) {
  std::string result;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    const bool is_mark = c == '*' || c == '<' || c == '\\';
    if ((is_mark && !is_code) || (c == '|' && in_table)) result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

struct MarkdownWriter {
  std::string text;

  void operator()(const Heading& heading) {
    text += std::string(static_cast<std::size_t>(heading.level), '#') + " " +
            markdown_text(heading.text, false) + "\n";
  }
  void operator()(const Paragraph& paragraph) { text += markdown_text(paragraph.text, false) + "\n"; }
  void operator()(const CodeBlock& block) {
    text += block.is_form ? "```text\n" : "```\n";
    for (const std::string& line : block.lines) text += line + "\n";
    text += "```\n";
  }
  void operator()(const ReferenceTable& table) {
    row(table.headings, false);
    for (std::size_t i = 0; i < table.headings.size(); ++i) text += "|---";
    text += "|\n";
    for (const std::vector<std::string>& cells : table.rows) row(cells, true);
  }
  void row(const std::vector<std::string>& cells, bool first_is_code) {
    text += "|";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_code = first_is_code && i == 0;
      text += " " + markdown_text(is_code ? "`" + cells[i] + "`" : cells[i], true) + " |";
    }
    text += "\n";
  }
};

}  // namespace

std::string markdown(const Document& document) {
  MarkdownWriter writer{"# " + document.title + "\n"};
  for (const Block& block : document.blocks) {
    writer.text += "\n";
    std::visit(writer, block);
  }
  return writer.text;
}

}  // namespace jitterscope::cli
