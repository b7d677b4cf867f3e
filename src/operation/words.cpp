#include "operation/words.hpp"

#include <algorithm>

namespace jitterscope {

std::string_view to_string(DataType value) {
  for (const Word<DataType>& word : kIndexWords) {
    if (word.value == value) return word.text;
  }
  return printed_word(value);
}
std::string_view to_string(Layout value) { return printed_word(value); }
std::string_view to_string(HeadLayout value) { return printed_word(value); }
std::string_view to_string(Direction value) { return printed_word(value); }
std::string_view to_string(Pass value) { return printed_word(value); }
std::string_view to_string(CopyKind value) { return printed_word(value); }
std::string_view to_string(HostMemory value) { return printed_word(value); }
std::string_view to_string(Allocator value) { return printed_word(value); }
std::string_view to_string(Reduction value) { return printed_word(value); }

Bytes element_size(DataType type) {
  switch (type) {
    case DataType::f64:
    case DataType::i64: return Bytes(8);
    case DataType::f32:
    case DataType::i32:
    case DataType::tf32: return Bytes(4);
    case DataType::f16:
    case DataType::bf16: return Bytes(2);
  }
  return Bytes(0);
}

bool holds_indices(DataType type) { return type == DataType::i64 || type == DataType::i32; }

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  for (const char character : text.substr(0, longest)) {
    const bool is_printable = character >= ' ' && character <= '~';
    result += is_printable ? character : '?';
  }
  return text.size() > longest ? result + "…" : result;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongestWord = 60;
  return "'" + printable(text, kLongestWord) + "'";
}

bool is_word_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

bool is_identifier(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::ranges::all_of(text, is_word_letter);
}

bool is_engine(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  return !text.empty() && text.size() <= kLongest && std::ranges::all_of(text, [](char letter) {
    return is_word_letter(letter) || letter == '=' || letter == '-';
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace jitterscope
