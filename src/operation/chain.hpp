// Several operations launched as one: their text, and which of their operands are whose.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// The word before the colon.
inline constexpr std::string_view kChainKind = "chain";

/// Where the steps of a chain's text end: behind the last bracket and its `*16`; 0 where there are none.
std::size_t chain_steps_end(std::string_view text);
/// `[relu:count=1Ki]*16[copy:bytes=4Ki]`. Throws UsageError.
std::vector<Operation> read_chain_steps(std::string_view text);
std::string chain_text(const Chain& chain);

/// Of an operation's operands; null where none has that role.
const Operand* first_operand(const std::vector<Operand>& operands, OperandRole role);
/// Where an operation's first output stands among its operands; it has one.
std::size_t first_output(const Operation&);
/// Whether a step's first input is the first output of the step before it.
bool is_linked(const Chain& chain, std::size_t step);
/// The lanes and steps of the operands, in the order of Operation::operands().
struct ChainOperand {
  std::size_t lane = 0, step = 0, operand = 0;
};
std::vector<ChainOperand> chain_operands(const Chain& chain);

/// Of the steps' types the one with the fewest digits.
DataType coarsest_type(const Chain& chain);

/// How many launches one launch of it is.
std::int64_t launches_of(const Chain& chain);
/// More than are held behind a gate: a queue holds about 1,000, and a part of a round has ten of a chain.
inline bool is_of_many_launches(const Chain& chain) { return launches_of(chain) > 64; }

/// Whether it needs a device that runs launches side by side, or whose host can wait for one of them.
bool needs_streams(const Chain& chain);
/// Each lane and step runs on one stream, counted from 0.
std::size_t stream_of(const Chain& chain, std::size_t lane, std::size_t step);
/// Throws UsageError where the host is to read a value of a step that leaves none on the device.
void require_values(const Chain& chain);

}  // namespace jitterscope
