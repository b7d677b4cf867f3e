// The plans that can run an operation, as they stand in a file.
#pragma once

#include "measure/engine_ranking.hpp"
#include "record/describe_result.hpp"
#include "record/records.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, RankedEngine>& ranked) {
  fields("tag", ranked.engine.tag);
  fields("source", ranked.engine.source);
  fields("notes", ranked.engine.notes);
  fields("workspace_bytes", ranked.engine.workspace);
  fields("autotune_tries", ranked.autotune_tries);
  fields("autotune_wins", ranked.autotune_wins);
  fields("result", ranked.result);
}

/// One of the times that `times` sums up; written only.
struct EngineTime {
  const Measurement* measurement = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, EngineTime>& time) {
  fields("cache", time.measurement->conditions.cache);
  fields("load", time.measurement->conditions.load);
  describe(fields, time.measurement->time);
}

/// With what follows from the whole ranking; written only.
struct EngineInRanking {
  const EngineRanking* ranking = nullptr;
  const RankedEngine* engine = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, EngineInRanking>& written) {
  const RankedEngine& engine = *written.engine;
  fields.derived("heuristic_choice", engine.engine.tag == written.ranking->heuristic);
  if (const auto share = autotune_share(*written.ranking, engine)) {
    fields.derived("autotune_share_low", share->interval.low);
    fields.derived("autotune_share_high", share->interval.high);
  }
  std::vector<EngineTime> times;
  for (const Measurement& measurement : engine.result.measurements) times.push_back({&measurement});
  fields.derived("times", times);
  fields.derived("failure", engine.result.failure);
  describe(fields, engine);
}

template <class Fields>
void describe_loss(Fields& fields, const std::string& key, const std::optional<EngineLoss>& loss) {
  if (!loss) return;
  fields.derived(key, loss->value);
  if (!loss->interval) return;
  fields.derived(key + "_low", loss->interval->low);
  fields.derived(key + "_high", loss->interval->high);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, EnginesRecord>& record) {
  auto& ranking = record.ranking;
  fields("operation", ranking.operation);
  fields("imitations", ranking.imitations);
  fields("heuristic", ranking.heuristic);
  if constexpr (Fields::kWrites) {
    describe_loss(fields, "heuristic_loss", heuristic_loss(ranking));
    describe_loss(fields, "expected_autotune_loss", expected_loss(ranking));
    std::vector<EngineInRanking> written;
    for (const RankedEngine& engine : ranking.engines) written.push_back({&ranking, &engine});
    fields("engines", written);
  } else {
    fields("engines", ranking.engines);
  }
}

}  // namespace jitterscope
