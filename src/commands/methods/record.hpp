// One operation by every method, as it stands in a file.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "measure/timing_methods.hpp"
#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct MethodsRecord {
  Environment environment;
  DeviceDescription device;
  MethodComparison comparison;
};

std::string write_record(const MethodsRecord& record);
std::string record_text(const MethodsRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, MethodsRecord& record);

// What `jitterscope methods` prints.

/// Conditions and constants, a row for each method, and a numbered sentence for each.
std::string methods_table(const MethodsRecord& record, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const MethodsRecord& record);

}  // namespace jitterscope::report
