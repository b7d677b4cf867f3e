// The version of this jitterscope.
#pragma once

#include <string_view>

namespace jitterscope {

/// "0.1.0" for a release, "0.1.0+g0321075ab" for a commit after it; then ".dirty" if files changed.
std::string_view version();

}  // namespace jitterscope
