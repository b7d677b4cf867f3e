// Reads the values of one operation's parameters into its fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "base/number_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {

struct NamedValue {
  std::string name, value;
};

/// Whether a parameter is a number of bytes, by its name.
Counted counted_by(std::string_view name);

/// A word that may be typed, and the one of the same value that is printed.
struct KnownWord {
  std::string_view text, printed;
};
/// " (did you mean 'f16'?)": the printed word of the nearest one, or all printed words.
std::string word_hint(std::string_view text, const std::vector<KnownWord>& words);
template <class Value>
std::vector<KnownWord> known_words() {
  std::vector<KnownWord> words;
  for (const Word<Value>& word : words_of<Value>()) words.push_back({word.text, printed_word(word.value)});
  return words;
}

/// A field whose parameter is absent keeps the value it has. Throws UsageError where a value cannot be
/// read; whether it is possible is checked by the shape.
class ParameterReader {
 public:
  /// Throws UsageError for a parameter that is not known or given twice.
  ParameterReader(std::string kind, std::string example, std::vector<NamedValue> values,
                  const std::vector<std::string>& known);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  void read(std::string_view name, std::int64_t& field) const;
  /// i64 and i32 are read too, so that the shape can say why it is refused.
  void read(std::string_view name, DataType& field) const;
  void read(std::string_view name, std::string& field) const;
  /// Of the parameter `engine`: `pytorch` is the empty field.
  void read_engine(std::string& field) const;
  template <class Value>
  void read(std::string_view name, Value& field) const {
    read_word(name, field);
  }
  /// `2`, or `2x1`: height x width.
  void read_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;

  /// As read, but throws UsageError where the parameter is absent.
  void require(std::string_view name, std::int64_t& field) const;
  void require_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;
  /// One parameter for both (`hw`), or one each (`h` and `w`).
  void require_both(std::string_view both, std::string_view first, std::int64_t& first_field,
                    std::string_view second, std::int64_t& second_field) const;

  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_missing(const std::string& what) const;

 private:
  const std::string* find(std::string_view name) const;
  template <class Value>
  void read_word(std::string_view name, Value& field) const;
  [[noreturn]] void fail_value(std::string_view name, std::string_view value,
                               const std::string& expected) const;

  std::string kind_, example_;
  std::vector<NamedValue> values_;
};

template <class Value>
void ParameterReader::read_word(std::string_view name, Value& field) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  for (const Word<Value>& word : words_of<Value>()) {
    if (word.text == *text) {
      field = word.value;
      return;
    }
  }
  fail_value(name, *text, "is not a known " + std::string(name) + word_hint(*text, known_words<Value>()));
}

}  // namespace jitterscope
