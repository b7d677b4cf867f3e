// The words of parameter values: those that are read, and the one that is printed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

/// Returns the words of an enumeration. The first word of each value is the one that is printed.
template <class Value>
std::span<const Word<Value>> words_of();

/// Returns the index types. They are not offered to users, because no operation computes in them.
std::span<const Word<DataType>> index_words();

template <>
std::span<const Word<DataType>> words_of<DataType>();
template <>
std::span<const Word<Layout>> words_of<Layout>();
template <>
std::span<const Word<Direction>> words_of<Direction>();
template <>
std::span<const Word<HeadLayout>> words_of<HeadLayout>();
template <>
std::span<const Word<Pass>> words_of<Pass>();
template <>
std::span<const Word<CopyKind>> words_of<CopyKind>();
template <>
std::span<const Word<HostMemory>> words_of<HostMemory>();
template <>
std::span<const Word<ChainSpread>> words_of<ChainSpread>();
template <>
std::span<const Word<ChainOrder>> words_of<ChainOrder>();
template <>
std::span<const Word<HostWait>> words_of<HostWait>();
template <>
std::span<const Word<WaitAfter>> words_of<WaitAfter>();
template <>
std::span<const Word<Allocator>> words_of<Allocator>();
template <>
std::span<const Word<bool>> words_of<bool>();

template <class Value>
std::string_view printed_word(Value value) {
  for (const Word<Value>& word : words_of<Value>()) {
    if (word.value == value) return word.text;
  }
  return "?";
}

/// Returns at most `longest` bytes of the text, with all but printable ASCII replaced, so that a damaged file
/// gives a readable message.
std::string printable(std::string_view text, std::size_t longest);

/// Returns a word of the input, quoted for a message.
std::string in_quotes(std::string_view text);

/// True for a letter, digit or underscore of ASCII.
bool is_word_letter(char letter);
/// True for a name as programming languages have it: word letters that do not begin with a digit.
bool is_identifier(std::string_view text);
/// True if text can be an engine's tag: word letters, '=' and '-', at most 200 of them.
bool is_engine(std::string_view text);

/// Returns the text without leading and trailing spaces and tabs.
std::string_view trimmed(std::string_view text);

}  // namespace jitterscope
