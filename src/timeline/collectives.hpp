// Which GPU waits for which in collective communication (NCCL). A collective's kernel runs on each GPU from
// when it gets there until all have come: those that come early wait in it, and count as busy meanwhile.
#pragma once

#include <cstddef>
#include <vector>

#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

/// One GPU of one process, in the collectives that it takes part in.
struct CollectiveWaits {
  std::size_t process = 0, device = 0;  ///< indices of Timeline::processes and Process::devices
  std::size_t collectives = 0;          ///< told apart: with a kernel on each GPU
  std::size_t last = 0;                 ///< of these, where this GPU came last
  double seconds = 0.0;                 ///< from its own begins to the last ones'
};

/// The collectives of all processes of one host, which share a clock. Empty with one GPU, and where most
/// kernels of collectives have no counterparts that overlap with them and end with them: in groups of their
/// own, it cannot be told who waits for whom.
std::vector<CollectiveWaits> collective_waits(const Timeline& timeline);

}  // namespace jitterscope::timeline
