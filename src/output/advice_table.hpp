// What would make work shorter, as a page: the answer, the lines to write, what was tried.
#pragma once

#include <string>

#include "output/page.hpp"
#include "study/advice.hpp"

namespace jitterscope {

std::string advice_table(const study::AdviceRecord& record, const Page& page);

}  // namespace jitterscope
