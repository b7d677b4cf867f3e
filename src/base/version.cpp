#include "jitterscope/version.hpp"

namespace jitterscope {

std::string_view version() { return JITTERSCOPE_VERSION; }

}  // namespace jitterscope
