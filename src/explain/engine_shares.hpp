// Counts how often PyTorch's choice by timing takes each engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/session.hpp"

namespace jitterscope::explain {

struct EngineShare {
  std::string engine;
  std::int64_t choices = 0;
};
struct EngineShares {
  std::vector<EngineShare> engines = {};  ///< engines that were taken, the most frequent first
  std::int64_t choices = 0;
};

/// Repeats the timed choice up to 12 times, with new operand values after every third, until the time limit.
/// Returns no choices if there are fewer than two engines.
EngineShares count_choices(Session& session, const Operation& operation, std::uint64_t seed,
                           Nanoseconds time_limit);
/// Returns "of 12 choices by timing, …, A was taken 8 times, B was taken 4 times"; empty for no choices.
std::string sentence_of(const EngineShares& shares);

}  // namespace jitterscope::explain
