#include "import/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_control_byte(char byte) { return static_cast<unsigned char>(byte) < 0x20; }

// Returns the code of \uXXXX at the beginning; nullopt if four hexadecimal digits do not follow.
std::optional<std::uint32_t> escaped_code(std::string_view text) {
  constexpr std::size_t kLength = 6;
  if (text.size() < kLength || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  std::uint32_t code = 0;
  for (const char digit : text.substr(2, 4)) {
    const char lower = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
    if (!((lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'f'))) return std::nullopt;
    code = code * 16 + static_cast<std::uint32_t>(lower <= '9' ? lower - '0' : lower - 'a' + 10);
  }
  return code;
}

/// Mends the strings of a text from its beginning to its end.
class StringMender {
 public:
  StringMender(char* text, std::size_t size) : text_(text), size_(size) {}

  MendedStrings mend() {
    bool in_string = false;
    while (place_ < size_) {
      const char byte = text_[place_];
      if (!in_string || byte == '"') {
        in_string = (byte == '"') != in_string;
        ++place_;
      } else if (byte == '\\') {
        mend_escape();
      } else if (is_control_byte(byte)) {
        replace(' ');
      } else {
        mend_character();
      }
    }
    return mended_;
  }

 private:
  std::string_view rest() const { return {text_ + place_, size_ - place_}; }

  void count() {
    if (mended_.count++ == 0) mended_.first = place_;
  }
  void replace(char byte) {
    count();
    text_[place_++] = byte;
  }

  void mend_character() {
    const Utf8Character character = first_character(rest());
    if (!character.valid) return replace('?');
    place_ += character.bytes;
  }

  void mend_escape() {
    constexpr std::string_view kEscapes = "\"\\/bfnrt";
    constexpr std::size_t kCode = 6;  // bytes of an escaped code
    const std::string_view escape = rest();
    if (escape.size() > 1 && kEscapes.find(escape[1]) != std::string_view::npos) {
      place_ += 2;
      return;
    }
    const std::optional<std::uint32_t> code = escaped_code(escape);
    if (!code) return replace('/');
    const bool begins_pair = *code >= 0xd800 && *code < 0xdc00, ends_pair = *code >= 0xdc00 && *code < 0xe000;
    const auto next = begins_pair ? escaped_code(escape.substr(kCode)) : std::nullopt;
    if (next && *next >= 0xdc00 && *next < 0xe000) {
      place_ += 2 * kCode;
      return;
    }
    if (begins_pair || ends_pair) {
      count();
      std::copy_n("fffd", 4, text_ + place_ + 2);
    }
    place_ += kCode;
  }

  char* text_;
  std::size_t size_;
  std::size_t place_ = 0;
  MendedStrings mended_;
};

/// Tells which bytes of a JSON text, given one after the other, belong to strings.
class StringTracker {
 public:
  /// True for a string's bytes with its quotes.
  bool takes(char byte) {
    const bool was_within = within_;
    if (!std::exchange(is_escaped_, was_within && !is_escaped_ && byte == '\\') && byte == '"')
      within_ = !within_;
    return was_within || within_;
  }
  bool is_within() const { return within_; }

 private:
  bool within_ = false, is_escaped_ = false;
};

// Returns the first byte outside of strings that JSON never has; used if simdjson gives no place.
std::optional<std::size_t> first_stray_byte(std::string_view text) {
  StringTracker strings;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_blank = text[i] == '\n' || text[i] == '\r' || text[i] == '\t';
    if (strings.takes(text[i]) || is_blank) continue;
    if (is_control_byte(text[i]) || static_cast<unsigned char>(text[i]) >= 0x7f) return i;
  }
  return std::nullopt;
}

}  // namespace

MendedStrings mend_strings(char* text, std::size_t size) { return StringMender(text, size).mend(); }

std::string place_in_text(std::string_view text, std::size_t place) {
  const std::string_view before = text.substr(0, place);
  return fmt::format("line {}, byte {}", 1 + std::count(before.begin(), before.end(), '\n'),
                     before.size() + 1);
}

ReadableJson::ReadableJson(std::string_view text, std::string_view file_name)
    : file_name_(file_name), original_(text), text_(text) {
  if (text.starts_with(kByteOrderMark)) std::fill_n(text_.data(), kByteOrderMark.size(), ' ');
}

void ReadableJson::read(const std::function<void(simdjson::ondemand::document&)>& read) {
  for (bool is_mended = false;; is_mended = true) {
    simdjson::ondemand::document document;
    bool is_begun = false;
    try {
      document = parser_.iterate(text_).value();
      is_begun = true;
      read(document);
      require_end(document);
      return;
    } catch (const simdjson::simdjson_error& error) {
      if (!is_mended) mended_ = mend_strings(text_.data(), text_.size());
      if (is_mended || mended_.count == 0) fail(error, document, is_begun);
    }
  }
}

std::optional<std::string> ReadableJson::note() const {
  if (mended_.count == 0) return std::nullopt;
  return fmt::format(
      "{} in its strings {} no text that JSON allows ({}0x{:02x} on {}); a blank, '?', '/' or U+FFFD was read "
      "in place of each.",
      mended_.count == 1 ? "One byte" : fmt::format("{} bytes", mended_.count),
      mended_.count == 1 ? "is" : "are", mended_.count == 1 ? "" : "the first, ",
      static_cast<unsigned char>(original_[mended_.first]), place_in_text(original_, mended_.first));
}

void ReadableJson::fail(const simdjson::simdjson_error& error, simdjson::ondemand::document& document,
                        bool is_begun) const {
  if (auto closed = closed_json(original_)) {
    throw EarlyEnd(
        fmt::format("{}: the file ends early, in the middle of its JSON; was the program stopped while it "
                    "wrote it?",
                    file_name_),
        *std::move(closed));
  }
  std::optional<std::size_t> place = wrong_bracket(original_);
  const char* location = nullptr;
  // A document that was begun still says where it stopped, after an error too.
  if (!place && is_begun && document.current_location().get(location) == simdjson::SUCCESS &&
      location >= text_.data() && location < text_.data() + text_.size())
    place = static_cast<std::size_t>(location - text_.data());
  if (!place) place = first_stray_byte(original_);
  throw UsageError(fmt::format("{}: {}not valid JSON: {}", file_name_,
                               place ? place_in_text(original_, *place) + ": " : "", error.what()));
}

void ReadableJson::require_end(simdjson::ondemand::document& document) const {
  const char* location = nullptr;
  if (document.current_location().get(location) != simdjson::SUCCESS) return;  // OUT_OF_BOUNDS: the end
  if (location < text_.data() || location >= text_.data() + text_.size()) return;
  const auto place = static_cast<std::size_t>(location - text_.data());
  const bool is_document = *location == '{' || *location == '[';
  throw UsageError(fmt::format("{}: {}: {}", file_name_, place_in_text(original_, place),
                               is_document ? "a second record begins there, as where files were written one "
                                             "behind the other; give them one by one"
                                           : "not valid JSON: something follows what begins the file"));
}

namespace {

/// Finds the brackets and strings of a JSON text that are open at its end.
class OpenBrackets {
 public:
  explicit OpenBrackets(std::string_view text) : text_(text) {
    for (std::size_t i = 0; i < text.size() && !wrong_; ++i) {
      if (strings_.takes(text[i])) continue;
      if (text[i] == '{' || text[i] == '[') open_ += text[i];
      if (text[i] == '}' || text[i] == ']') close(i);
    }
  }

  bool any() const { return !wrong_ && (strings_.is_within() || !open_.empty()); }
  std::optional<std::size_t> wrong() const { return wrong_; }
  std::string closed() const {
    std::string result(text_.substr(0, whole_));
    std::transform(open_at_whole_.rbegin(), open_at_whole_.rend(), std::back_inserter(result), closing);
    return result;
  }

 private:
  static char closing(char bracket) { return bracket == '{' ? '}' : ']'; }

  void close(std::size_t place) {
    if (open_.empty() || closing(open_.back()) != text_[place]) {
      wrong_ = place;
      return;
    }
    open_.pop_back();
    if (text_[place] != '}' || (open_ != "{[" && open_ != "[")) return;
    whole_ = place + 1;
    open_at_whole_ = open_;
  }

  std::string_view text_;
  std::string open_;
  StringTracker strings_;
  std::optional<std::size_t> wrong_;
  std::size_t whole_ = 0;      ///< end of the last whole object
  std::string open_at_whole_;  ///< the brackets that are open at whole_
};

}  // namespace

std::optional<std::string> closed_json(std::string_view text) {
  const OpenBrackets brackets(text);
  return brackets.any() ? std::optional(brackets.closed()) : std::nullopt;
}

std::optional<std::size_t> wrong_bracket(std::string_view text) { return OpenBrackets(text).wrong(); }

namespace {

constexpr std::pair<std::string_view, std::string_view> kElementTypes[] = {
    {"float", "f32"},
    {"double", "f64"},
    {"c10::Half", "f16"},
    {"c10::BFloat16", "bf16"},
    {"long int", "i64"},
    {"long", "i64"},
    {"int", "i32"},
    {"short int", "i16"},
    {"short", "i16"},
    {"signed char", "i8"},
    {"unsigned char", "u8"},
    {"bool", "bool"},
    {"c10::complex<float>", "c64"},
    {"c10::complex<double>", "c128"},
};

// Puts quotes around inf, -inf and nan outside of strings.
std::string with_quoted_numbers(std::string_view part) {
  std::string result;
  StringTracker strings;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const char c = part[i];
    const bool in_string = strings.takes(c);
    const std::size_t sign = c == '-' ? 1 : 0;
    const std::string_view word = part.substr(i + sign, 3);
    if (!in_string && (word == "inf" || word == "nan" || word == "NaN" || word == "Inf")) {
      std::size_t end = i + sign + 3;
      while (end < part.size() && part[end] >= 'a' && part[end] <= 'z') ++end;  // Infinity
      result +=
          fmt::format("\"{}{}\"", sign != 0 ? "-" : "", word[0] == 'i' || word[0] == 'I' ? "inf" : "nan");
      i = end - 1;
      continue;
    }
    result += c;
  }
  return result;
}

simdjson::dom::element field(simdjson::dom::object object, std::string_view name) {
  simdjson::dom::element element;
  if (object.at_key(name).get(element) != simdjson::SUCCESS) {
    throw FieldProblem{fmt::format("the field '{}' is missing", name)};
  }
  return element;
}

}  // namespace

simdjson::dom::element parse_part(simdjson::dom::parser& parser, std::string_view part) {
  simdjson::dom::element element;
  constexpr bool kCopy = false;  // no copy: the bytes after the part are readable
  const simdjson::error_code error = parser.parse(part.data(), part.size(), kCopy).get(element);
  if (error == simdjson::SUCCESS) return element;
  std::string repaired = with_quoted_numbers(part);
  mend_strings(repaired.data(), repaired.size());
  return parser.parse(repaired).value();
}

std::optional<std::int64_t> whole_number_of(simdjson::dom::element element) {
  std::int64_t whole = 0;
  if (element.get(whole) == simdjson::SUCCESS) return whole;
  double real = 0.0;
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    const char* const end = text.data() + text.size();
    if (const auto [stop, error] = std::from_chars(text.data(), end, whole);
        error == std::errc() && stop == end)
      return whole;
    const auto [stop, error] = std::from_chars(text.data(), end, real);
    if (error != std::errc() || stop != end) return std::nullopt;
  } else if (element.get(real) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  constexpr double kLargest =
      9007199254740992.0;  // 2^53: beyond it a double is not the number that was meant
  const bool is_whole = std::abs(real) <= kLargest && std::trunc(real) == real;
  return is_whole ? std::optional(static_cast<std::int64_t>(real)) : std::nullopt;
}

simdjson::dom::array array_field(simdjson::dom::object object, std::string_view name) {
  simdjson::dom::array result;
  if (field(object, name).get(result) == simdjson::SUCCESS) return result;
  throw FieldProblem{fmt::format("the field '{}' is not a list", name)};
}

std::int64_t integer_field(simdjson::dom::object object, std::string_view name) {
  if (const auto result = whole_number_of(field(object, name))) return *result;
  throw FieldProblem{fmt::format("the field '{}' is not a whole number", name)};
}

std::string_view text_field(simdjson::dom::object object, std::string_view name) {
  std::string_view result;
  if (field(object, name).get(result) == simdjson::SUCCESS) return result;
  throw FieldProblem{fmt::format("the field '{}' is not a string", name)};
}

std::vector<std::int64_t> integers_of(simdjson::dom::element element, std::string_view name) {
  std::vector<std::int64_t> result;
  simdjson::dom::array array;
  if (element.get(array) == simdjson::SUCCESS) {
    for (const simdjson::dom::element member : array) {
      const auto number = whole_number_of(member);
      if (!number) break;
      result.push_back(*number);
    }
    if (result.size() == array.size()) return result;
  }
  throw FieldProblem{fmt::format("the field '{}' holds something else than whole numbers", name)};
}

std::string_view element_type(std::string_view name) {
  for (const auto& [recorded, type] : kElementTypes) {
    if (recorded == name) return type;
  }
  return {};
}

}  // namespace jitterscope
