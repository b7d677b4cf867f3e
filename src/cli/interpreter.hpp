// The Python that the tool starts.
#pragma once

#include <cstdlib>
#include <string>

namespace jitterscope::cli {

/// $JITTERSCOPE_PYTHON, else python3.
inline std::string interpreter() {
  const char* named = std::getenv("JITTERSCOPE_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

}  // namespace jitterscope::cli
