// Writes, reads and prints the record of `study loss-scaling`: training with each scale of the loss.
#pragma once

#include <string>
#include <vector>

#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope {

std::string write_record(const study::LossScalingRecord& record);
Text record_text(const study::LossScalingRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const study::LossScalingRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, study::LossScalingRecord& record);

// Below: the printed page: the answer, then a row for each scale.

/// With details, adds the share of each layer's gradients that is lost.
Text loss_scaling_table(const study::LossScalingRecord& record, const Page& page);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const study::LossScalingRecord& record);

}  // namespace jitterscope::report
