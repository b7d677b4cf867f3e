// What PyTorch's choice of an engine costs against the fastest, and how well that is known.
#pragma once

#include <optional>

#include "measure/engine_choice.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {

/// A time over the fastest engine's, less one. It leans high: the fastest is the least of many medians, and
/// by being chosen reads a little too fast.
struct EngineLoss {
  double value = 0.0;
  /// 95 %, from the ends of both times' intervals, and of imitations how their choices scatter; an engine
  /// that no imitation took is not in it. Nothing where a time has no interval.
  std::optional<statistics::Interval> interval;

  bool is_distinguishable() const { return interval && interval->low > 0.0; }
};

/// Of what benchmark on takes, weighted by how often: nothing without imitations.
std::optional<EngineLoss> expected_loss(const EngineRanking& ranking);
/// Of the engine that the heuristic takes.
std::optional<EngineLoss> heuristic_loss(const EngineRanking& ranking);

/// How often an imitation takes the engine, with Clopper and Pearson's interval: nothing without imitations.
struct AutotuneShare {
  double value = 0.0;
  statistics::Interval interval;
};
std::optional<AutotuneShare> autotune_share(const EngineRanking& ranking, const RankedEngine& engine);

}  // namespace jitterscope
