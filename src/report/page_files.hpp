// What every report carries with it.
#pragma once

#include <string_view>

namespace jitterscope::report {

std::string_view style_sheet();
std::string_view drawing_script();

}  // namespace jitterscope::report
