// What a command prints is Markdown, and a page shows it as it is meant.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope::report {

/// Of text whose `<` and `&` are escaped already, so that nothing of a record becomes code: bold is bold, an
/// escaped bar is a bar, and columns stay below each other.
std::string marked_text(std::string_view escaped);

}  // namespace jitterscope::report
