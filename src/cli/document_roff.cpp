#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/document.hpp"

namespace jitterscope::cli {
namespace {

// A minus that one types is \-, a quote or point that begins a line would be a request.
std::string roff_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\': result += "\\e"; break;
      case '-': result += "\\-"; break;
      case '\'': result += "\\(aq"; break;
      case '`': result += "\\(ga"; break;
      case '^': result += "\\(ha"; break;
      case '~': result += "\\(ti"; break;
      default: result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

// Text with words between backticks, which are set in bold.
std::string inline_text(const std::string& text) {
  std::string result;
  bool is_code = false;
  for (std::size_t begin = 0; begin <= text.size(); is_code = !is_code) {
    const std::size_t end = std::min(text.find('`', begin), text.size());
    const std::string part = roff_text(text.substr(begin, end - begin));
    result += is_code ? "\\fB" + part + "\\fR" : part;
    begin = end + 1;
  }
  return result;
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

struct RoffWriter {
  std::string text;
  bool follows_heading = false;  ///< where .PP would do nothing, and is warned of

  void operator()(const Heading& heading) {
    follows_heading = true;
    text += heading.level == 2 ? ".SH " + upper_case(roff_text(heading.text)) + "\n"
                               : ".SS " + roff_text(heading.text) + "\n";
  }
  void operator()(const Paragraph& paragraph) {
    begin_paragraph();
    text += inline_text(paragraph.text) + "\n";
  }
  void operator()(const CodeBlock& block) {
    begin_paragraph();
    text += ".RS 4\n.EX\n";
    for (const std::string& line : block.lines) text += roff_text(line) + "\n";
    text += ".EE\n.RE\n";
  }
  void operator()(const ReferenceTable& table) {
    follows_heading = false;
    for (const std::vector<std::string>& cells : table.rows) {
      text += ".TP\n\\fB" + roff_text(cells.front()) + "\\fR\n" + inline_text(cells.at(1));
      for (std::size_t i = 2; i < cells.size(); ++i) {
        if (!cells[i].empty()) text += fmt::format("; {}: {}", table.headings[i], inline_text(cells[i]));
      }
      text += "\n";
    }
  }
  void begin_paragraph() {
    if (!follows_heading) text += ".PP\n";
    follows_heading = false;
  }
};

}  // namespace

std::string manual_page(const Document& document, const std::string& version) {
  RoffWriter writer{fmt::format(".TH {} 1 \"\" \"jitterscope {}\" \"User commands\"\n.nh\n.ad l\n",
                                upper_case(document.title), roff_text(version))};
  for (const Block& block : document.blocks) std::visit(writer, block);
  return writer.text;
}

}  // namespace jitterscope::cli
