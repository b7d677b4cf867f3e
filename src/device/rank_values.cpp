#include "device/rank_values.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace jitterscope {
namespace {

// Largest integer up to which a type has all of them.
std::int64_t exact_up_to(DataType dtype) {
  switch (dtype) {
    case DataType::bf16: return 1 << 8;
    case DataType::f16:
    case DataType::tf32: return 1 << 11;
    default: return 1 << 24;
  }
}

// Enough values that two elements seldom agree, and few enough that they are small.
constexpr std::int64_t kLargest = 1000;
// Products stay within a type's exponents if only so many ranks have factors other than one.
constexpr std::int64_t kRanksWithFactors = 8;

}  // namespace

std::vector<double> rank_period(const Collective& collective, const RankData& data) {
  std::vector<double> values(static_cast<std::size_t>(kRankPeriod));
  if (data.kind == DataKind::zeros || data.kind == DataKind::ones) {
    std::ranges::fill(values, data.kind == DataKind::ones ? 1.0 : 0.0);
    return values;
  }
  // An odd 64-bit factor keeps ranks apart.
  Random random(data.seed + 0xd1342543de82ef95u * static_cast<std::uint64_t>(data.rank + 1));
  const std::int64_t ranks = std::max<std::int64_t>(1, collective.ranks);
  const std::int64_t largest = std::clamp<std::int64_t>(exact_up_to(collective.dtype) / ranks, 1, kLargest);
  for (double& value : values) {
    if (collective.op == Reduction::prod) {
      const int exponent = data.rank < kRanksWithFactors ? static_cast<int>(random.below(3)) - 1 : 0;
      value = std::ldexp(random.below(2) == 0 ? 1.0 : -1.0, exponent);
    } else {
      value = static_cast<double>(
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * largest + 1))) - largest);
    }
  }
  return values;
}

}  // namespace jitterscope
