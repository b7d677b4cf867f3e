// What a study found out, for people: what follows first.
#pragma once

#include <cstdint>
#include <string>

#include "explain/factor.hpp"
#include "output/page.hpp"
#include "record/records.hpp"

namespace jitterscope {

/// With details every dose of every factor, else the one that its verdict is about.
std::string explanation_table(const ExplainRecord& record, const Page& page);

/// The operation, and that it is one of several calls where a network has them.
std::string one_of_calls(const std::string& operation, std::int64_t calls);

/// What a study would switch, and what it would not and why.
std::string factors_text(const std::vector<explain::Factor>& factors, const std::string& subject,
                         Nanoseconds time_limit, std::size_t width);

}  // namespace jitterscope
