#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/quantity_text.hpp"
#include "finding/sequence_reason.hpp"
#include "measure/network_total.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string place_text(const LayerInSequence& layer) {
  std::string time = estimate_text(layer.in_place);
  if (layer.fastest == layer.slowest) return time;
  return fmt::format("{} ({})", time, time_range_text(layer.fastest, layer.slowest));
}

// The load is said only where there are two.
std::vector<std::string> headings_alone(const ConditionLabels& labels) {
  const auto& all = labels.conditions;
  const bool two_loads = std::ranges::any_of(
      all, [&](const Conditions& conditions) { return conditions.load != all.front().load; });
  std::vector<std::string> headings;
  for (std::size_t i = 0; i < all.size(); ++i) {
    headings.push_back(
        fmt::format("alone, {}", two_loads ? labels.labels[i] : std::string(to_string(all[i].cache))));
  }
  return headings;
}

// In place, beside the times alone, which the table of the layers has: by default only which of them is
// nearest.
std::string times_table(const RunPage& run, const std::vector<LayerInSequence>& layers) {
  TableColumn number{"#", Align::right, {}}, name{"operation", Align::left, {}},
      calls{"calls", Align::right, {}, 1}, place{"in place", Align::right, {}},
      nearest{"nearest to", Align::left, {}}, difference{"from nearest", Align::right, {}};
  std::vector<TableColumn> alone;
  for (const std::string& heading : headings_alone(run.labels)) alone.push_back({heading, Align::right, {}});
  for (const LayerInSequence& layer : layers) {
    const RunEntry& entry = run.record.entries[layer.result];
    number.cells.push_back(std::to_string(layer.result + 1));
    name.cells.push_back(entry.layers.empty() ? run.names[layer.result] : one_line(entry.layers.front()));
    calls.cells.push_back(std::to_string(layer.calls));
    place.cells.push_back(run.page.details ? place_text(layer) : estimate_text(layer.in_place));
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const Measurement* measurement = find_measurement(entry.result, run.labels.conditions[i]);
      alone[i].cells.push_back(measurement ? time_text(measurement->time.median, 0.002)
                                           : std::string(kAbsent));
    }
    nearest.cells.emplace_back(layer.nearest ? to_string(layer.nearest->cache) : kAbsent);
    difference.cells.push_back(layer.nearest ? change_text(layer.difference) : std::string(kAbsent));
  }
  if (!run.page.details)
    return fitted_table({number, name, calls, place, nearest, difference}, run.page.width);
  std::vector<TableColumn> columns = {place, difference, calls};
  columns.insert(columns.end(), alone.begin(), alone.end());
  return split_tables({number, name}, columns, run.page.width);
}

// Sentences do not fit into a column.
std::string reasons(const RunPage& run, const std::vector<LayerInSequence>& layers) {
  std::string text;
  for (const LayerInSequence& layer : layers) {
    // "as cold" stands in the table already.
    const bool is_said = !run.page.details && layer.nearest &&
                         layer.reason == fmt::format("as {}", to_string(layer.nearest->cache));
    if (layer.reason.empty() || is_said) continue;
    text += wrapped(fmt::format("- {}: {}", row_name(run, layer.result), layer.reason), run.page.width, 2);
  }
  return text.empty() ? text : '\n' + text;
}

std::vector<LayerInSequence> shown_layers(const RunPage& run) {
  const std::vector<LayerInSequence> all = layers_in_sequence(run.record);
  std::vector<LayerInSequence> shown;
  for (const std::size_t row : run.rows) {
    const auto layer = std::ranges::find(all, row, &LayerInSequence::result);
    if (layer != all.end()) shown.push_back(*layer);
  }
  return shown;
}

// A time of some of the calls is no time of the network.
std::string pass_text(const SequenceMeasurement& sequence) {
  const std::int64_t timed = calls_timed(sequence);
  const std::int64_t all = std::ssize(sequence.calls);
  std::string text =
      timed == all ? fmt::format("all {} calls", all) : fmt::format("only {} of {} calls", timed, all);
  text += fmt::format(
      " in their order, {}; short passes with idle between{}; {} read by {}, {} {}; ",
      sequence.is_connected ? "each reading what the ones before it wrote"
                            : "each with memory of its own, since nothing says what reads what",
      sequence.queue == QueueMode::eager ? ", each call launched when the one before has ended" : "",
      sequence.instrument == Instrument::cupti ? "first kernel's start to last kernel's end" : "times",
      to_string(sequence.instrument), sequence.iteration.rounds,
      sequence.iteration.rounds == 1 ? "pass" : "passes");
  text += timed == all ? fmt::format("one pass takes {}", estimate_text(sequence.iteration))
                       : fmt::format("these {} calls take {}, which is no time of the network", timed,
                                     estimate_text(sequence.iteration));
  if (sequence.clock) text += ", at " + clock_text(*sequence.clock);
  return text + '.';
}

std::string unwritten_text(const SequenceMeasurement& sequence) {
  const auto calls = std::ranges::count_if(
      sequence.calls, [](const SequenceCall& call) { return call.time.rounds > 0 && call.unwritten > 0; });
  if (calls == 0) return {};
  return fmt::format(
      "{} of them {} something that no call of the sequence wrote: what writes it in the network is not "
      "timed, or they are operators of PyTorch, which have memory of their own. Random numbers lie there, "
      "and no cache holds them as it does in the network.",
      calls, calls == 1 ? "reads" : "read");
}

std::string left_out_text(const SequenceMeasurement& sequence) {
  const auto has_failed = [](const SequenceCall& call) { return !call.failure.empty(); };
  const auto first = std::ranges::find_if(sequence.calls, has_failed);
  if (first == sequence.calls.end()) return {};
  const auto left_out = std::ranges::count_if(sequence.calls, has_failed);
  return fmt::format("{} {} left out, the first {}: {}", left_out, left_out == 1 ? "call was" : "calls were",
                     first->name, one_line(first->failure));
}

std::string imprecise_text(const SequenceMeasurement& sequence) {
  if (reached_precision(sequence)) return {};
  return fmt::format("In sequence, the pass or more than one call in ten did not reach ± {}.",
                     percent_text(sequence.precision_asked));
}

}  // namespace

std::string sequence_section(const RunPage& run) {
  if (!run.record.sequence) return {};
  const SequenceMeasurement& sequence = *run.record.sequence;
  const bool is_timed = calls_timed(sequence) > 0;
  std::string text = wrapped(
      "In sequence: " + (is_timed ? pass_text(sequence)
                                  : fmt::format("none of {} calls was timed.", sequence.calls.size())),
      run.page.width);
  if (is_timed) {
    const std::vector<LayerInSequence> layers = shown_layers(run);
    text += '\n' + times_table(run, layers) + reasons(run, layers);
  }
  std::vector<std::string> sentences = {left_out_text(sequence)};
  if (is_timed) {
    sentences.push_back(unwritten_text(sequence));
    sentences.push_back(imprecise_text(sequence));
  }
  std::erase(sentences, std::string());
  for (const std::string& sentence : sentences) text += '\n' + wrapped(sentence, run.page.width);
  return text;
}

}  // namespace jitterscope
