// How much of a record the clock was held down, by cause, from the sensors read after each round.
#pragma once

#include <span>
#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

enum class ThrottleCause { power, heat };

struct Throttling {
  bool readable = false;  ///< a sensor that would tell was read
  Nanoseconds held;       ///< growth of the counter from the first to the last reading
  double share = 0.0;     ///< of the host time between those readings
  double rounds = 0.0;    ///< share of rounds after which the counter had grown or the cause was named
  std::vector<std::size_t> affected;  ///< these rounds, counted from the first of those given
};
Throttling throttling(std::span<const Round> rounds, ThrottleCause cause);

}  // namespace jitterscope
