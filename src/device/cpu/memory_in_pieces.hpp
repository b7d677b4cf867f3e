// Memory as a fragmented heap gives it out: put together of pages from all over.
#pragma once

#include <cstdint>

#include "device/cpu/memory.hpp"

namespace jitterscope::cpu {

/// Pages of the usual size, 4 KiB: no huge ones, of which a fragmented memory has none. Each piece of so many
/// pages is elsewhere in the machine's memory than the one before it, and what lies between was in use
/// meanwhile. As where memory is filled by all threads, each is the first to touch its share, so that a
/// machine with several nodes has it on the same ones. For a moment it takes twice the size: throws
/// UsageError where less is available, FailedError where the system refuses it.
AlignedMemory memory_in_pieces(Bytes size, std::int64_t pages_per_piece, std::uint64_t seed);

}  // namespace jitterscope::cpu
