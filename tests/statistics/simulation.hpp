// Repeats a simulated measurement and counts how often a statement about it is right.
#pragma once

#include <functional>
#include <vector>

#include "base/random.hpp"

namespace jitterscope::statistics {

/// Share of the runs where `holds` is true, each with random numbers of its own.
inline double share_of(int runs, const std::function<bool(Random&)>& holds) {
  int count = 0;
  for (int run = 0; run < runs; ++run) {
    Random random(1000003u * static_cast<std::uint64_t>(run) + 17u);
    count += holds(random) ? 1 : 0;
  }
  return static_cast<double>(count) / runs;
}

using Draw = std::function<double(Random&)>;

inline std::vector<double> draws(std::size_t count, Random& random, const Draw& draw) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(draw(random));
  }
  return values;
}

}  // namespace jitterscope::statistics
