// Carries out the studies of a network's step between ranks.
#pragma once

#include <cstdint>
#include <string>

#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "study/parallel_studies.hpp"

namespace jitterscope::cli {

struct ParallelStudyAsked {
  const study::ParallelStudy& study;
  std::string network, device = "auto";
  std::int64_t local = 0;  ///< ranks to start on this host; 0: a launcher has started them
  std::int64_t groups = 5;
  Nanoseconds time_limit;  ///< for one arm in one group
  std::uint64_t seed = 1;
  bool dry_run = false;
  const RecordFlags& record;
  const PageFlags& page;
};

/// Measures, prints and writes the record. Throws UsageError without two ranks or more, or for a network that
/// has no backward pass.
void run_parallel_study(const ParallelStudyAsked& asked, Invocation& invocation);

}  // namespace jitterscope::cli
