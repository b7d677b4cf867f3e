// What training with each scale of the loss gave, as a page: the answer, then a row for each scale.
#pragma once

#include <string>

#include "output/page.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope {

/// With details each layer's losses stand below.
std::string loss_scaling_table(const study::LossScalingRecord& record, const Page& page);

}  // namespace jitterscope
