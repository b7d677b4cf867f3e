// Writes, reads and prints the record of `verify-pytorch`: PyTorch's layers beside jitterscope's.
#pragma once

#include <string>
#include <vector>

#include "output/html.hpp"
#include "pytorch/comparison.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct PytorchRecord {
  Environment environment;
  DeviceDescription device;
  PytorchComparison comparison;
};

std::string write_record(const PytorchRecord& record);
Text record_text(const PytorchRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const PytorchRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, PytorchRecord& record);

// Below: the printed table.

Text pytorch_table(const PytorchRecord& record, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const PytorchRecord& record);

}  // namespace jitterscope::report
