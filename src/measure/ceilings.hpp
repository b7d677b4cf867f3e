// The best rates seen on this very device, and the proof that eviction evicts.
#pragma once

#include <span>
#include <vector>

#include "measure/cache_proof.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// Bandwidth of a large copy, and FLOP/s of a large product in each of the data types: fastest of a few
/// bursts. A type that the device's library cannot multiply is left out.
Ceilings measure_ceilings(Session& session, std::span<const DataType> types);

/// Copies a probe after one eviction, after four, and warm. Proven where one evicts as well as four, within
/// 5 %, and over 5 % slower than none.
CacheProof prove_cold(Session& session);

}  // namespace jitterscope
