// What training with each scale of the loss gave, as it stands in a file.
#pragma once

#include <string>
#include <vector>

#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope {

std::string write_record(const study::LossScalingRecord& record);
std::string record_text(const study::LossScalingRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, study::LossScalingRecord& record);

// What training with each scale of the loss gave, as a page: the answer, then a row for each scale.

/// With details each layer's losses stand below.
std::string loss_scaling_table(const study::LossScalingRecord& record, const Page& page);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const study::LossScalingRecord& record);

}  // namespace jitterscope::report
