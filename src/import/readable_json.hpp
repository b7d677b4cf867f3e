// A file of JSON from its text to simdjson's document, whatever its strings hold.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace jitterscope {

/// What was wrong within strings, and where the first of it stands.
struct MendedStrings {
  std::size_t count = 0;
  std::size_t first = 0;  ///< place in the text, from 0
};

/// Kernels' names and annotations hold bytes that JSON may not: these become harmless in place, so that all
/// else stays where it was. Within strings a control character becomes a blank, a byte that is not UTF-8 a
/// '?', the backslash of an unknown escape a '/', and half of a pair of surrogates U+FFFD. Outside of strings
/// nothing is changed.
MendedStrings mend_strings(char* text, std::size_t size);

/// "line 3, byte 1041": from 1, the byte that of the whole file.
std::string place_in_text(std::string_view text, std::size_t place);

class ReadableJson {
 public:
  /// The text must outlive it.
  ReadableJson(std::string_view text, std::string_view file_name);

  /// Calls `read` with the document, which must read all of it; once more, from its beginning, where that
  /// throws simdjson_error and the strings could be mended. Throws EarlyEnd, or UsageError that says where
  /// the text is no JSON, or where a second document begins.
  void read(const std::function<void(simdjson::ondemand::document&)>& read);

  /// For the user: what was mended.
  std::optional<std::string> note() const;

 private:
  [[noreturn]] void fail(const simdjson::simdjson_error& error, simdjson::ondemand::document& document,
                         bool is_begun) const;
  void require_end(simdjson::ondemand::document& document) const;

  std::string file_name_;
  std::string_view original_;
  simdjson::padded_string text_;
  simdjson::ondemand::parser parser_;  ///< holds the strings that were unescaped
  MendedStrings mended_;
};

}  // namespace jitterscope
