#include "commands/engines/record.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/run/table.hpp"
#include "measure/engine_choice.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "report/drawing.hpp"

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

/// Writes one of the times in the summary `times`.
struct EngineTime {
  const Measurement* measurement = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, EngineTime>& time) {
  fields("cache", time.measurement->conditions.cache);
  fields("load", time.measurement->conditions.load);
  describe(fields, time.measurement->time);
}

/// Writes an engine with the values that follow from the whole ranking.
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

std::string write_record(const EnginesRecord& record) { return write_envelope("engines", record); }

Text record_text(const EnginesRecord& record, const ShownPage& shown) {
  return engines_table(record, shown.width);
}

Headline headline_of(const EnginesRecord& record) {
  const EngineRanking& ranking = record.ranking;
  const bool is_timed = !ranking.engines.empty() && has_time(ranking.engines.front());
  Headline headline{.subject = ranking.operation};
  if (is_timed) {
    const Measurement& fastest = ranking.engines.front().result.measurements.front();
    headline = headline_of("the fastest engine of " + ranking.operation, fastest.time);
    headline.marks = {ranking.engines.front().engine.tag, std::string(to_string(fastest.conditions.cache)),
                      std::string(to_string(fastest.conditions.load))};
  }
  headline.marks.push_back(counted(std::ssize(ranking.engines), "engine"));
  return headline;
}

void read_fields(const Json& document, const std::string& name, EnginesRecord& record) {
  record = read_envelope<EnginesRecord>(document, name);
}

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

Text table(const EngineRanking& ranking, std::size_t width) {
  const std::vector<Conditions> conditions = conditions_of(ranking);
  TableColumn number{"#", Align::right, {}}, tag{"engine", Align::left, {}},
      from{"proposed by", Align::left, {}}, notes{"notes", Align::left, {}},
      workspace{"workspace", Align::right, {}}, slower{"against the fastest", Align::right, {}},
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
    return fmt::format("slower than the fastest: {}, without an interval", time_change_text(loss.value));
  if (loss.value == 0.0 && loss.interval->high == 0.0) return "the fastest";
  const ChangeWords words =
      change_words_of({1.0 + loss.value, 1.0 + loss.interval->low, 1.0 + loss.interval->high});
  return fmt::format("slower than the fastest: {} ({}, 95 %: {})", words.change,
                     loss.is_distinguishable() ? "a real loss" : "may be no loss", words.interval);
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
             "With benchmark on (one warm-up, one timed run, the first 10 plans) it took {} in {}, on average {}. "
             "The fastest is the smallest of {} medians, so it reads a little too fast, and the losses a little too "
             "high.",
             choices == 1 ? "the same engine" : fmt::format("{} different engines", choices),
             counted(ranking.imitations, "imitation"), loss_text(*loss),
             std::ranges::count_if(ranking.engines, has_time));
}

Text failures(const EngineRanking& ranking, std::size_t width) {
  Text text;
  for (const RankedEngine& engine : ranking.engines) {
    if (engine.result.failure.empty()) continue;
    text += list_item(fmt::format("{}: {}", engine.engine.tag, one_line(engine.result.failure)), width);
  }
  return text.empty() ? text : "\nFailed:\n\n" + text;
}

}  // namespace

Text engines_table(const EnginesRecord& record, std::size_t width) {
  const EngineRanking& ranking = record.ranking;
  Text text =
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

// Plots an operation's engines by their times, and how often PyTorch's autotune takes each.

namespace jitterscope::report {

std::vector<Plot> plots_of(const EnginesRecord& record) {
  const EngineRanking& ranking = record.ranking;
  Nanoseconds slowest(0);
  for (const RankedEngine& engine : ranking.engines) {
    for (const Measurement& measurement : engine.result.measurements)
      slowest = std::max(slowest, measurement.time.median);
  }
  const TimeUnit unit = unit_for(slowest);
  Json rows = Json::array();
  std::vector<TableColumn> table = columns_of({"engine", "cache", ">time", ">autotune takes it"});
  for (const RankedEngine& engine : ranking.engines) {
    const std::optional<AutotuneShare> share = autotune_share(ranking, engine);
    const std::string taken = share ? percent_text(share->value) : engine.autotune_tries ? "" : "not tried";
    for (const Measurement& measurement : engine.result.measurements) {
      const TimeEstimate& time = measurement.time;
      rows.push_back(
          Json{{"engine", engine.engine.tag + (engine.engine.tag == ranking.heuristic ? " (PyTorch)" : "")},
               {"cache", to_string(measurement.conditions.cache)},
               {"time", unit.of(time.median)},
               {"low", unit.of(has_interval(time) ? time.low : time.median)},
               {"high", unit.of(has_interval(time) ? time.high : time.median)},
               {"shown", estimate_text(time)},
               {"share", share ? rounded(share->value) : 0.0},
               {"taken", taken}});
      add_row(table, {rows.back()["engine"].get<std::string>(), to_string(measurement.conditions.cache),
                      estimate_text(time), taken});
    }
  }
  if (rows.empty()) return {};
  const std::set<std::string> kinds(table[1].cells.begin(), table[1].cells.end());
  const Json view = filled(
      R"({
    "height": "$height", "data": "$rows",
    "layer": [
      {"mark": {"type": "rule", "size": 2},
       "encoding": {"y": "$y", "yOffset": "$offset", "x": "low:Q", "x2": "high", "color": "$color"}},
      {"name": "engines", "mark": {"type": "point", "filled": true},
       "encoding": {
         "y": "$y", "yOffset": "$offset", "x": {"field": "time:Q", "title": "time of one launch, $unit"}, "color": "$color",
         "size": {"field": "share:Q", "title": "autotune takes it", "legend": null, "scale": {"domain": [0, 1], "range": [30, 400]}},
         "tooltip": [["engine", "engine"], ["cache", "cache"], ["shown", "time"], ["taken", "autotune takes it"]]}}
    ]
  })",
      "height", height_of(table[0].cells, 22 * static_cast<int>(kinds.size())), "rows", rows, "unit",
      unit.name, "y",
      filled(R"({"field": "engine:N", "title": null, "sort": null, "axis": {"labelLimit": 320}})"), "offset",
      filled(R"({"field": "cache", "sort": null})"), "color",
      filled(R"({"field": "cache:N", "title": null, "sort": null,
                             "scale": {"range": ["$blue", "$orange", "$green"]}})"));
  return {
      Plot{.id = "engines",
           .title = "Engines by time: " + ranking.operation,
           .caption =
               "A larger point: PyTorch with benchmark on takes the engine more often. Bars: 95 % intervals.",
           .spec = single_plot(view),
           .table = std::move(table)}};
}

}  // namespace jitterscope::report
