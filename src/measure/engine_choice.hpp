// Chooses an engine by timing: as PyTorch does with torch.backends.cudnn.benchmark, and as it should be done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/session.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {

/// Imitates PyTorch's choice (cudnn_frontend_find_plan.h, Conv_v8.cpp): each of the first 10 plans that run,
/// heuristics before fallback, runs once to warm up and once between two events. The fastest, the first of
/// equals, is taken. Without clock control and repetition the choice may differ from time to time.
class AutotuneImitation {
 public:
  /// Prepares the candidates. Throws UsageError if the device has no engines to choose from.
  AutotuneImitation(Session& session, const Operation& operation, const InputData& data);
  ~AutotuneImitation();

  /// Returns one choice, an index into candidates(). The device idles first, as while PyTorch builds plans.
  std::size_t choose(Nanoseconds idle);
  const std::vector<std::string>& candidates() const { return tags_; }

 private:
  Session& session_;
  std::vector<std::string> tags_;
  std::vector<std::unique_ptr<PreparedOperation>> prepared_;
};

/// Replaces engine=autotune by one imitation's choice and engine=best by fastest_engine(), warm; returns
/// other operations unchanged. Another call may choose differently.
Operation resolve_engine(Session& session, const Operation& operation, const MeasureOptions& options);

/// Returns the operation with the engine that ran if it asked for a choice, else unchanged.
Operation as_measured(const Operation& operation, const Result& result);

// Ranks all engines of an operation by time, and estimates what PyTorch's choice costs against the fastest.

/// One engine of a ranking.
struct RankedEngine {
  EngineListing engine;
  Result result;                   ///< burst, in the caches asked for; has a failure if it did not run
  std::int64_t autotune_wins = 0;  ///< out of EngineRanking::imitations
  bool autotune_tries = false;     ///< it is among the first 10
};
struct EngineRanking {
  std::string operation;
  std::vector<RankedEngine> engines;  ///< fastest first in the first cache state; failed ones last
  std::string heuristic;              ///< tag that PyTorch takes with benchmark off
  std::int64_t imitations = 0;
  bool interrupted = false;
};

/// True if it ran, so that it has a time in the first conditions.
bool has_time(const RankedEngine& engine);

/// Returns all engines in PyTorch's order, not measured. Throws UsageError if there are none.
EngineRanking list_ranking(Device& device, const Operation& operation);

using EngineListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;

/// Measures every engine of an operation and imitates PyTorch's choice `imitations` times. Throws UsageError
/// if the device has no engines for it.
EngineRanking rank_engines(Session& session, const Operation& operation, const MeasureOptions& options,
                           std::int64_t imitations, const EngineListener& listener);

/// Returns the tag of the fastest engine: makes a few launches of each, then measures those within a fifth of
/// the best, at most eight. Throws UsageError if there are none, and InterruptedError.
std::string fastest_engine(Session& session, const Operation& operation, const MeasureOptions& options);

/// Time over the fastest engine's, minus one. It is biased high: the fastest is the least of many medians,
/// and being chosen it reads slightly too fast.
struct EngineLoss {
  double value = 0.0;
  /// 95 %, from the ends of both times' intervals; for imitations also from the scatter of their choices,
  /// without engines that none took. nullopt if a time has no interval.
  std::optional<statistics::Interval> interval;

  bool is_distinguishable() const { return interval && interval->low > 0.0; }
};

/// Returns the loss of benchmark's choices, weighted by frequency; nullopt without imitations.
std::optional<EngineLoss> expected_loss(const EngineRanking& ranking);
/// Returns the loss of the heuristic's engine.
std::optional<EngineLoss> heuristic_loss(const EngineRanking& ranking);

/// Share of imitations that take the engine, with Clopper and Pearson's interval; nullopt without imitations.
struct AutotuneShare {
  double value = 0.0;
  statistics::Interval interval;
};
std::optional<AutotuneShare> autotune_share(const EngineRanking& ranking, const RankedEngine& engine);

}  // namespace jitterscope
