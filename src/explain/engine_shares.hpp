// How often PyTorch's choice by timing falls on which engine.
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
  std::vector<EngineShare> engines = {};  ///< that were taken, the most frequent first
  std::int64_t choices = 0;
};

/// The timed choice again and again, on operands of other values after each third, at most 12 times; it ends
/// when the time is over. Nothing where there is no choice.
EngineShares count_choices(Session& session, const Operation& operation, std::uint64_t seed,
                           Nanoseconds time_limit);
/// "of 12 choices by timing, …, A was taken 8 times, B was taken 4 times"; empty for none.
std::string sentence_of(const EngineShares& shares);

}  // namespace jitterscope::explain
