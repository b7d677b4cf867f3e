#include "physics/preset_toml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope::physics {
namespace {

/// [word], the only kind of table that a preset has.
bool is_table_header(std::string_view code) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const auto close = std::find_if_not(code.begin() + 1, code.end(), is_word);
  return close != code.end() && close != code.begin() + 1 && *close == ']' &&
         std::all_of(close + 1, code.end(), [](char c) { return c == ' ' || c == '\t'; });
}

/// What is wrong with a line, or empty. A text over several lines would hide what is a comment.
std::string_view problem_of(std::string_view line) {
  std::size_t code_end = line.size();
  char quote = 0;
  bool is_escaped = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return "a control character: this is no text";
    if (i > code_end) continue;
    if (byte > 0x7f) return "a character beyond ASCII, which only comments may have";
    if (is_escaped) {
      is_escaped = false;
    } else if (quote != 0) {
      is_escaped = quote == '"' && c == '\\';
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      code_end = i;
    }
  }
  const std::string_view code = line.substr(0, code_end);
  if (code.find("\"\"\"") != std::string_view::npos || code.find("'''") != std::string_view::npos) {
    return "a text over several lines, which no key has";
  }
  const std::size_t first = std::min(code.find_first_not_of(" \t"), code.size());
  if (code.substr(first).starts_with('[') && !is_table_header(code.substr(first))) {
    return "expected a table's name such as [power]";
  }
  return {};
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& file) {
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view problem = problem_of(line);
    if (!problem.empty()) throw UsageError(fmt::format("{}:{}: {}", file, number, problem));
  }
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  } catch (const MalformedToml&) {
    throw UsageError(file + ": this is no TOML: look for brackets and braces that do not match");
  }
}

}  // namespace jitterscope::physics
