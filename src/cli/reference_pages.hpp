// A page of reference: what it says, and how that looks as Markdown or as a manual page.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/completion.hpp"

namespace jitterscope::cli {

struct Heading {
  int level;  ///< 2 and 3: the title has 1
  std::string text;
};
/// Words between backticks are what one types.
struct Paragraph {
  std::string text;
};
struct CodeBlock {
  std::vector<std::string> lines;
  bool is_form = false;  ///< how a command is written, and none that could be run as it stands
};
/// The first column is what one types. A manual page has the others one after the other, from the third one
/// on with their headings.
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
/// In roff, with the macros of man(7); `version` is shown at the foot of the page.
std::string manual_page(const Document& document, const std::string& version);

// The pages of docs/reference and the manual page, made of the command line's own description and of the
// program's tables.

struct ReferencePage {
  std::string_view name;  ///< of the file in docs/reference, without .md
  Document (*make)(const CommandDescription& tool);
};
const std::vector<ReferencePage>& reference_pages();

/// All that one needs beside a terminal, as jitterscope(1).
Document manual_document(const CommandDescription& tool);

}  // namespace jitterscope::cli
