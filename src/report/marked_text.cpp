#include "report/marked_text.hpp"

#include <algorithm>
#include <vector>

namespace jitterscope::report {
namespace {

constexpr std::string_view kBold = "**";

// What stands between two marks; where one is left over, a name has some of its own.
std::string with_bold(std::string_view text) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(kBold); at != text.npos; at = text.find(kBold, at + kBold.size())) {
    places.push_back(at);
  }
  if (places.size() % 2 != 0) return std::string(text);
  std::string made;
  std::size_t done = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    made += text.substr(done, places[i] - done);
    made += i % 2 == 0 ? "<strong>" : "</strong>";
    done = places[i] + kBold.size();
  }
  return made + std::string(text.substr(done));
}

// As wide as it was: what its marks took is space, on the side where it has some.
std::string marked_cell(std::string_view cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] == '\\' && i + 1 < cell.size()) ++i;
    text += cell[i];
  }
  std::size_t spare = cell.size() - text.size();
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  const std::string_view word =
      begin == text.npos ? std::string_view() : std::string_view(text).substr(begin, end + 1 - begin);
  if (word.size() > 2 * kBold.size() && word.starts_with(kBold) && word.ends_with(kBold)) {
    const std::string bold = with_bold(word);
    if (bold != word) spare += 2 * kBold.size();
    text.replace(begin, word.size(), bold);
  }
  return begin != text.npos && begin > 1 ? std::string(spare, ' ') + text : text + std::string(spare, ' ');
}

std::string marked_row(std::string_view line) {
  std::string made;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i + 1 < line.size() && line[i] == '\\') {
      ++i;
    } else if (i == line.size() || line[i] == '|') {
      made += marked_cell(line.substr(begin, i - begin));
      if (i < line.size()) made += '|';
      begin = i + 1;
    }
  }
  return made;
}

}  // namespace

std::string marked_text(std::string_view escaped) {
  std::string made, paragraph;  // bold may reach from one line of a paragraph into the next
  const auto end_paragraph = [&] {
    made += with_bold(paragraph);
    paragraph.clear();
  };
  while (!escaped.empty()) {
    const std::size_t end = std::min(escaped.find('\n'), escaped.size() - 1) + 1;
    const std::string_view line = escaped.substr(0, end);
    escaped.remove_prefix(end);
    if (line.starts_with('|')) {
      end_paragraph();
      const bool is_whole = line.ends_with('\n');
      made += marked_row(is_whole ? line.substr(0, line.size() - 1) : line);
      if (is_whole) made += '\n';
    } else {
      paragraph += line;
      if (line == "\n") end_paragraph();
    }
  }
  end_paragraph();
  return made;
}

}  // namespace jitterscope::report
