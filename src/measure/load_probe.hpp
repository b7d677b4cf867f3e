// Half a second without pause: whether a sustained load would take another time than the bursts did.
#pragma once

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// How long an operation is watched. On an H200 the power cap acts within 0.4 s, in simulations sooner.
inline constexpr Nanoseconds kLoadProbeTime = seconds(0.5);

/// What the rounds of a sustained measurement of that length show.
LoadProbe load_probe_of(const Measurement& sustained);

}  // namespace jitterscope
