#include "measure/schedule.hpp"

#include <algorithm>

namespace jitterscope {

bool Schedule::run_block(std::vector<BlockVisitor*>& visitors) {
  if (is_interrupted(options_)) return false;
  std::erase_if(visitors, [](BlockVisitor* visitor) { return !visitor->needs_more(); });
  if (visitors.empty()) return false;
  shuffle(visitors, random_);
  std::ranges::stable_sort(visitors, {}, [](const BlockVisitor* visitor) { return visitor->visits(); });
  const Nanoseconds idle = draw_idle(options_, random_);
  const Nanoseconds shared = sharing_ == IdleSharing::by_time ? mean_idle(options_) : Nanoseconds(0);
  const Nanoseconds end = device_.host_time() + idle + shared;
  Visit visit{++block_, idle};
  for (BlockVisitor* visitor : visitors) {
    // An interrupted idle ends early, and is none for those behind it.
    if (!visit.rests && (device_.host_time() >= end || is_interrupted(options_))) break;
    visitor->visit(visit);
    visit.rests = false;
  }
  return true;
}

}  // namespace jitterscope
