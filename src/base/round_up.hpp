// Numbers rounded up to whole steps.
#pragma once

#include <cstdint>

namespace jitterscope {

/// The least multiple of `step` that is not below `value`; neither is negative, and `step` is not zero.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace jitterscope
