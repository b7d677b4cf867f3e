#include "measure/engine_loss.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/binomial.hpp"

namespace jitterscope {
namespace {

const TimeEstimate& time_of(const RankedEngine& engine) {
  return engine.result.measurements.front().repeatability;
}

// Of one engine against the fastest, which is the first; against itself it is known to be none.
EngineLoss loss_of(const RankedEngine& engine, const RankedEngine& fastest) {
  if (&engine == &fastest) return {0.0, statistics::Interval{0.0, 0.0}};
  const TimeEstimate &time = time_of(engine), &best = time_of(fastest);
  EngineLoss loss{time.median / best.median - 1.0, std::nullopt};
  if (std::isfinite(time.precision()) && std::isfinite(best.precision())) {
    loss.interval = statistics::Interval{time.low / best.high - 1.0, time.high / best.low - 1.0};
  }
  return loss;
}

double mean(const std::vector<double>& values) { return statistics::mean_interval(values).mean; }

}  // namespace

std::optional<EngineLoss> expected_loss(const EngineRanking& ranking) {
  if (ranking.imitations == 0 || ranking.engines.empty() || !has_time(ranking.engines.front())) {
    return std::nullopt;
  }
  std::vector<double> values, lows, highs;  // one for each imitation
  bool known = ranking.imitations > 1;
  for (const RankedEngine& engine : ranking.engines) {
    if (engine.autotune_wins == 0) continue;
    if (!has_time(engine)) return std::nullopt;
    const EngineLoss loss = loss_of(engine, ranking.engines.front());
    const auto wins = static_cast<std::size_t>(engine.autotune_wins);
    values.insert(values.end(), wins, loss.value);
    known = known && loss.interval;
    if (!known) continue;
    lows.insert(lows.end(), wins, loss.interval->low);
    highs.insert(highs.end(), wins, loss.interval->high);
  }
  EngineLoss expected{mean(values), std::nullopt};
  if (known) {
    expected.interval = statistics::Interval{statistics::mean_interval(lows).interval.low,
                                             statistics::mean_interval(highs).interval.high};
  }
  return expected;
}

std::optional<EngineLoss> heuristic_loss(const EngineRanking& ranking) {
  if (ranking.engines.empty() || !has_time(ranking.engines.front())) return std::nullopt;
  for (const RankedEngine& engine : ranking.engines) {
    if (engine.engine.tag == ranking.heuristic && has_time(engine)) {
      return loss_of(engine, ranking.engines.front());
    }
  }
  return std::nullopt;
}

std::optional<AutotuneShare> autotune_share(const EngineRanking& ranking, const RankedEngine& engine) {
  if (ranking.imitations == 0 || !engine.autotune_tries) return std::nullopt;
  return AutotuneShare{static_cast<double>(engine.autotune_wins) / static_cast<double>(ranking.imitations),
                       statistics::clopper_pearson(engine.autotune_wins, ranking.imitations)};
}

}  // namespace jitterscope
