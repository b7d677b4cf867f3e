#include "measure/engine_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "measure/engine_ranking.hpp"
#include "operation/engine.hpp"

namespace jitterscope {
namespace {

// torch.backends.cudnn.benchmark_limit.
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
      // PyTorch leaves out as silently what fails.
    }
  }
  if (!prepared_.empty()) return;
  throw UsageError(
      fmt::format("{}: {} has no engines to choose from for it; conv2d, matmul and linear on cuda have",
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

}  // namespace jitterscope
