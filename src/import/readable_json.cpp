#include "import/readable_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/utf8.hpp"
#include "import/early_end.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool is_control_byte(char byte) { return static_cast<unsigned char>(byte) < 0x20; }

// The number of \uXXXX; nothing where four digits do not follow.
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

/// Goes through a text and mends its strings as it comes to them.
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
    constexpr std::size_t kCode = 6;  // bytes of one
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

// Nothing of JSON's is outside of its strings. Found where simdjson does not say where it stopped.
std::optional<std::size_t> first_stray_byte(std::string_view text) {
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      const bool is_blank = text[i] == '\n' || text[i] == '\r' || text[i] == '\t';
      if (!is_blank && (is_control_byte(text[i]) || static_cast<unsigned char>(text[i]) >= 0x7f)) return i;
    }
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
  // A document that was begun says where it stopped, though it is dead.
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

}  // namespace jitterscope
