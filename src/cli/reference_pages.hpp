// Makes the reference pages and the manual page as documents, and writes them as Markdown and roff.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/completion.hpp"

namespace jitterscope::cli {

struct Heading {
  int level;  ///< 2 or 3: the title has 1
  std::string text;
};
/// Words between backticks are literal input.
struct Paragraph {
  std::string text;
};
struct CodeBlock {
  std::vector<std::string> lines;
  bool is_form = false;  ///< shows how a command is written; cannot be run as it is
};
/// The first column is literal input. A manual page joins the other columns, from the third on with their
/// headings.
struct ReferenceTable {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};
using Block = std::variant<Heading, Paragraph, CodeBlock, ReferenceTable>;

struct Document {
  std::string title;
  std::vector<Block> blocks;
};

std::string markdown(const Document& document);
/// Writes roff with the macros of man(7); the page's foot shows `version`.
std::string manual_page(const Document& document, const std::string& version);

// Below: the pages of docs/reference and the manual page, made from the command line's description and the
// program's tables.

struct ReferencePage {
  std::string_view name;  ///< file in docs/reference, without .md
  Document (*make)(const CommandDescription& tool);
};
const std::vector<ReferencePage>& reference_pages();

/// Returns jitterscope(1): all that one needs beside a terminal.
Document manual_document(const CommandDescription& tool);

}  // namespace jitterscope::cli
