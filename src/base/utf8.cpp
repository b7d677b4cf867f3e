#include "base/utf8.hpp"

#include <array>

namespace jitterscope {
namespace {

std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  constexpr Utf8Character kInvalid = {U'\ufffd', 1, false};
  const std::size_t length = sequence_length(byte(0));
  if (length == 0 || length > text.size()) return kInvalid;
  if (length == 1) return {byte(0), 1, true};
  char32_t code = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return kInvalid;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[length] || surrogate || code > 0x10ffff) return kInvalid;
  return {code, length, true};
}

}  // namespace jitterscope
