// A file of JSON from its text to simdjson's document, whatever its strings hold.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "import/recorded_operator.hpp"
#include "jitterscope/error.hpp"

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

// JSON of a program that was stopped while it wrote it.

/// The file ends in the middle of its JSON.
struct EarlyEnd : UsageError {
  EarlyEnd(const std::string& sentence, std::string closed_text)
      : UsageError(sentence), closed(std::move(closed_text)) {}
  std::string closed;  ///< as closed_json gives it
};

/// Where brackets are open at the end, or a string is: the text up to its last whole element, with what is
/// open closed: of a list of objects, alone or in a field of the outermost object, as traces are; empty where
/// there is no such element. Nothing where none is open, or one is closed that was not open: that is no JSON
/// at all.
std::optional<std::string> closed_json(std::string_view text);

/// Where a bracket is closed that is not the last one that was opened.
std::optional<std::size_t> wrong_bracket(std::string_view text);

// Parts and fields of JSON that may be damaged or edited by hand. Inside src/import only.

/// A part of a text that is read, with what follows it readable. Its numbers may be inf and nan, which
/// PyTorch writes although JSON has none; these become strings. What JSON does not allow in strings becomes
/// harmless (mend_strings). Throws simdjson_error.
simdjson::dom::element parse_part(simdjson::dom::parser& parser, std::string_view part);

/// A whole number, which some programs that rewrite traces write as text ("102") or with decimals (102.0).
std::optional<std::int64_t> whole_number_of(simdjson::dom::element element);

/// A field that is not as expected; its sentence says which.
struct FieldProblem {
  std::string sentence;
};
/// These throw FieldProblem.
simdjson::dom::array array_field(simdjson::dom::object object, std::string_view name);
std::int64_t integer_field(simdjson::dom::object object, std::string_view name);
std::string_view text_field(simdjson::dom::object object, std::string_view name);
std::vector<std::int64_t> integers_of(simdjson::dom::element element, std::string_view name);

/// What PyTorch's C++ calls a type of elements, c10::Half, as operations are written: f16. Empty where
/// unknown.
std::string_view element_type(std::string_view name);

}  // namespace jitterscope
