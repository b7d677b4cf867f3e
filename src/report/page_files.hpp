// Gives the style sheet and the script that every report includes.
#pragma once

#include <string_view>

namespace jitterscope::report {

std::string_view style_sheet();
std::string_view drawing_script();

}  // namespace jitterscope::report
