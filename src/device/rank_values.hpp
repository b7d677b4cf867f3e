// The values of a collective's inputs: every rank knows those of all, and what is reduced is exact in any
// order.
#pragma once

#include <cstdint>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Elements after which a rank's input repeats itself: a prime, so that a part in the place of another, or
/// one that is shifted, does not look the same.
inline constexpr std::int64_t kRankPeriod = 65521;

/// Returns the first period of a rank's input: element i is that at i % kRankPeriod. Integers so small that
/// sums of all ranks are exact in the type, whatever the order; for products powers of two. An average of
/// another number of ranks than a power of two is rounded. The collective names its ranks; for more than 64
/// of them and bf16 (512 and f16) sums are no longer exact.
std::vector<double> rank_period(const Collective& collective, const RankData& data);

}  // namespace jitterscope
