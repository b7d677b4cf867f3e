// Work beside another process's, begun and ended as that process says.
#pragma once

#include <functional>
#include <string>

#include "base/line_reader.hpp"
#include "worker/load_plan.hpp"

namespace jitterscope {

/// Opens the device, answers that it is there, and then does what each line of `orders` says until they end,
/// or it is interrupted. Throws what opening, preparing or launching throws, and UsageError for a line that
/// is no order.
void carry_out_load(const LoadPlan& plan, LineReader& orders,
                    const std::function<void(const std::string& line)>& answer,
                    const std::function<bool()>& interrupted);

}  // namespace jitterscope
