#include "measure/engine_choice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "measure/round_runner.hpp"
#include "measure/round_timer.hpp"
#include "measure/schedule.hpp"
#include "measure/trials.hpp"
#include "operation/operation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// The default of torch.backends.cudnn.benchmark_limit.
constexpr std::size_t kBenchmarkLimit = 10;

}  // namespace

AutotuneImitation::AutotuneImitation(Session& session, const Operation& operation, const InputData& data)
    : session_(session) {
  for (const EngineListing& engine : session.device().list_engines(operation)) {
    if (engine.source == EngineListing::Source::other || prepared_.size() == kBenchmarkLimit) break;
    try {
      InputData shared = data;
      // As in PyTorch, all plans run on the same operands.
      for (std::size_t i = 0; i < operation.operands().size() && !prepared_.empty(); ++i) {
        shared.shared.push_back({i, prepared_.front().get(), i});
      }
      prepared_.push_back(session.device().prepare(with_engine(operation, engine.tag), shared));
      tags_.push_back(engine.tag);
    } catch (const FailedError&) {
      // PyTorch silently skips plans that fail, too.
    }
  }
  if (!prepared_.empty()) return;
  throw UsageError(fmt::format("{}: {} has no choice of engines for it; use conv2d, matmul or linear on cuda",
                               operation.text(), session.device().describe().name));
}

AutotuneImitation::~AutotuneImitation() = default;

std::size_t AutotuneImitation::choose(Nanoseconds idle) {
  Queue& queue = session_.queue();
  session_.device().idle(idle);
  std::size_t fastest = 0;
  Nanoseconds shortest;
  for (std::size_t i = 0; i < prepared_.size(); ++i) {
    queue.launch(*prepared_[i]);
    queue.wait();
    const Mark start = queue.mark();
    queue.launch(*prepared_[i]);
    const Mark end = queue.mark();
    queue.wait();
    const Nanoseconds time = queue.elapsed(start, end);
    if (i > 0 && time >= shortest) continue;
    shortest = time;
    fastest = i;
  }
  return fastest;
}

Operation resolve_engine(Session& session, const Operation& operation, const MeasureOptions& options) {
  const std::string engine = engine_of(operation);
  if (engine == "autotune") {
    AutotuneImitation imitation(session, operation, {.kind = options.data, .seed = options.seed});
    return with_engine(operation, imitation.candidates()[imitation.choose(options.longest_idle)]);
  }
  if (engine != "best") return operation;
  MeasureOptions quick = options;
  quick.loads = {Load::burst};
  quick.caches = {CacheState::warm};
  return with_engine(operation, fastest_engine(session, operation, quick));
}

Operation as_measured(const Operation& operation, const Result& result) {
  const std::string engine = engine_of(operation);
  const bool was_choice = engine == "best" || engine == "autotune";
  return was_choice && !result.algorithm.empty() ? with_engine(operation, result.algorithm) : operation;
}

namespace {

std::vector<EngineListing> engines_for(Device& device, const Operation& operation) {
  std::vector<EngineListing> engines = device.list_engines(operation);
  if (!engines.empty()) return engines;
  throw UsageError(fmt::format("{}: {} has no choice of engines for it; use conv2d, matmul or linear on cuda",
                               operation.text(), device.describe().name));
}

Nanoseconds median_of(const RankedEngine& engine) { return engine.result.measurements.front().time.median; }

class Ranker {
 public:
  Ranker(Session& session, const Operation& operation, const MeasureOptions& options,
         const EngineListener& listener)
      : session_(session), operation_(operation), options_(options), listener_(listener) {}

  EngineRanking rank(std::int64_t imitations) {
    ranking_ = list_ranking(session_.device(), operation_);
    find_heuristic_choice();
    imitate(imitations);
    measure_all();
    sort();
    return std::move(ranking_);
  }

  // Most engines are so slow that a few launches rule them out; only the others are measured.
  std::string fastest() {
    ranking_ = list_ranking(session_.device(), operation_);
    keep_near_the_fastest();
    measure_all();
    sort();
    return ranking_.engines.front().engine.tag;
  }

 private:
  void sort() {
    std::stable_sort(ranking_.engines.begin(), ranking_.engines.end(),
                     [](const RankedEngine& a, const RankedEngine& b) {
                       if (!has_time(a) || !has_time(b)) return has_time(a) && !has_time(b);
                       return median_of(a) < median_of(b);
                     });
  }

  void keep_near_the_fastest() {
    constexpr double kNear = 1.2;
    constexpr std::size_t kMost = 8;
    std::vector<std::pair<Nanoseconds, RankedEngine>> looked_at;
    InputData data{.kind = options_.data, .seed = options_.seed};
    std::unique_ptr<PreparedOperation> first;  // all engines run on its operands
    for (RankedEngine& engine : ranking_.engines) {
      if (interrupted()) throw InterruptedError();
      try {
        auto prepared = session_.device().prepare(with_engine(operation_, engine.engine.tag), data);
        looked_at.emplace_back(time_of_a_few(*prepared), std::move(engine));
        if (first != nullptr) continue;
        first = std::move(prepared);
        for (std::size_t i = 0; i < operation_.operands().size(); ++i)
          data.shared.push_back({i, first.get(), i});
      } catch (const FailedError&) {
        continue;  // it cannot be the fastest
      }
    }
    if (looked_at.empty()) return;  // measuring says why
    std::ranges::stable_sort(looked_at, {}, [](const auto& each) { return each.first; });
    const Nanoseconds slowest = looked_at.front().first * kNear;
    ranking_.engines.clear();
    for (auto& [time, engine] : looked_at) {
      if (ranking_.engines.size() == kMost || time > slowest) break;
      ranking_.engines.push_back(std::move(engine));
    }
  }

  // Returns the time of one launch of several in a row, after as many that wake the clock.
  Nanoseconds time_of_a_few(PreparedOperation& prepared) {
    constexpr int kLaunches = 5;
    Queue& queue = session_.queue();
    queue.launch(prepared);  // loads kernels, which waits for the device and must not happen in a held queue
    queue.wait();
    QueueHold hold(queue);
    hold.begin();
    const auto launch_a_few = [&] {
      queue.launch_in_a_row(prepared, kLaunches);
      return queue.mark();
    };
    const Mark start = launch_a_few(), end = launch_a_few();
    hold.release();
    queue.wait();
    return queue.elapsed(start, end) / static_cast<double>(kLaunches);
  }

  bool interrupted() {
    ranking_.interrupted = ranking_.interrupted || is_interrupted(options_);
    return ranking_.interrupted;
  }
  RankedEngine* find(const std::string& tag) {
    const auto found = std::find_if(ranking_.engines.begin(), ranking_.engines.end(),
                                    [&](const RankedEngine& engine) { return engine.engine.tag == tag; });
    return found == ranking_.engines.end() ? nullptr : &*found;
  }
  void find_heuristic_choice() {
    try {
      const auto prepared = session_.device().prepare(with_engine(operation_, ""),
                                                      {.kind = options_.data, .seed = options_.seed});
      ranking_.heuristic = prepared->algorithm();
    } catch (const FailedError&) {
      // No engine of the heuristic runs: the ranking names none.
    }
  }

  // Runs before the engines are measured, so that all are as new to the process as they are to PyTorch.
  void imitate(std::int64_t imitations) {
    if (imitations == 0 || interrupted()) return;
    AutotuneImitation imitation(session_, operation_, {.kind = options_.data, .seed = options_.seed});
    for (const std::string& tag : imitation.candidates()) find(tag)->autotune_tries = true;
    Random random(options_.seed);
    for (std::int64_t i = 0; i < imitations && !interrupted(); ++i) {
      if (listener_) {
        listener_("imitating benchmark=True", static_cast<std::size_t>(i + 1),
                  static_cast<std::size_t>(imitations));
      }
      ++find(imitation.candidates()[imitation.choose(draw_idle(options_, random))])->autotune_wins;
      ++ranking_.imitations;
    }
  }

  void measure_all() {
    std::vector<Operation> operations;
    for (const RankedEngine& engine : ranking_.engines) {
      operations.push_back(with_engine(operation_, engine.engine.tag));
    }
    measure_in_turn(
        session_, trials_of(operations, options_), false,
        [&](std::size_t number) {
          if (listener_) listener_(ranking_.engines[number].engine.tag, number + 1, operations.size());
          return !interrupted();
        },
        [&](std::size_t first, std::vector<Outcome> outcomes) {
          for (std::size_t i = 0; i < outcomes.size(); ++i)
            take(outcomes[i], ranking_.engines[first + i].result);
        });
  }

  static void take(Outcome& outcome, Result& result) {
    if (!outcome.error) {
      result = std::move(outcome.result);
    } else if (outcome.error->kind() == ErrorKind::failed) {
      result.failure = outcome.error->what();
    } else {
      throw Error(*outcome.error);
    }
  }

  Session& session_;
  const Operation& operation_;
  const MeasureOptions& options_;
  const EngineListener& listener_;
  EngineRanking ranking_;
};

const TimeEstimate& time_of(const RankedEngine& engine) {
  return engine.result.measurements.front().repeatability;
}

// Returns the loss of an engine against the fastest, the first; zero against itself.
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

bool has_time(const RankedEngine& engine) {
  return !engine.result.measurements.empty() && engine.result.measurements.front().time.rounds > 0;
}

EngineRanking list_ranking(Device& device, const Operation& operation) {
  EngineRanking ranking;
  ranking.operation = operation.text();
  for (const EngineListing& engine : engines_for(device, operation)) {
    const auto same = [&](const RankedEngine& ranked) { return ranked.engine.tag == engine.tag; };
    if (std::any_of(ranking.engines.begin(), ranking.engines.end(), same)) continue;
    RankedEngine ranked;
    ranked.engine = engine;
    ranking.engines.push_back(std::move(ranked));
  }
  return ranking;
}

std::string fastest_engine(Session& session, const Operation& operation, const MeasureOptions& options) {
  const EngineListener nobody;
  return Ranker(session, operation, options, nobody).fastest();
}

EngineRanking rank_engines(Session& session, const Operation& operation, const MeasureOptions& options,
                           std::int64_t imitations, const EngineListener& listener) {
  return Ranker(session, operation, options, listener).rank(imitations);
}

std::optional<EngineLoss> expected_loss(const EngineRanking& ranking) {
  if (ranking.imitations == 0 || ranking.engines.empty() || !has_time(ranking.engines.front())) {
    return std::nullopt;
  }
  std::vector<double> values, lows, highs;  // one value for each imitation
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
