// How much of each operand moves between the processor and the device's memory, and how large all are.
#pragma once

#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// At least, in the order of operands(): each is read or written once, but for what lies on the host's side
/// of a copy, for the rows of a table that no index names, for what lies between a strided filter's
/// steps, and for a kernel's inout, which is both. What a fused chain hands on within a launch is no operand.
std::vector<Bytes> operand_traffic(const Operation&);

/// Of all operands, each whole, whether or not all of it moves.
Bytes operand_memory(const Operation&);

}  // namespace jitterscope
