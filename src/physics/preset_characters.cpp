// toml++ 3.3 runs into assertions on table names that are none, and into undefined behaviour on a
// letter beyond ASCII where a key or value is expected.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::physics {
namespace {

/// Where the comment of a line begins; a '#' in quotes begins none.
std::size_t comment_of(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '"' && c == '\\') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return i;
    }
  }
  return line.size();
}

/// [word], the only kind of table that a preset has.
bool is_table_header(std::string_view code) {
  const std::size_t close = code.find(']');
  if (close == std::string_view::npos || close < 2) return false;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  const std::string_view name = code.substr(1, close - 1);
  return std::all_of(name.begin(), name.end(), is_word) &&
         code.find_first_not_of(" \t\r", close + 1) == std::string_view::npos;
}

/// What is wrong with a line, or empty.
std::string_view problem_of(std::string_view line) {
  const std::size_t comment = comment_of(line);
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto code = static_cast<unsigned char>(line[i]);
    const bool ends_line = code == '\r' && i + 1 == line.size();
    if ((code < 0x20 && code != '\t' && !ends_line) || code == 0x7f)
      return "a control character: this is no text";
    if (code > 0x7f && i < comment) return "a character beyond ASCII, which only comments may have";
  }
  // A text over several lines would hide from this function what is a comment.
  const std::string_view code = line.substr(0, comment);
  if (code.find("\"\"\"") != std::string_view::npos || code.find("'''") != std::string_view::npos) {
    return "a text over several lines, which no key has";
  }
  const std::size_t first = code.find_first_not_of(" \t");
  if (first != std::string_view::npos && code[first] == '[' && !is_table_header(code.substr(first))) {
    return "expected a table's name such as [power]";
  }
  return {};
}

}  // namespace

void check_characters(std::string_view text, const std::string& file) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view problem = problem_of(text.substr(0, end));
    if (!problem.empty()) throw UsageError(fmt::format("{}:{}: {}", file, number, problem));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace jitterscope::physics
