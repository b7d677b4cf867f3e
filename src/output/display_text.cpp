#include "output/display_text.hpp"

#include <algorithm>
#include <array>

#include "base/utf8.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kEllipsis = "…";

struct Range {
  char32_t first, last;
};
// The blocks of UAX #11 and of combining marks that names may hold; wcwidth would depend on the locale.
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
  std::string cut;
  std::size_t used = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    used += width_of(character.code);
    if (used > width - 1) break;
    cut += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return cut + std::string(kEllipsis);
}

std::string shortened(std::string_view name, std::size_t width) {
  if (display_width(name) <= width) return std::string(name);
  const bool is_list = name.find(',') != std::string_view::npos && name.find('=') != std::string_view::npos;
  const std::size_t head_width = is_list ? width : (width + 2) / 2;
  std::string head = cut_to_width(name, head_width);
  head.resize(head.size() - kEllipsis.size());
  while (!head.empty() && is_digit(head.back()) && is_digit(name[head.size()])) head.pop_back();
  if (is_list) {
    const std::size_t comma = head.rfind(',');
    if (comma != std::string::npos && comma >= head.size() / 2) head.resize(comma + 1);
    return head + std::string(kEllipsis);
  }
  std::string_view tail = name.substr(head.size());
  while (display_width(tail) + head_width > width) tail.remove_prefix(first_character(tail).bytes);
  while (!tail.empty() && is_digit(tail.front()) && is_digit(name[name.size() - tail.size() - 1])) {
    tail.remove_prefix(1);
  }
  return head + std::string(kEllipsis) + std::string(tail);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
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

}  // namespace jitterscope
