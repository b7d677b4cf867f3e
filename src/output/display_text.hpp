// Text on a grid of columns: how wide it is shown, cut and wrapped by that width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace jitterscope {

/// Columns a terminal needs: 2 for East Asian wide characters and emoji, 0 for combining marks. A byte that
/// is not UTF-8 counts as one.
std::size_t display_width(std::string_view text);

/// Control characters, line breaks among them, become spaces; what is not UTF-8 becomes U+FFFD.
std::string one_line(std::string_view text);

/// The same of each line: line breaks stay.
std::string harmless_lines(std::string_view text);

/// At most `width` columns; what was cut is shown by "…".
std::string cut_to_width(std::string_view text, std::size_t width);

/// The same for a name: of a list of parameters the last are left out, of other names the middle; no number
/// is cut in two.
std::string shortened(std::string_view name, std::size_t width);

/// Lines of at most `width` columns, broken at spaces; every line after the first begins with `indent`
/// spaces. A word longer than a line stays whole. Ends with a line break.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace jitterscope
