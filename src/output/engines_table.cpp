#include "output/engines_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/quantity_text.hpp"
#include "measure/engine_ranking.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string_view source_text(EngineListing::Source source) {
  switch (source) {
    case EngineListing::Source::heuristic: return "heuristic";
    case EngineListing::Source::fallback: return "fallback";
    case EngineListing::Source::other: return "mode B";
  }
  return kAbsent;
}

const Measurement* measurement_in(const RankedEngine& engine, const Conditions& conditions) {
  for (const Measurement& measurement : engine.result.measurements) {
    if (measurement.conditions == conditions) return &measurement;
  }
  return nullptr;
}

std::vector<Conditions> conditions_of(const EngineRanking& ranking) {
  std::vector<Conditions> conditions;
  for (const RankedEngine& engine : ranking.engines) {
    for (const Measurement& measurement : engine.result.measurements) {
      const bool known =
          std::find(conditions.begin(), conditions.end(), measurement.conditions) != conditions.end();
      if (!known) conditions.push_back(measurement.conditions);
    }
  }
  return conditions;
}

std::string picks_text(const EngineRanking& ranking, const RankedEngine& engine) {
  if (!engine.autotune_tries) return "not tried";
  if (ranking.imitations == 0) return std::string(kAbsent);
  const auto share = autotune_share(ranking, engine);
  return fmt::format("{} ({} to {})", percent_text(share->value), percent_text(share->interval.low),
                     percent_text(share->interval.high));
}

std::string table(const EngineRanking& ranking, std::size_t width) {
  const std::vector<Conditions> conditions = conditions_of(ranking);
  TableColumn number{"#", Align::right, {}}, tag{"engine", Align::left, {}},
      from{"proposed by", Align::left, {}}, notes{"notes", Align::left, {}},
      workspace{"workspace", Align::right, {}}, slower{"slower by", Align::right, {}},
      picks{"benchmark=True takes it", Align::right, {}};
  std::vector<TableColumn> times;
  for (const Conditions& each : conditions) {
    times.push_back({fmt::format("{} {}", to_string(each.cache), to_string(each.load)), Align::right, {}});
  }
  const Measurement* best =
      conditions.empty() ? nullptr : measurement_in(ranking.engines.front(), conditions.front());
  for (const RankedEngine& engine : ranking.engines) {
    number.cells.push_back(std::to_string(number.cells.size() + 1));
    tag.cells.push_back(engine.engine.tag + (engine.engine.tag == ranking.heuristic ? " (PyTorch)" : ""));
    from.cells.emplace_back(source_text(engine.engine.source));
    notes.cells.push_back(engine.engine.notes);
    workspace.cells.push_back(bytes_text(engine.engine.workspace));
    picks.cells.push_back(picks_text(ranking, engine));
    const Measurement* first = conditions.empty() ? nullptr : measurement_in(engine, conditions.front());
    slower.cells.push_back(first && best && best->time.rounds > 0
                               ? change_text(first->time.median / best->time.median - 1.0)
                               : std::string(kAbsent));
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const Measurement* measurement = measurement_in(engine, conditions[i]);
      const std::string absent(engine.result.failure.empty() ? kAbsent : "failed");
      times[i].cells.push_back(measurement ? estimate_text(measurement->time) : absent);
    }
  }
  std::vector<TableColumn> columns = {tag};
  columns.insert(columns.end(), times.begin(), times.end());
  for (const TableColumn& column : {slower, picks, from, workspace, notes}) columns.push_back(column);
  return split_tables({number}, columns, width);
}

std::string loss_text(const EngineLoss& loss) {
  if (!loss.interval)
    return fmt::format("{} slower than the fastest, without an interval", percent_text(loss.value));
  if (loss.value == 0.0 && loss.interval->high == 0.0) return "the fastest";
  return fmt::format("{} slower than the fastest ({}, 95 %: {} to {})", percent_text(loss.value),
                     loss.is_distinguishable() ? "more than none" : "not distinguishable from none",
                     change_text(loss.interval->low), change_text(loss.interval->high));
}

std::string choice_sentences(const EngineRanking& ranking) {
  std::string text;
  if (const auto loss = heuristic_loss(ranking)) {
    text += fmt::format("With benchmark off PyTorch takes {}, {}. ", ranking.heuristic, loss_text(*loss));
  } else if (!ranking.heuristic.empty()) {
    text += fmt::format("With benchmark off PyTorch takes {}. ", ranking.heuristic);
  }
  const auto loss = expected_loss(ranking);
  if (!loss) return text;
  const auto choices = std::count_if(ranking.engines.begin(), ranking.engines.end(),
                                     [](const RankedEngine& engine) { return engine.autotune_wins > 0; });
  return text +
         fmt::format(
             "With benchmark on (one warm-up, one timed run, the first 10 plans) it took {} in {} "
             "imitations, on average {}. The fastest is the least of {} medians and by being chosen reads a "
             "little too fast: losses lean high.",
             choices == 1 ? "the same engine" : fmt::format("{} different engines", choices),
             ranking.imitations, loss_text(*loss), std::ranges::count_if(ranking.engines, has_time));
}

std::string failures(const EngineRanking& ranking, std::size_t width) {
  std::string text;
  for (const RankedEngine& engine : ranking.engines) {
    if (engine.result.failure.empty()) continue;
    text += wrapped(fmt::format("- {}: {}", engine.engine.tag, one_line(engine.result.failure)), width, 2);
  }
  return text.empty() ? text : "\nFailed:\n\n" + text;
}

}  // namespace

std::string engines_table(const EnginesRecord& record, std::size_t width) {
  const EngineRanking& ranking = record.ranking;
  std::string text =
      wrapped(fmt::format("**{}**: its engines on {} ({}), fastest first. ± is half the 95 % "
                          "interval of the median; in brackets, the 95 % interval of a share.",
                          one_line(ranking.operation), one_line(record.device.name), record.device.id),
              width);
  text += '\n' + table(ranking, width);
  const std::string sentences = choice_sentences(ranking);
  if (!sentences.empty()) text += '\n' + wrapped(sentences, width);
  text += failures(ranking, width);
  if (ranking.interrupted) text += "\nInterrupted: these are the results so far.\n";
  return text;
}

}  // namespace jitterscope
