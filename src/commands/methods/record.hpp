// Writes, reads and prints the record of `methods`: one operation timed by every method.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "measure/timing_methods.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct MethodsRecord {
  Environment environment;
  DeviceDescription device;
  MethodComparison comparison;
};

std::string write_record(const MethodsRecord& record);
Text record_text(const MethodsRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const MethodsRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, MethodsRecord& record);

// Below: the printed table.

/// Prints conditions and constants, a row for each method, and a numbered sentence for each.
Text methods_table(const MethodsRecord& record, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const MethodsRecord& record);

}  // namespace jitterscope::report
