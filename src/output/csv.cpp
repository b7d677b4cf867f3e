#include "output/csv.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string_view>

#include "base/names.hpp"
#include "output/condition_labels.hpp"
#include "record/words.hpp"

namespace jitterscope {

std::string csv_quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

namespace {

void append_round(std::string& text, const std::string& prefix, const Measurement& measurement,
                  std::size_t index) {
  const Round& round = measurement.rounds[index];
  const bool settled = !measurement.steadiness || index >= measurement.steadiness->settled_round;
  const std::string clock = round.clock ? csv_number(round.clock->value()) : std::string();
  for (std::size_t value = 0; value < round.launches.size(); ++value) {
    const std::int64_t launch = static_cast<std::int64_t>(value) * round.launches_per_value;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}\r\n", prefix, index, launch,
                   csv_number(round.launches[value].value() / 1e9), clock,
                   csv_number(round.started.value() / 1e9), settled ? 1 : 0);
  }
}

}  // namespace

std::string launches_csv(const RunRecord& record) {
  std::string text =
      "operation,layer,cache,load,data,fresh_data,queue,instrument,round,launch,seconds,clock_hertz,"
      "round_start_seconds,settled\r\n";
  for (const RunEntry& entry : record.entries) {
    const std::string name =
        csv_quoted(to_string(entry.result.subject)) + ',' + csv_quoted(joined(entry.layers, ";"));
    for (const Measurement& measurement : entry.result.measurements) {
      const Conditions& conditions = measurement.conditions;
      const std::string prefix =
          fmt::format("{},{},{},{},{},{},{}", name, to_string(conditions.cache), to_string(conditions.load),
                      data_word(conditions), conditions.fresh_data ? 1 : 0, to_string(conditions.queue),
                      to_string(measurement.instrument));
      for (std::size_t index = 0; index < measurement.rounds.size(); ++index) {
        append_round(text, prefix, measurement, index);
      }
    }
  }
  return text;
}

}  // namespace jitterscope
