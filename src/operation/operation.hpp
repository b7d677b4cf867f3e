// How much of each operand moves between the processor and the device's memory, and how large all are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// At least, in the order of operands(): each is read or written once, but for what lies on the host's side
/// of a copy, for the rows of a table that no index names, for what lies between a strided filter's
/// steps, and for a kernel's inout, which is both. What a fused chain hands on within a launch is no operand.
std::vector<Bytes> operand_traffic(const Operation&);

/// Of all operands, each whole, whether or not all of it moves.
Bytes operand_memory(const Operation&);

// The engine that an operation asks for.

/// The operation with this engine; an operation without engines stays as it is.
Operation with_engine(const Operation& operation, const std::string& engine);
/// Empty where the operation names none.
std::string engine_of(const Operation& operation);

// What cuBLASLt logs of an algorithm, as the tag of an engine.

/// Of `algoId=55 tile=MATMUL_TILE_64x128 numSplitsK=4 …`, what stands within algo=[…]:
/// algo55_tile=64x128_splitk=4. In the log's words, without those that leave a choice to cuBLASLt (AUTO, 0,
/// one split); reduction schemes are numbers, as their names hold a `_`, which parts a tag. Empty where there
/// is no algoId. Nothing else is checked.
std::string cublaslt_tag(std::string_view algorithm);

}  // namespace jitterscope
