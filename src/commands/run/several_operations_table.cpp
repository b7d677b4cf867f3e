#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/run/table.hpp"
#include "finding/finding.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/where_to_work.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

using Columns = std::vector<TableColumn>;

constexpr std::string_view kOfCeiling = "of ceiling";

// Order in which columns leave a table that is too wide, the largest first.
constexpr std::string_view kRecorded = "recorded";
constexpr int kSpareShare = 1, kSpareRecorded = 1, kSpareOperation = 2, kSpareSaving = 3, kSpareRate = 4,
              kSpareClock = 5, kSpareCeiling = 6;

// Says what the first row is, since a network has several times: each layer alone, warm or cold, and its
// pass.
constexpr std::string_view kTotalExplained =
    "The first row adds the calls, each measured alone, cached (warm) or not (cold); ";

// Shortens "no interval", which at each time would make a column wider than the page.
std::string short_estimate(const TimeEstimate& time) {
  if (time.rounds == 0 || has_interval(time)) return estimate_text(time);
  return fmt::format("{} ({})", time_text(time.median), counted(time.rounds, "round"));
}

std::string plain_text(const TimeEstimate& time) {
  return has_interval(time) ? time_text(time.median, std::max(time.precision(), 0.001))
                            : time_text(time.median);
}

std::string layer_text(const RunEntry& entry) {
  const std::string name = entry.layers.empty() ? std::string(kAbsent) : one_line(entry.layers.front());
  return entry.count > 1 ? fmt::format("{}× {}", entry.count, name) : name;
}

std::string total_text(const NetworkTotal& total, bool with_precision) {
  if (!total.is_complete()) return "over " + time_text(total.time);
  if (with_precision) return total_estimate_text(total);
  return plain_text(estimate_of(total));
}

Columns key_columns(const RunPage& run, bool model) {
  TableColumn number{"#", Align::right, {}}, layer{"layer", Align::left, {}},
      operation{"operation", Align::left, {}, kSpareOperation};
  for (const std::size_t row : run.rows) {
    number.cells.push_back(fmt::format("{}", row + 1));
    layer.cells.push_back(layer_text(run.record.entries[row]));
    operation.cells.push_back(run.names[row]);
  }
  if (model) return {number, layer, operation};
  operation.spare = 0;
  return {number, operation};
}

// Adds ± to the first `with_precision` conditions. A model's first row is its total.
Columns time_columns(const RunPage& run, bool model, std::size_t with_precision) {
  Columns columns;
  const std::vector<NetworkTotal> totals = network_totals(run.record);
  for (std::size_t i = 0; i < run.labels.conditions.size(); ++i) {
    const Conditions& conditions = run.labels.conditions[i];
    TableColumn column{run.labels.labels[i], Align::right, {}};
    if (model) column.cells.push_back(total_text(totals[i], i < with_precision));
    for (const std::size_t row : run.rows) {
      const Result& result = run.record.entries[row].result;
      const Measurement* measurement = find_measurement(result, conditions);
      const std::string absent(result.failure.empty() ? kAbsent : "failed");
      column.cells.push_back(!measurement         ? absent
                             : i < with_precision ? short_estimate(measurement->time)
                                                  : plain_text(measurement->time));
    }
    columns.push_back(column);
  }
  return columns;
}

const Measurement* first_measurement(const RunPage& run, std::size_t row) {
  if (run.labels.conditions.empty()) return nullptr;
  return find_measurement(run.record.entries[row].result, run.labels.conditions.front());
}

// Returns shares of the model's measured time in the first condition.
std::vector<std::optional<double>> shares_of_first_total(const RunPage& run) {
  if (run.labels.conditions.empty()) return std::vector<std::optional<double>>(run.record.entries.size());
  return shares_of_total(run.record, run.labels.conditions.front());
}

// Returns the recorded time of a call, and this run's change against it; no columns if none was recorded.
Columns recorded_columns(const RunPage& run) {
  TableColumn recorded{std::string(kRecorded), Align::right, {}},
      ratio{"here", Align::right, {}, kSpareRecorded};
  bool any = false;
  for (const std::size_t row : run.rows) {
    const std::optional<Nanoseconds>& time = run.record.entries[row].recorded_time;
    const Measurement* measurement = first_measurement(run, row);
    any = any || time;
    recorded.cells.push_back(time ? time_text(*time) : std::string(kAbsent));
    ratio.cells.push_back(time && measurement ? change_text(measurement->time.median / *time - 1.0)
                                              : std::string(kAbsent));
  }
  return any ? Columns{recorded, ratio} : Columns();
}

// Shows clock and rate of the first condition only: columns for each would be wider than a page.
Columns fact_columns(const RunPage& run) {
  TableColumn clock{"clock", Align::right, {}, kSpareClock}, rate{"rate", Align::right, {}, kSpareRate},
      share{std::string(kOfCeiling), Align::right, {}, kSpareCeiling},
      saving{"could save", Align::right, {}, kSpareSaving}, bound{"bound by", Align::left, {}},
      launch{"launch", Align::right, {}}, first{"first call", Align::right, {}};
  const std::vector<std::optional<double>> shares = shares_of_first_total(run);
  for (const std::size_t row : run.rows) {
    const Result& result = run.record.entries[row].result;
    const Measurement* measurement = first_measurement(run, row);
    std::optional<double> reached;
    if (measurement) reached = reached_of_ceiling(result, measurement->time.median, run.record);
    saving.cells.push_back(reached && shares[row] ? percent_text(*shares[row] * (1.0 - *reached))
                                                  : std::string(kAbsent));
    std::optional<AchievedRate> achieved;
    if (measurement) achieved = achieved_rate(result, measurement->time.median, run.record);
    const bool has_clock = measurement && measurement->clock;
    const auto positive = [](Nanoseconds time) {
      return time.value() > 0 ? duration_text(time) : std::string(kAbsent);
    };
    clock.cells.push_back(has_clock ? clock_text(measurement->clock->median) : std::string(kAbsent));
    rate.cells.push_back(achieved ? rate_text(*achieved) : std::string(kAbsent));
    share.cells.push_back(achieved && achieved->ceiling_share ? share_text(*achieved) : std::string(kAbsent));
    bound.cells.emplace_back(!achieved ? kAbsent : achieved->compute_bound ? "compute" : "memory");
    launch.cells.push_back(positive(result.launch_cost));
    first.cells.push_back(positive(result.first_call));
  }
  Columns columns = recorded_columns(run);
  const Columns facts =
      run.page.details ? Columns{clock, rate, share, bound, launch, first} : Columns{rate, share, clock};
  columns.insert(columns.end(), facts.begin(), facts.end());
  if (is_network(run.record)) {
    const auto reached = std::ranges::find(columns, kOfCeiling, &TableColumn::heading);
    columns.insert(reached + 1, saving);
  }
  return columns;
}

std::string columns_explained(const ConditionLabels& labels, const std::vector<std::string>& shares,
                              bool model) {
  std::string explanation;
  if (!labels.conditions.empty()) {
    explanation += "clock, rate, share and the nearer ceiling are those of " + labels.labels.front() +
                   "; launch: the host's time for one launch call. ";
  }
  const std::string words = ceiling_words_explained(shares);
  if (!words.empty()) explanation += words + ' ';
  if (model) {
    explanation +=
        "share: of the total, which is the sum of the layers' times without the work between them. The ± "
        "of the total adds theirs, since they share the clock.";
  }
  return explanation;
}

Columns operator+(Columns left, const Columns& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// Leaves the total's row empty: only times and shares can be added up.
Columns below_total(Columns columns) {
  for (TableColumn& column : columns) column.cells.insert(column.cells.begin(), std::string());
  return columns;
}

Columns with_total(Columns keys, const RunRecord& record) {
  std::int64_t calls = 0;
  for (const RunEntry& entry : record.entries) add_calls(calls, entry.count);
  keys = below_total(std::move(keys));
  const std::optional<TimedPart> part = smaller_timed_part(record);
  // After Ctrl-C as the line above the table counts them: of those that would have been timed.
  keys[1].cells.front() = part ? fmt::format("{} of {} calls", part->calls,
                                             record.interrupted ? calls_to_time(record) : part->of_calls)
                               : fmt::format("all {}", counted(calls, "call"));
  return keys;
}

// Returns the recorded time of all calls; nullopt if one of them has none.
std::optional<Nanoseconds> recorded_total(const RunRecord& record) {
  Nanoseconds total(0);
  for (const RunEntry& entry : record.entries) {
    if (!entry.recorded_time) return std::nullopt;
    total += *entry.recorded_time * static_cast<double>(entry.count);
  }
  return total;
}

TableColumn share_column(const RunPage& run) {
  TableColumn column{"share", Align::right, {"100 %"}};
  const std::vector<std::optional<double>> shares = shares_of_first_total(run);
  for (const std::size_t row : run.rows) {
    column.cells.push_back(shares[row] ? percent_text(*shares[row]) : std::string(kAbsent));
  }
  return column;
}

std::size_t needed_width(Columns columns) {
  std::erase_if(columns, [](const TableColumn& column) { return column.spare > 0; });
  return table_width(columns);
}

Text without_precision(const RunPage& run, std::size_t with_precision) {
  const auto& labels = run.labels.labels;
  if (with_precision == labels.size()) return {};
  std::vector<std::string> bare(labels.begin() + static_cast<std::ptrdiff_t>(with_precision), labels.end());
  return wrapped(fmt::format("No room for the ± of {}: --details has it.", joined(bare)), run.page.width);
}

// Fits one table to the page by removing spare columns, then ± after the first condition, then all ± and
// share. If the conditions still do not fit, they continue in further tables; beside what a record has, which
// is what its reader compares with, all but the first are left out.
Text page_table(const RunPage& run, bool model) {
  const std::size_t conditions = run.labels.conditions.size();
  const Columns names = key_columns(run, model);
  for (const std::size_t with_precision : {conditions, std::size_t{1}, std::size_t{0}}) {
    Columns keys = names, facts = fact_columns(run);
    if (model) {
      TableColumn share = share_column(run);
      share.spare = with_precision == 0 ? kSpareShare : 0;
      keys = with_total(std::move(keys), run.record) + Columns{share};
      facts = below_total(std::move(facts));
    }
    Columns times = time_columns(run, model, with_precision);
    const bool has_recorded = facts.front().heading == kRecorded;
    if (const auto total = recorded_total(run.record); model && has_recorded && total) {
      facts[0].cells.front() = time_text(*total);
      // Where only some calls were timed, their sum is not comparable with that of all recorded calls.
      const std::vector<NetworkTotal> totals = network_totals(run.record);
      if (!totals.empty() && !smaller_timed_part(run.record))
        facts[1].cells.front() = change_text(totals.front().time / *total - 1.0);
    }
    if (has_recorded && with_precision == 0) {
      for (std::size_t i = 1; i < times.size(); ++i) times[i].spare = kSpareShare;
    }
    const bool fits = needed_width(keys + times + facts) <= run.page.width;
    if (!fits && !(has_recorded && with_precision == 0)) continue;  // long names continue on further lines
    const Text table = fitted_table(keys + times + facts, run.page.width, AllColumns::details);
    const Text bare = without_precision(run, with_precision);
    return table + (table.lines().ends_with("|\n") && !bare.empty() ? "\n" : "") + bare;
  }
  Columns keys = model ? with_total(names, run.record) : names;
  std::erase_if(keys, [](const TableColumn& column) { return column.spare > 0; });
  return split_tables(keys, time_columns(run, model, conditions), run.page.width);
}

Text left_out_text(const RunPage& run, bool model) {
  const std::size_t left_out = run.record.entries.size() - run.rows.size();
  if (left_out == 0) return {};
  const std::size_t all = run.record.entries.size();
  const bool is_recorded = std::ranges::any_of(
      run.record.entries, [](const RunEntry& entry) { return entry.recorded_time.has_value(); });
  std::string text = fmt::format("The {} {} of {} operations; the other {}", run.rows.size(),
                                 is_recorded ? "that took longest in the record" : "slowest", all, left_out);
  if (!model) text += " are left out";
  if (model && is_recorded) {
    Nanoseconds recorded(0), shown(0);
    const auto of_entry = [](const RunEntry& entry) {
      return entry.recorded_time.value_or(Nanoseconds(0)) * static_cast<double>(entry.count);
    };
    for (const RunEntry& entry : run.record.entries) recorded += of_entry(entry);
    for (const std::size_t row : run.rows) shown += of_entry(run.record.entries[row]);
    text += fmt::format(" took {} of the recorded time",
                        percent_text(recorded > Nanoseconds(0) ? 1.0 - shown / recorded : 0.0));
  } else if (model) {
    std::vector<std::optional<double>> shares = shares_of_first_total(run);
    for (const std::size_t row : run.rows) shares[row].reset();
    double share = 0.0;
    for (const auto& each : shares) share += each.value_or(0.0);
    text += fmt::format(" take {} of the total", percent_text(share));
  }
  return wrapped(text + ": --top all shows them, --details all that is known of each.", run.page.width);
}

// Ends with how far the instrument may be off in the sum, in every process alike.
std::string total_explained(const RunRecord& record) {
  std::string text =
      std::string(kTotalExplained) +
      (record.sequence ? "one pass as a whole is below (In sequence)." : "--in-sequence times a whole pass.");
  std::optional<Nanoseconds> largest;
  for (const NetworkTotal& total : network_totals(record)) {
    const TimeEstimate time = estimate_of(total);
    if (!has_interval(time)) continue;
    const std::optional<Nanoseconds> error = instrument_error_beside(time, total.instrument_error);
    if (error && (!largest || *error > *largest)) largest = error;
  }
  if (largest) text += fmt::format(" Beside its ±: instrument ± {}.", time_text(*largest, 0.05));
  return text;
}

Text detailed_tables(const RunPage& run, bool model) {
  Columns keys = key_columns(run, model);
  for (TableColumn& column : keys) column.spare = 0;
  const Columns short_keys = model ? Columns{keys[0], keys[1]} : keys;
  Columns facts = fact_columns(run), times = time_columns(run, model, run.labels.conditions.size());
  Text text;
  if (model) {
    const Columns timed_keys = with_total(short_keys, run.record) + Columns{share_column(run)};
    text = split_tables({keys[0]}, Columns{keys[2]}, run.page.width) + '\n' +
           split_tables(timed_keys, times, run.page.width);
  } else {
    text = split_tables(short_keys, times, run.page.width);
  }
  text += '\n' + split_tables(short_keys, facts, run.page.width);
  const auto shares = std::ranges::find(facts, kOfCeiling, &TableColumn::heading);
  const std::string explanation = columns_explained(run.labels, shares->cells, model);
  return explanation.empty() ? text : text + '\n' + wrapped(explanation, run.page.width);
}

}  // namespace

Text several_operations_table(const RunPage& run) {
  const bool model = is_network(run.record);
  const Text total = model ? wrapped(total_explained(run.record), run.page.width) : Text();
  return sections({run.page.details ? detailed_tables(run, model) : page_table(run, model),
                   left_out_text(run, model) + total, cold_below_warm_line(run)});
}

namespace {

std::string place_text(const LayerInSequence& layer) {
  std::string time = estimate_text(layer.in_place);
  if (layer.fastest == layer.slowest) return time;
  return fmt::format("{} ({})", time, time_range_text(layer.fastest, layer.slowest));
}

// Names the load only if there are two.
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

// Shows times in place. By default names only the nearest time alone; with details shows all of them.
Text times_table(const RunPage& run, const std::vector<LayerInSequence>& layers) {
  TableColumn number{"#", Align::right, {}}, name{"operation", Align::left, {}},
      calls{"calls", Align::right, {}}, place{"in place", Align::right, {}},
      nearest{"nearest to", Align::left, {}, 1}, difference{"against it", Align::right, {}, 2};
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

// Lists the reasons below the table, because sentences do not fit in a column.
Text reasons(const RunPage& run, const std::vector<LayerInSequence>& layers) {
  Text text;
  for (const LayerInSequence& layer : layers) {
    // The table already says "as cold".
    const bool is_said = !run.page.details && layer.nearest &&
                         layer.reason == fmt::format("as {}", to_string(layer.nearest->cache));
    if (layer.reason.empty() || is_said) continue;
    text += list_item(fmt::format("{}: {}", row_name(run, layer.result), layer.reason), run.page.width);
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

// A time of some of the calls is not a time of the network.
std::string pass_text(const SequenceMeasurement& sequence) {
  const std::int64_t timed = calls_timed(sequence);
  const std::int64_t all = std::ssize(sequence.calls);
  std::string text =
      timed == all ? fmt::format("all {} calls", all) : fmt::format("only {} of {} calls", timed, all);
  text += fmt::format(
      " in their order, {}; short passes with idle between{}; {} read by {}, {} {}; ",
      sequence.is_connected ? "each reading what the ones before it wrote"
                            : "each with memory of its own, since the file does not say what reads what",
      sequence.queue == QueueMode::eager ? ", each call launched when the one before has ended" : "",
      sequence.instrument == Instrument::cupti ? "first kernel's start to last kernel's end" : "times",
      to_string(sequence.instrument), sequence.iteration.rounds,
      sequence.iteration.rounds == 1 ? "pass" : "passes");
  text += timed == all ? fmt::format("one pass as a whole takes {}", estimate_text(sequence.iteration))
                       : fmt::format("these {} calls take {}, which is not the time of the network", timed,
                                     estimate_text(sequence.iteration));
  if (sequence.clock) text += ", at " + clock_text(*sequence.clock);
  return text + '.';
}

std::string unwritten_text(const SequenceMeasurement& sequence) {
  const auto calls = std::ranges::count_if(
      sequence.calls, [](const SequenceCall& call) { return call.time.rounds > 0 && call.unwritten > 0; });
  if (calls == 0) return {};
  return fmt::format(
      "{} of them {} data that no call of the sequence wrote: its writer is not timed, or it is an operator of "
      "PyTorch, which has memory of its own. Random numbers are there instead, and they are not in the "
      "cache as "
      "they would be in the network.",
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

Text sequence_section(const RunPage& run) {
  if (!run.record.sequence) return {};
  const SequenceMeasurement& sequence = *run.record.sequence;
  const bool is_timed = calls_timed(sequence) > 0;
  Text text = wrapped(
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

// Below: times at the requested clock, so that runs at different clocks can be compared.

namespace {

std::string why_not_known(const Measurement& measurement) {
  if (!measurement.clock) return "not known, since no clock was read";
  const ClockEstimate& clock = *measurement.clock;
  const std::string range =
      clock_text(clock.low) == clock_text(clock.high)
          ? clock_text(clock.low)
          : fmt::format("{:.0f} to {}", clock.low.value() * 1e-6, clock_text(clock.high));
  return fmt::format("not known: the rounds ran at {}, which does not tell how the time follows the clock",
                     range);
}

std::string time_at_clock(const Measurement& measurement) {
  return measurement.at_reference_clock ? time_at_reference_text(*measurement.at_reference_clock)
                                        : why_not_known(measurement);
}

}  // namespace

std::string time_at_reference_text(const TimeAtReferenceClock& at) {
  // A fit has an interval from its tenth round on.
  const TimeEstimate estimate{at.time, at.low, at.high, std::numeric_limits<std::int64_t>::max()};
  return estimate_text(estimate) + (at.extrapolated ? ", extrapolated: no round ran near that clock" : "");
}

Text reference_clock_section(const RunPage& run) {
  Text text;
  std::optional<Hertz> asked;
  for (const std::size_t row : run.rows) {
    std::vector<std::string> times;
    for (std::size_t i = 0; i < run.labels.conditions.size(); ++i) {
      const Measurement* measurement =
          find_measurement(run.record.entries[row].result, run.labels.conditions[i]);
      if (measurement == nullptr || !measurement->reference_clock_asked) continue;
      asked = measurement->reference_clock_asked;
      times.push_back(fmt::format("{} {}", run.labels.labels[i], time_at_clock(*measurement)));
    }
    if (times.empty()) continue;
    const std::string name = run.record.entries.size() == 1 ? std::string() : row_name(run, row) + ": ";
    text += list_item(name + joined(times, "; "), run.page.width);
  }
  if (text.empty()) return text;
  return fmt::format("Times at {}:\n\n", clock_text(*asked)) + text;
}

namespace {

std::string clocks_text(const IterationRun& run) {
  if (run.clocks.empty()) return std::string(kAbsent);
  if (run.clocks.size() == 1) return clock_text(run.clocks.front().clock);
  const auto [lowest, highest] =
      std::ranges::minmax_element(run.clocks, {}, &IterationRun::ClockPoint::clock);
  return fmt::format("{:.0f} to {}, {:.0f}–{}", run.clocks.front().clock.value() * 1e-6,
                     clock_text(run.clocks.back().clock), lowest->clock.value() * 1e-6,
                     clock_text(highest->clock));
}

Text table(const std::vector<IterationRun>& runs, std::size_t width) {
  std::array<TableColumn, 7> columns = {{{"launches", Align::right, {}},
                                         {"first", Align::right, {}},
                                         {"minimum", Align::right, {}},
                                         {"mean", Align::right, {}},
                                         {"maximum", Align::right, {}},
                                         {"first call on the host", Align::right, {}},
                                         {"clock: first to last, range", Align::left, {}}}};
  for (const IterationRun& run : runs) {
    const std::array<std::string, 7> cells = {std::to_string(run.count), time_text(run.first),
                                              time_text(run.minimum),    time_text(run.mean),
                                              time_text(run.maximum),    duration_text(run.first_launch_call),
                                              clocks_text(run)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  return split_tables({columns.front()}, std::span(columns).subspan(1), width);
}

}  // namespace

Text iterations_section(const RunPage& run) {
  Text text;
  for (const std::size_t row : run.rows) {
    const Result& result = run.record.entries[row].result;
    if (result.iterations.empty()) continue;
    const std::string name =
        run.record.entries.size() == 1 ? "" : fmt::format(" of #{} {}", row + 1, run.names[row]);
    if (!text.empty()) text += '\n';
    text +=
        wrapped(fmt::format(
                    "Loops{}: operands and plan are made anew, the device is idle for 1 s, and then so many "
                    "launches follow "
                    "as in a program, each between two events (less their constant).",
                    name),
                run.page.width) +
        '\n' + table(result.iterations, run.page.width);
  }
  return text;
}

}  // namespace jitterscope
