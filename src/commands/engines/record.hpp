// Writes, reads and prints the record of `engines`: the plans that can run an operation.
#pragma once

#include <string>
#include <vector>

#include "measure/engine_choice.hpp"
#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct EnginesRecord {
  Environment environment;
  DeviceDescription device;
  EngineRanking ranking;
};

std::string write_record(const EnginesRecord& record);
Text record_text(const EnginesRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const EnginesRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, EnginesRecord& record);

// Below: the printed table.

/// Makes a row for each engine, fastest first, and says what each of PyTorch's two ways of choosing costs.
Text engines_table(const EnginesRecord& record, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const EnginesRecord& record);

}  // namespace jitterscope::report
