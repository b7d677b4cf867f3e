// Proof that eviction empties the cache: a probe buffer's read times, measured once per run.
#pragma once

#include "jitterscope/units.hpp"

namespace jitterscope {

struct CacheProof {
  Nanoseconds evicted_read;    ///< after eviction
  Nanoseconds untouched_read;  ///< of memory never touched before
  Nanoseconds cached_read;     ///< just after reading it
  bool proven = false;         ///< evicted reads as untouched, and not as cached
};

}  // namespace jitterscope
