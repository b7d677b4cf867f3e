// What `jitterscope run` prints: Markdown that reads well in a terminal.
#pragma once

#include <string>

#include "measure/run_record.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// One operation begins with a line to quote, a model with its total and its slowest layers; then findings,
/// failures, verification. Everything else by Page::details.
std::string run_table(const RunRecord& record, const Page& page = {});

}  // namespace jitterscope
