#include "commands/methods/record.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "commands/run/table.hpp"
#include "output/text.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, MethodReading>& reading) {
  fields("id", reading.id);
  fields("name", reading.name);
  fields("cache", reading.cache);
  fields("time_seconds", reading.times);
  fields("sentence", reading.sentence);
  fields("absent", reading.absent);
}

/// Writes a reading with values that follow from its times and those of the reference.
struct ReadingInComparison {
  const MethodComparison* comparison = nullptr;
  const MethodReading* reading = nullptr;
};
template <class Fields>
void describe(Fields& fields, Described<Fields, ReadingInComparison>& written) {
  describe(fields, *written.reading);
  if (written.reading->times.empty()) return;
  fields("median_seconds", written.reading->time());
  fields.derived("relative_range", written.reading->range());
  const auto distance = distance_from_reference(*written.comparison, *written.reading);
  if (!distance) return;
  fields.derived("distance_seconds", in_seconds(distance->time));
  fields.derived("relative_distance", distance->ratio);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, MethodsRecord>& record) {
  auto& comparison = record.comparison;
  fields("operation", comparison.operation);
  fields("provider", comparison.provider);
  fields("algorithm", comparison.algorithm);
  fields("data", comparison.input.kind);
  fields("seed", comparison.input.seed);
  fields("repetitions", comparison.repetitions);
  fields("launches", comparison.launches);
  fields("launches_return_early", comparison.launches_return_early);
  fields("shortest_idle_seconds", comparison.shortest_idle);
  fields("longest_idle_seconds", comparison.longest_idle);
  fields("calibration", comparison.calibration);
  fields("first_call_seconds", comparison.first_call);
  fields("launch_cost_seconds", comparison.launch_cost);
  fields("clock_hertz", comparison.clock);
  fields("reference", comparison.reference);
  if constexpr (Fields::kWrites) {
    std::vector<ReadingInComparison> written;
    for (const MethodReading& reading : comparison.readings) written.push_back({&comparison, &reading});
    fields("methods", written);
  } else {
    fields("methods", comparison.readings);
  }
}

std::string write_record(const MethodsRecord& record) { return write_envelope("methods", record); }

Text record_text(const MethodsRecord& record, const ShownPage& shown) {
  return methods_table(record, shown.width);
}

Headline headline_of(const MethodsRecord& record) {
  const MethodComparison& comparison = record.comparison;
  Headline headline{.subject = comparison.operation,
                    .marks = {counted(std::ssize(comparison.readings), "method"),
                              counted(comparison.repetitions, "repetition")}};
  if (const MethodReading* reference = find_reading(comparison, comparison.reference)) {
    headline.subject += " by " + reference->name;
    headline.number = time_text(reference->time(), 0.002);
  }
  if (comparison.clock) headline.marks.push_back(clock_text(*comparison.clock));
  return headline;
}

void read_fields(const Json& document, const std::string& name, MethodsRecord& record) {
  record = read_envelope<MethodsRecord>(document, name);
}

namespace {

constexpr std::size_t kSentenceIndent = 4;  // width of "10. ": Markdown then keeps the lines in the item

Text header(const MethodsRecord& record, std::size_t width) {
  const MethodComparison& comparison = record.comparison;
  std::string first = fmt::format("**{}** by every method on {} ({})", one_line(comparison.operation),
                                  one_line(record.device.name), record.device.id);
  if (!comparison.provider.empty()) first += ", " + comparison.provider;
  if (comparison.clock) first += ", clock " + clock_text(*comparison.clock);
  const std::string conditions = fmt::format(
      "Conditions: {} repetitions, methods in random order, a random idle of {} before each; n = {} "
      "launches; data {}; caches warm unless a row says otherwise.",
      comparison.repetitions, time_range_text(comparison.shortest_idle, comparison.longest_idle, 0.05),
      comparison.launches, to_string(comparison.input.kind));
  const Calibration& calibration = comparison.calibration;
  const std::string constants =
      fmt::format("Constants: events {}, slope {} ({}). One launch costs the host {}.",
                  time_with_error_text(calibration.events.value, calibration.events.uncertainty),
                  time_with_error_text(calibration.graph.value, calibration.graph.uncertainty),
                  calibration.method, time_text(comparison.launch_cost, 0.01));
  return wrapped(first + ".", width) + wrapped(conditions, width) + wrapped(constants, width);
}

// Returns "+2.93 µs, +88.0 %".
std::string distance_text(const MethodDistance& distance) {
  const char* sign = distance.time < Nanoseconds(0) ? "" : "+";
  return fmt::format("{}{}, {}", sign, time_text(distance.time, 0.02), change_text(distance.ratio));
}

std::string distance_cell(const MethodComparison& comparison, const MethodReading& reading) {
  if (reading.times.empty()) return std::string(kAbsent);
  if (reading.id == comparison.reference) return "reference";
  if (reading.cache != CacheState::warm) return std::string(to_string(reading.cache));
  const auto distance = distance_from_reference(comparison, reading);
  return distance ? distance_text(*distance) : std::string(kAbsent);
}

std::string spread_cell(const MethodReading& reading) {
  if (reading.times.size() < 2) return std::string(kAbsent);
  return percent_text(reading.range());
}

std::vector<TableColumn> columns_of(const MethodComparison& comparison) {
  std::array<TableColumn, 5> columns = {{{"#", Align::right, {}},
                                         {"method", Align::left, {}},
                                         {"time", Align::right, {}, 1},
                                         {"against reference", Align::right, {}},
                                         {"spread", Align::right, {}, 2}}};
  for (std::size_t i = 0; i < comparison.readings.size(); ++i) {
    const MethodReading& reading = comparison.readings[i];
    columns[0].cells.push_back(std::to_string(i + 1));
    columns[1].cells.push_back(reading.name);
    columns[2].cells.push_back(reading.times.empty() ? std::string(kAbsent)
                                                     : time_text(reading.time(), 0.002));
    columns[3].cells.push_back(distance_cell(comparison, reading));
    columns[4].cells.push_back(spread_cell(reading));
  }
  return {columns.begin(), columns.end()};
}

Text sentences(const MethodComparison& comparison, std::size_t width) {
  Text text;
  for (std::size_t i = 0; i < comparison.readings.size(); ++i) {
    const MethodReading& reading = comparison.readings[i];
    std::string sentence = reading.sentence;
    if (!reading.absent.empty())
      sentence += (sentence.empty() ? "absent: " : "; then it failed: ") + reading.absent;
    text += numbered_item(i + 1, fmt::format("{}: {}.", reading.name, sentence), width, kSentenceIndent);
  }
  return text;
}

}  // namespace

Text methods_table(const MethodsRecord& record, std::size_t width) {
  const std::vector<TableColumn> columns = columns_of(record.comparison);
  const bool has_spread = table_width(columns) <= width;
  Text text = header(record, width) + '\n' + fitted_table(columns, width) +
              "\ntime: median over the repetitions" +
              (has_spread ? "; spread: largest less smallest, over the median.\n\n" : ".\n\n") +
              sentences(record.comparison, width);
  if (record.comparison.interrupted) text += "\nInterrupted: these are the repetitions so far.\n";
  return text;
}

}  // namespace jitterscope

// Plots the readings of every timing method, repetition by repetition.

namespace jitterscope::report {

std::vector<Plot> plots_of(const MethodsRecord& record) {
  const MethodComparison& comparison = record.comparison;
  Nanoseconds slowest(0);
  for (const MethodReading& reading : comparison.readings) {
    for (const Nanoseconds time : reading.times) slowest = std::max(slowest, time);
  }
  const TimeUnit unit = unit_for(slowest);
  Json rows = Json::array(), reference = Json::array();
  std::vector<TableColumn> table = report::columns_of({"method", ">repetition", ">time"});
  for (const MethodReading& reading : comparison.readings) {
    for (std::size_t i = 0; i < reading.times.size(); ++i) {
      rows.push_back(Json{{"method", reading.name},
                          {"repetition", i + 1},
                          {"time", unit.of(reading.times[i])},
                          {"sentence", reading.sentence}});
      add_row(table, {reading.name, std::to_string(i + 1), time_text(reading.times[i], 1e-3)});
    }
    if (reading.id == comparison.reference && !reading.times.empty()) {
      reference.push_back(Json{{"time", unit.of(reading.time())}});
    }
  }
  if (rows.empty()) return {};
  const Json view = filled(R"({
    "height": "$height",
    "layer": [
      {"name": "reference", "data": "$reference", "mark": {"type": "rule", "color": "$green", "size": 2},
       "encoding": {"x": "time:Q"}},
      {"name": "readings", "data": "$rows", "mark": {"type": "tick", "color": "$blue", "thickness": 2},
       "encoding": {"y": {"field": "method:N", "title": null, "sort": null, "axis": {"labelLimit": 320}},
                    "x": {"field": "time:Q", "title": "time of one launch, $unit"},
                    "tooltip": [["method", "method"], ["repetition", "repetition"], ["time", "time, $unit"],
                                ["sentence", "what it gets wrong"]]}}
    ]
  })",
                           "height", height_of(table[0].cells, 24), "reference", reference, "rows", rows,
                           "unit", unit.name);
  return {Plot{.id = "methods",
               .title = "One operation, every method: " + comparison.operation,
               .caption = "A tick is one repetition. Green: the time that jitterscope reports.",
               .spec = single_plot(view),
               .table = std::move(table)}};
}

}  // namespace jitterscope::report
