// What `jitterscope doctor` prints.
#pragma once

#include <string>

#include "output/doctor_sections.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// A line for each thing looked at, marked ok, limits or missing, its remedy below it; last how to
/// find out whether to believe the tool here.
std::string doctor_text(const DoctorReport& report, std::size_t width = kPageWidth);

}  // namespace jitterscope
