// Evidence that eviction evicts.
#pragma once

#include "jitterscope/units.hpp"

namespace jitterscope {

/// Times of one probe copy: after one eviction, after several (as memory never touched), and warm.
struct CacheProof {
  Nanoseconds evicted_read, untouched_read, cached_read;
  bool proven = false;
};

}  // namespace jitterscope
