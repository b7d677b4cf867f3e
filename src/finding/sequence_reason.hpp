// A layer in its network against the same layer alone: how far they differ, and why as far as that is known.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// All calls of one operation.
struct LayerInSequence {
  std::size_t result = 0;  ///< index of RunRecord::entries
  std::int64_t calls = 0;
  TimeEstimate in_place;         ///< median, low and high are medians over the calls; rounds are the fewest
  Nanoseconds fastest, slowest;  ///< of the calls
  std::optional<Conditions> nearest;  ///< alone, in these conditions, it is nearest
  double difference = 0.0;            ///< of the median from that, relative
  std::string reason;
};

/// In the order of the results; those that ran in the sequence. Empty where there was none.
std::vector<LayerInSequence> layers_in_sequence(const RunRecord& record);

}  // namespace jitterscope
