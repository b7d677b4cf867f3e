// A run's record in its file.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

inline constexpr std::string_view kRunCommand = "run";

/// Of a document whose envelope says that a run wrote it, in whichever version.
RunRecord read_run_document(const Json& document, const std::string& name);

}  // namespace jitterscope
