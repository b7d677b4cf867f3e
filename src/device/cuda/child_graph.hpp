// Recorded work of somebody else's as a part of a recording of ours.
#pragma once

#include <cuda.h>

namespace jitterscope::cuda {

/// Puts a copy of `graph` behind what the capturing stream has recorded so far. Throws FailedError, and
/// MissingError where the driver is too old.
void add_to_capture(CUstream stream, CUgraph graph);

}  // namespace jitterscope::cuda
