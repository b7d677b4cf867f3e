// What `jitterscope doctor` prints and writes.
#pragma once

#include <string>

#include "output/doctor_report.hpp"
#include "output/page.hpp"

namespace jitterscope {

/// A line for each thing looked at, marked ok, limits or missing, its remedy below it; last how to
/// find out whether to believe the tool here.
std::string doctor_text(const DoctorReport& report, std::size_t width = kPageWidth);

/// docs/doctor.schema.json describes it.
std::string doctor_json(const DoctorReport& report);

}  // namespace jitterscope
