// UTF-8, character by character, whatever the bytes are.
#pragma once

#include <cstddef>
#include <string_view>

namespace jitterscope {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

/// The first character of a text that is not empty. Overlong forms, surrogates and stray bytes are invalid
/// (U+FFFD), and one byte long, so that reading goes on at the next byte.
Utf8Character first_character(std::string_view text);

}  // namespace jitterscope
