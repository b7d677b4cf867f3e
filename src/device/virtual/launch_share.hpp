// How much of a virtual GPU one launch keeps busy, which is what it leaves to others beside it.
#pragma once

#include "device/virtual/stream_schedule.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::virtual_gpu {

Engine engine_of(const Operation& operation);

/// The share of the processors that an operation's blocks fill when all of them run at once, at most 1.
double share_of_processors(const physics::Parameters& parameters, const Operation& operation);

}  // namespace jitterscope::virtual_gpu
