#include <nlohmann/json.hpp>

#include "measure/engine_loss.hpp"
#include "output/engines_table.hpp"
#include "output/json.hpp"

namespace jitterscope {
namespace {

constexpr int kEnginesVersion = 1;  // raised where a reader of the last version could misread the document

std::string_view word(EngineListing::Source source) {
  switch (source) {
    case EngineListing::Source::heuristic: return "heuristic";
    case EngineListing::Source::fallback: return "fallback";
    case EngineListing::Source::other: return "other";
  }
  return "";
}

Json engine_json(const EngineRanking& ranking, const RankedEngine& ranked) {
  Json object = {{"tag", ranked.engine.tag}, {"source", word(ranked.engine.source)}};
  put(object, "notes", ranked.engine.notes);
  put(object, "workspace_bytes", ranked.engine.workspace);
  object["heuristic_choice"] = ranked.engine.tag == ranking.heuristic;
  object["autotune_tries"] = ranked.autotune_tries;
  object["autotune_wins"] = ranked.autotune_wins;
  if (const auto share = autotune_share(ranking, ranked)) {
    put(object, "autotune_share_low", share->interval.low);
    put(object, "autotune_share_high", share->interval.high);
  }
  object["times"] = Json::array();
  for (const Measurement& measurement : ranked.result.measurements) {
    Json time = {{"cache", to_string(measurement.conditions.cache)},
                 {"load", to_string(measurement.conditions.load)}};
    time.update(estimate_json(measurement.time));
    object["times"].push_back(std::move(time));
  }
  put(object, "failure", ranked.result.failure);
  return object;
}

void put_loss(Json& object, const std::string& key, const std::optional<EngineLoss>& loss) {
  if (!loss) return;
  put(object, key, loss->value);
  if (!loss->interval) return;
  put(object, key + "_low", loss->interval->low);
  put(object, key + "_high", loss->interval->high);
}

}  // namespace

std::string engines_json(const EnginesRecord& record) {
  const EngineRanking& ranking = record.ranking;
  Json document = {{"format", "jitterscope-engines"}, {"version", kEnginesVersion}};
  document["operation"] = ranking.operation;
  document["interrupted"] = ranking.interrupted;
  document["environment"] = environment_json(record.environment);
  document["device"] = {{"id", record.device.id}, {"name", record.device.name}};
  document["libraries"] = libraries_json(record.device.libraries);
  document["imitations"] = ranking.imitations;
  put(document, "heuristic", ranking.heuristic);
  put_loss(document, "heuristic_loss", heuristic_loss(ranking));
  put_loss(document, "expected_autotune_loss", expected_loss(ranking));
  document["engines"] = Json::array();
  for (const RankedEngine& engine : ranking.engines)
    document["engines"].push_back(engine_json(ranking, engine));
  return json_text(document);
}

}  // namespace jitterscope
