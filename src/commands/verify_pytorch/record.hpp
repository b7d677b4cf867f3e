// PyTorch's layers beside jitterscope's, as they stand in a file.
#pragma once

#include <string>
#include <vector>

#include "output/text.hpp"
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
std::string record_text(const PytorchRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, PytorchRecord& record);

// What `jitterscope verify-pytorch` prints.

std::string pytorch_table(const PytorchRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const PytorchRecord& record);

}  // namespace jitterscope::report
