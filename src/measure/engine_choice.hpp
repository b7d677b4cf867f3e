// Choosing an engine by timing, as PyTorch with torch.backends.cudnn.benchmark on does it and as it should be
// done.
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

/// PyTorch's choice imitated (cudnn_frontend_find_plan.h, Conv_v8.cpp): of the first 10 plans that run, in
/// the order of heuristics and fallback, each runs once to warm up and once between two events; the fastest
/// is taken, the first of equals. No clock control, no repetition: the choice may differ from time to time.
class AutotuneImitation {
 public:
  /// Prepares the candidates. Throws UsageError where the device has no engines to choose from.
  AutotuneImitation(Session& session, const Operation& operation, const InputData& data);
  ~AutotuneImitation();

  /// One choice: the index into candidates(). The device rests first, as it does while PyTorch builds plans.
  std::size_t choose(Nanoseconds idle);
  const std::vector<std::string>& candidates() const { return tags_; }

 private:
  Session& session_;
  std::vector<std::string> tags_;
  std::vector<std::unique_ptr<PreparedOperation>> prepared_;
};

/// An operation with engine=autotune or engine=best names the one that is chosen, by one imitation or by
/// fastest_engine(), warm; others stay as they are. Another time another one may be chosen.
Operation resolve_engine(Session& session, const Operation& operation, const MeasureOptions& options);

/// The operation with the engine that ran, where it asked for a choice; others stay as they are.
Operation as_measured(const Operation& operation, const Result& result);

// All engines of an operation by time, and what PyTorch's choice of one costs against the fastest.

/// One engine of a ranking.
struct RankedEngine {
  EngineListing engine;
  Result result;                   ///< burst, in the caches asked for; failure where it did not run
  std::int64_t autotune_wins = 0;  ///< of EngineRanking::imitations
  bool autotune_tries = false;     ///< it is among the first 10
};
struct EngineRanking {
  std::string operation;
  std::vector<RankedEngine> engines;  ///< by time in the first cache state, fastest first; failed ones last
  std::string heuristic;              ///< the tag that PyTorch takes with benchmark off
  std::int64_t imitations = 0;
  bool interrupted = false;
};

/// Whether it ran, so that it has a time in the first conditions.
bool has_time(const RankedEngine& engine);

/// All engines of an operation in PyTorch's order, not measured. Throws UsageError where there are none.
EngineRanking list_ranking(Device& device, const Operation& operation);

using EngineListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;

/// Measures every engine of an operation and imitates PyTorch's choice `imitations` times. Throws UsageError
/// where the device has no engines for it.
EngineRanking rank_engines(Session& session, const Operation& operation, const MeasureOptions& options,
                           std::int64_t imitations, const EngineListener& listener);

/// The tag of the fastest engine: a few launches of each, and those within a fifth of the best one, eight at
/// most, are measured. Throws UsageError where there are none, and InterruptedError.
std::string fastest_engine(Session& session, const Operation& operation, const MeasureOptions& options);

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
