// How long a kernel takes at a clock.
#pragma once

#include "jitterscope/units.hpp"
#include "physics/cache.hpp"

namespace jitterscope::physics {

/// A kernel when the cache has answered: a function of the clock alone.
struct Load {
  Cycles compute;
  Nanoseconds fixed, memory;
  Bytes traffic;  ///< of DRAM
  double activity = 0;
  double overlap = 1;  ///< the exponent of shared_time
  bool operator==(const Load&) const = default;
};

/// (compute^p + memory^p)^(1/p): what follows the clock and memory, without load.fixed.
Nanoseconds shared_time(const Load& load, Hertz clock);

/// Once per kernel, however much it moves.
Nanoseconds memory_latency(const Memory& memory, const Traffic& traffic);

/// Of all accesses of a kernel, with nobody else on the GPU. `hot` takes the tax of refreshing hot DRAM.
Nanoseconds memory_time(const Memory& memory, const Traffic& traffic, bool hot);

}  // namespace jitterscope::physics
