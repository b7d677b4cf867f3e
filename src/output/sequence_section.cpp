#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/quantity_text.hpp"
#include "finding/sequence_reason.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string calls_text(const LayerInSequence& layer) {
  if (layer.fastest == layer.slowest) return time_text(layer.median);
  return fmt::format("{} ({})", time_text(layer.median), time_range_text(layer.fastest, layer.slowest));
}

std::string table(const RunRecord& record, const std::vector<std::string>& names,
                  const std::vector<LayerInSequence>& layers, const ConditionLabels& labels) {
  TableColumn number{"#", Align::right, {}}, name{"operation", Align::left, {}},
      calls{"calls", Align::right, {}}, place{"in place", Align::right, {}},
      difference{"from nearest", Align::right, {}}, reason{"reason", Align::left, {}};
  std::vector<TableColumn> alone;
  for (const Conditions& conditions : labels.conditions) {
    alone.push_back({fmt::format("alone, {}", to_string(conditions.cache)), Align::right, {}});
  }
  for (const LayerInSequence& layer : layers) {
    const Result& result = record.results[layer.result];
    number.cells.push_back(std::to_string(layer.result + 1));
    name.cells.push_back(result.layers.empty() ? names[layer.result] : one_line(result.layers.front()));
    calls.cells.push_back(std::to_string(layer.calls));
    place.cells.push_back(calls_text(layer));
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const Measurement* measurement = find_measurement(result, labels.conditions[i]);
      alone[i].cells.push_back(measurement ? time_text(measurement->time.median, 0.002)
                                           : std::string(kAbsent));
    }
    difference.cells.push_back(layer.nearest ? change_text(layer.difference) : std::string(kAbsent));
    reason.cells.push_back(layer.reason);
  }
  std::vector<TableColumn> times = {number, name, calls, place};
  times.insert(times.end(), alone.begin(), alone.end());
  std::vector<TableColumn> all = times;
  all.push_back(difference);
  all.push_back(reason);
  if (table_width(all) <= kPageWidth) return markdown_table(all);
  const TableColumn reasons[] = {number, name, difference, reason};
  return markdown_table(times) + '\n' + markdown_table(reasons);
}

}  // namespace

std::string sequence_section(const RunRecord& record, const ConditionLabels& labels,
                             const std::vector<std::string>& names) {
  if (!record.sequence) return {};
  const SequenceMeasurement& sequence = *record.sequence;
  std::string heading = fmt::format(
      "In sequence: all {} calls in their order, each reading what the ones before it wrote; {} read by {}, "
      "{} "
      "passes; one pass takes {}",
      sequence.calls.size(),
      sequence.instrument == Instrument::cupti ? "first kernel's start to last kernel's end" : "times",
      to_string(sequence.instrument), sequence.iteration.rounds, estimate_text(sequence.iteration));
  if (sequence.clock) heading += ", at " + clock_text(*sequence.clock);
  std::string text = wrapped(heading + ".", kPageWidth);
  text += '\n' + table(record, names, layers_in_sequence(record), labels);
  const auto left_out =
      std::ranges::count_if(sequence.calls, [](const SequenceCall& call) { return !call.failure.empty(); });
  if (left_out > 0) {
    const auto first =
        std::ranges::find_if(sequence.calls, [](const SequenceCall& call) { return !call.failure.empty(); });
    text += '\n' + wrapped(fmt::format("{} calls were left out, the first {}: {}", left_out, first->name,
                                       one_line(first->failure)),
                           kPageWidth);
  }
  return text;
}

}  // namespace jitterscope
