// How much of each operand moves between the processor and the device's memory.
#pragma once

#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// At least, in the order of operands(): each is read or written once, but for what lies on the host's side
/// of a copy and for the rows of a table that no index names.
std::vector<Bytes> operand_traffic(const Operation&);

}  // namespace jitterscope
