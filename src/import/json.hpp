// Reads JSON that may be damaged, cut off or hold invalid strings, with simdjson.
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

/// The bytes of strings that mend_strings() replaced.
struct MendedStrings {
  std::size_t count = 0;
  std::size_t first = 0;  ///< offset of the first one in the text, in bytes
};

/// Replaces bytes that JSON forbids in strings, which kernels' names and annotations may hold. The text keeps
/// its length. Within strings, a control character becomes a blank, a byte that is not UTF-8 a '?', the
/// backslash of an unknown escape a '/', and half of a surrogate pair U+FFFD. Nothing outside of strings
/// changes.
MendedStrings mend_strings(char* text, std::size_t size);

/// Returns "line 3, byte 1041". Both count from 1; the byte counts from the beginning of the file.
std::string place_in_text(std::string_view text, std::size_t place);

class ReadableJson {
 public:
  /// The text must outlive this object.
  ReadableJson(std::string_view text, std::string_view file_name);

  /// Calls `read` with the document; `read` must read all of it. If it throws simdjson_error and strings
  /// could be mended, it is called again from the beginning. Throws EarlyEnd, or UsageError that says where
  /// the text is no JSON or where a second document begins.
  void read(const std::function<void(simdjson::ondemand::document&)>& read);

  /// Returns a sentence for the user on the mended strings; nullopt if none was mended.
  std::optional<std::string> note() const;

 private:
  [[noreturn]] void fail(const simdjson::simdjson_error& error, simdjson::ondemand::document& document,
                         bool is_begun) const;
  void require_end(simdjson::ondemand::document& document) const;

  std::string file_name_;
  std::string_view original_;
  simdjson::padded_string text_;
  simdjson::ondemand::parser parser_;  ///< owns the unescaped strings
  MendedStrings mended_;
};

// JSON of a program that was stopped while it wrote.

/// Thrown if the file ends in the middle of its JSON.
struct EarlyEnd : UsageError {
  EarlyEnd(const std::string& sentence, std::string closed_text)
      : UsageError(sentence), closed(std::move(closed_text)) {}
  std::string closed;  ///< the text as closed_json() repairs it
};

/// Repairs JSON that ends early: returns the text up to the last whole object of its list, with the open
/// brackets closed. The list is the whole text or, as in traces, a field of the outermost object. Empty if no
/// object is whole; nullopt if nothing is open at the end, or if a bracket does not match (that is no JSON).
std::optional<std::string> closed_json(std::string_view text);

/// Returns the offset of the first closing bracket that does not match the last open one.
std::optional<std::size_t> wrong_bracket(std::string_view text);

// Parts and fields of JSON that may be damaged or edited by hand, for src/import only.

/// Parses a part of a text; the bytes after the part must be readable. The numbers inf and nan, which PyTorch
/// writes although JSON has none, become strings. Bytes that JSON forbids in strings are replaced as by
/// mend_strings(). Throws simdjson_error.
simdjson::dom::element parse_part(simdjson::dom::parser& parser, std::string_view part);

/// Returns a whole number. Some programs that rewrite traces write it as text ("102") or with decimals
/// (102.0).
std::optional<std::int64_t> whole_number_of(simdjson::dom::element element);

/// Thrown if a field is not as expected; the sentence names the field.
struct FieldProblem {
  std::string sentence;
  std::string remedy = {};  ///< as UntimedOperator::remedy
};
/// The next four functions throw FieldProblem.
simdjson::dom::array array_field(simdjson::dom::object object, std::string_view name);
std::int64_t integer_field(simdjson::dom::object object, std::string_view name);
std::string_view text_field(simdjson::dom::object object, std::string_view name);
std::vector<std::int64_t> integers_of(simdjson::dom::element element, std::string_view name);

/// Translates the C++ name of an element type, c10::Half, into jitterscope's, f16. Empty if unknown.
std::string_view element_type(std::string_view name);

}  // namespace jitterscope
