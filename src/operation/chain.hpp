// Chains (several operations launched as one): their text, operands and streams.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// The word before the colon of a chain's text.
inline constexpr std::string_view kChainKind = "chain";

/// Returns the end of the steps in a chain's text: after the last bracket and its `*16`; 0 if there are none.
std::size_t chain_steps_end(std::string_view text);
/// Reads `[relu:count=1Ki]*16[copy:bytes=4Ki]`. Throws UsageError.
std::vector<Operation> read_chain_steps(std::string_view text);
std::string chain_text(const Chain& chain);

/// Returns the first operand with this role; null if there is none.
const Operand* first_operand(const std::vector<Operand>& operands, OperandRole role);
/// Returns the index of an operation's first output, which must exist.
std::size_t first_output(const Operation&);
/// True if a step's first input is the first output of the step before it.
bool is_linked(const Chain& chain, std::size_t step);
/// Place of a chain's operand; the list is in the order of Operation::operands().
struct ChainOperand {
  std::size_t lane = 0, step = 0, operand = 0;
};
std::vector<ChainOperand> chain_operands(const Chain& chain);

/// Returns the type with the fewest digits among the steps.
DataType coarsest_type(const Chain& chain);

/// Returns the number of launches that one launch of the chain consists of.
std::int64_t launches_of(const Chain& chain);
/// True if too many for a held queue, which takes about 1,000 launches; a part of a round has ten of a chain.
inline bool is_of_many_launches(const Chain& chain) { return launches_of(chain) > 64; }

/// True if it needs a device that runs launches side by side, or whose host can wait for a single launch.
bool needs_streams(const Chain& chain);
/// Returns the stream, counted from 0, of a step in a lane.
std::size_t stream_of(const Chain& chain, std::size_t lane, std::size_t step);
/// Throws UsageError if the host is to read a value of a step that leaves none on the device.
void require_values(const Chain& chain);

}  // namespace jitterscope
