// What a list says of a study, also of those that are no comparison of operations.
#pragma once

#include <string_view>

namespace jitterscope::study {

struct StudySummary {
  std::string_view id, question, concerns;
};

}  // namespace jitterscope::study
