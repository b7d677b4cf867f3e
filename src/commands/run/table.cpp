#include "commands/run/table.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/run/record.hpp"
#include "measure/estimate.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/run_record.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/words.hpp"

namespace jitterscope {
namespace {

struct ClockRange {
  Hertz low, high;
};

std::optional<ClockRange> measured_clocks(const RunRecord& record) {
  std::optional<ClockRange> range;
  for (const Result& result : results_of(record)) {
    for (const Measurement& measurement : result.measurements) {
      if (!measurement.clock) continue;
      const Hertz clock = measurement.clock->median;
      if (!range) range = {clock, clock};
      range = {std::min(range->low, clock), std::max(range->high, clock)};
    }
  }
  return range;
}

std::string device_line(const RunRecord& record) {
  const DeviceDescription& device = record.device;
  std::vector<std::string> facts;
  if (const auto range = measured_clocks(record)) {
    const std::string low = clock_text(range->low), high = clock_text(range->high);
    facts.push_back("clock " + (low == high ? low : low + " to " + high));
  }
  if (device.maximum_clock) facts.push_back("maximum " + clock_text(*device.maximum_clock));
  if (device.power_limit) facts.push_back(fmt::format("power limit {:.0f} W", device.power_limit->value()));
  std::string line = record.title.empty() ? "" : fmt::format("**{}** on ", one_line(record.title));
  line += device.name.empty() ? "this device" : one_line(device.name);
  if (!device.id.empty()) line += fmt::format(" ({})", device.id);
  if (!facts.empty()) line += "; " + joined(facts);
  return line + '.';
}

std::string ceilings_line(const Ceilings& ceilings) {
  std::vector<std::string> parts;
  if (ceilings.bytes_per_second) {
    parts.push_back(fmt::format("{} (copy)", rate_text(*ceilings.bytes_per_second, "B/s")));
  }
  for (const Ceilings::Compute& compute : ceilings.compute) {
    parts.push_back(
        fmt::format("{} ({})", rate_text(compute.flops_per_second, "FLOP/s"), one_line(compute.operation)));
  }
  return parts.empty() ? "" : "Ceilings measured here: " + joined(parts) + ".";
}

Text header_details(const RunPage& run) {
  Text text;
  if (!run.labels.conditions.empty()) {
    text += wrapped("Time of one launch: the median over rounds; ± is half of its 95 % interval. " +
                        explain_conditions(run.labels) + ".",
                    run.page.width);
  }
  const std::string ceilings = ceilings_line(run.record.ceilings);
  return ceilings.empty() ? text : text + wrapped(ceilings, run.page.width);
}

Text common_text(const std::string& common, std::size_t width) {
  if (common.empty()) return {};
  return wrapped("The same in all operations: " + common + '.', width);
}

// What the record itself says, before anything is timed: how busy the GPU was, and what is left out here.
Text recorded_use_section(const RunPage& run) {
  const std::optional<RecordedUse>& use = run.record.recorded_use;
  if (!use) return {};
  std::string text =
      fmt::format("**Recorded**: {}, in which the GPU worked {} and idled {}", time_text(use->length),
                  percent_text(use->busy), percent_text(1.0 - use->busy));
  std::string causes;
  for (const RecordedUse::Idle& idle : use->idle) {
    if (idle.share >= 0.01)
      causes +=
          fmt::format("{}{} {}", causes.empty() ? "" : ", ", one_line(idle.cause), percent_text(idle.share));
  }
  if (!causes.empty()) text += fmt::format(" ({})", causes);
  if (use->conversions >= 0.01) {
    text += fmt::format(
        ". Conversions between NCHW and NHWC took {} of its work: a model and inputs in channels_last need none",
        percent_text(use->conversions));
  }
  return wrapped(fmt::format("{}. More: `jitterscope capture show {}`.", text, one_line(run.record.title)),
                 run.page.width);
}

}  // namespace

std::vector<std::size_t> shown_rows(const RunRecord& record, const ConditionLabels& labels,
                                    const Page& page) {
  std::vector<std::size_t> rows(record.entries.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (!page.top || labels.conditions.empty()) return rows;
  const bool is_recorded = std::ranges::any_of(
      record.entries, [](const RunEntry& entry) { return entry.recorded_time.has_value(); });
  // A failed operation has no time; it is listed under "Failed".
  const auto time = [&](std::size_t row) {
    const RunEntry& entry = record.entries[row];
    // The order of the program that was recorded, where one was: what it spent its time on.
    if (is_recorded) return entry.recorded_time.value_or(Nanoseconds(0)) * static_cast<double>(entry.count);
    const Measurement* measurement = find_measurement(entry.result, labels.conditions.front());
    return measurement ? measurement->time.median * static_cast<double>(entry.count) : Nanoseconds(0);
  };
  std::ranges::stable_sort(rows, std::ranges::greater(), time);
  rows.resize(std::min(rows.size(), *page.top));
  return rows;
}

std::string row_name(const RunPage& run, std::size_t row) {
  const std::vector<std::string>& layers = run.record.entries[row].layers;
  std::string name = layers.empty() ? run.names[row] : one_line(layers.front());
  if (run.record.entries.size() == 1) return name;
  return fmt::format("#{} {}", row + 1, name);
}

Text device_note(const RunPage& run) {
  return run.record.device_note.empty() ? "" : wrapped(one_line(run.record.device_note), run.page.width);
}

Text run_header(const RunPage& run) {
  const RunRecord& record = run.record;
  // The line to quote has the device and the clock.
  const bool is_quoted = record.entries.size() == 1 && !run.labels.conditions.empty();
  const bool anything = !record.title.empty() || !record.device.id.empty();
  Text text;
  if (anything && (run.page.details || !is_quoted)) text = wrapped(device_line(record), run.page.width);
  return run.page.details ? text + header_details(run) : text;
}

Text run_table(const RunRecord& record, const Page& page) {
  std::vector<std::string> operations;
  for (const Result& result : results_of(record)) operations.push_back(one_line(to_string(result.subject)));
  OperationLabels names = label_operations(operations);
  ConditionLabels labels = label_conditions(record);
  std::vector<std::size_t> rows = shown_rows(record, labels, page);
  const RunPage run{record, std::move(labels), std::move(names.labels), std::move(rows), page};
  const bool several = record.entries.size() > 1;
  Text head = sections({device_note(run), run_header(run)});
  if (const Text recorded = recorded_use_section(run); !recorded.empty()) head += "\n" + recorded + "\n";
  if (several) head += smaller_part_line(run) + common_text(names.common, page.width);
  const Text measured = record.entries.empty() ? "Nothing was measured.\n"
                        : several              ? sections({advice_line(run), several_operations_table(run),
                                                           where_to_work_section(run), engines_section(run)})
                                               : single_operation_table(run);
  return sections({head, measured, reference_clock_section(run), kernels_section(run), counters_section(run),
                   iterations_section(run), sequence_section(run), record_section(run), findings_section(run),
                   run_notes(run)});
}

namespace {

std::string known(const std::string& text) { return text.empty() ? std::string(kAbsent) : text; }

// Returns "warm burst", with the data and the queue if they are not the defaults.
std::string quoted_conditions(const RunPage& run, const Conditions& conditions, const std::string& label) {
  std::string text = label;
  const bool differs = run.labels.conditions.size() > 1;
  // The data of a caller's own operands is unknown and is not named.
  if (conditions.data && conditions.data != DataKind::normal) {
    const std::string data(data_word(conditions));
    if (!differs || label.find(data) == std::string::npos) text += ' ' + data;
  }
  if (conditions.queue != QueueMode::saturated) {
    const std::string queue(to_string(conditions.queue));
    if (label.find(queue) == std::string::npos) text += ' ' + queue;
  }
  return text;
}

std::int64_t calls_of(const RunPage& run) { return run.record.entries.front().count; }

std::string all_calls_words(const RunPage& run) { return fmt::format("all {} calls", calls_of(run)); }

// Returns "124.9 µs ± 0.15 %"; without ± if the interval is not symmetric enough.
std::string median_text(const TimeEstimate& time) {
  return has_interval(time) && !reads_as_plus_minus(time) ? time_text(time.median, time.precision())
                                                          : estimate_text(time);
}

std::string instrument_beside_text(const TimeEstimate& time, Nanoseconds error) {
  const std::optional<Nanoseconds> beside = instrument_error_beside(time, error);
  return beside ? ", instrument ± " + time_text(*beside, 0.05) : std::string();
}

// Returns "124.9 µs ± 0.15 % (95 % interval 124.6–125.0 µs)", for one launch.
std::string launch_text(const Measurement& measurement) {
  const TimeEstimate& time = measurement.time;
  std::string text = median_text(time);
  if (!has_interval(time)) return text;
  text += fmt::format(" (95 % interval {}", time_range_text(time.low, time.high, time.precision()));
  return text + instrument_beside_text(time, instrument_error(measurement)) + ')';
}

// Returns "698.9 µs ± 0.4 % for all 12 calls (95 % interval 696–701 µs)".
std::string all_calls_text(const RunPage& run, const NetworkTotal& total) {
  const TimeEstimate time = estimate_of(total);
  if (!has_interval(time)) return fmt::format("{} for {}", total_estimate_text(total), all_calls_words(run));
  return fmt::format("{} for {} (95 % interval {}{})", median_text(time), all_calls_words(run),
                     time_range_text(time.low, time.high, time.precision()),
                     instrument_beside_text(time, total.instrument_error));
}

// Returns all that is needed to quote a number: "124.9 µs ± 0.15 % (95 % interval 124.6–125.0 µs), warm
// burst, 1704 MHz, NVIDIA H200, jitterscope 0.1.0".
Text words_to_quote(const RunPage& run) {
  const Measurement& measurement =
      *find_measurement(run.record.entries.front().result, run.labels.conditions.front());
  std::vector<std::string> parts = {
      calls_of(run) > 1 ? all_calls_text(run, network_totals(run.record).front()) : launch_text(measurement)};
  parts.push_back(quoted_conditions(run, measurement.conditions, run.labels.labels.front()));
  if (!measurement.processes.empty()) {
    parts.push_back(fmt::format("{} processes", measurement.processes.size()));
  }
  if (!has_settled(measurement)) parts.emplace_back("not steady");
  if (measurement.clock) parts.push_back(clock_text(measurement.clock->median));
  if (!run.record.device.name.empty()) parts.push_back(one_line(run.record.device.name));
  if (!run.record.environment.tool_version.empty()) {
    parts.push_back("jitterscope " + run.record.environment.tool_version);
  }
  return wrapped(joined(parts), run.page.width);
}

// Describes one of several calls: "One of the 12 calls: 58.24 µs ± 0.12 % (…), linear:n=…".
Text one_call_line(const RunPage& run) {
  if (calls_of(run) < 2) return {};
  const Result& result = run.record.entries.front().result;
  return wrapped(fmt::format("One of the {} calls: {}, {}.", calls_of(run),
                             launch_text(*find_measurement(result, run.labels.conditions.front())),
                             one_line(to_string(result.subject))),
                 run.page.width);
}

Text work_line(const RunPage& run, const Result& result) {
  const std::size_t width = run.page.width;
  std::vector<std::string> work;
  // A simulated GPU runs no library's kernels.
  if (!result.provider.empty() && !run.record.device.capabilities.is_simulated)
    work.push_back("run by " + engine_text(result));
  if (result.flops > 0) work.push_back(rate_text(result.flops, "FLOP"));
  if (result.bytes.value() > 0) work.push_back("at least " + bytes_text(result.bytes) + " to move");
  if (result.workspace.value() > 0) work.push_back("workspace " + bytes_text(result.workspace));
  const std::string whose = calls_of(run) == 1 ? "Work: " : "Work of one call: ";
  Text text = work.empty() ? Text() : wrapped(whose + joined(work) + '.', width);
  if (result.stand_in) text += wrapped(std::string(kStandInExplained), width);
  return text;
}

Text costs_line(const Result& result, std::size_t width) {
  std::vector<std::string> costs;
  if (result.launch_cost.value() > 0)
    costs.push_back("launch on the host " + duration_text(result.launch_cost));
  if (result.first_call.value() > 0) costs.push_back("first call " + duration_text(result.first_call));
  if (result.prepare_time.value() > 0) costs.push_back("preparation " + duration_text(result.prepare_time));
  return costs.empty() ? Text() : wrapped("Costs not included in the times: " + joined(costs) + '.', width);
}

Align align_of(std::string_view heading) {
  return heading == "conditions" || heading == "read by" ? Align::left : Align::right;
}

struct Cell {
  std::string_view heading;
  std::string text;
  int spare = 0;
};

// Makes a row for each condition, with the same cells in each.
std::vector<TableColumn> columns_of(const RunPage& run,
                                    const std::function<std::vector<Cell>(const Measurement&)>& cells_of) {
  std::vector<TableColumn> columns;
  for (const Conditions& conditions : run.labels.conditions) {
    const std::vector<Cell> cells =
        cells_of(*find_measurement(run.record.entries.front().result, conditions));
    columns.resize(cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      columns[i].heading = cells[i].heading;
      columns[i].align = align_of(cells[i].heading);
      columns[i].spare = cells[i].spare;
      columns[i].cells.push_back(known(cells[i].text));
    }
  }
  return columns;
}

TableColumn condition_column(const RunPage& run) { return {"conditions", Align::left, run.labels.labels}; }

// Shows the spread between processes; for one process its own part of the interval.
Cell spread_cell(const Measurement& measurement) {
  if (!measurement.processes.empty()) {
    return {"processes differ by", percent_text(measurement.process_variation.placed)};
  }
  const double own = measurement.repeatability.precision();
  return {"this process alone", std::isfinite(own) ? "± " + percent_text(own) : ""};
}

std::vector<Cell> time_cells(const RunPage& run, const Measurement& measurement) {
  const TimeEstimate& time = measurement.time;
  const Distribution& launches = measurement.launches;
  // Single launches spread more than the median is uncertain: four digits are enough.
  const double spread_precision = std::max(time.precision(), 0.002);
  const auto rate = achieved_rate(run.record.entries.front().result, time.median, run.record);
  const bool any = launches.values > 0;
  std::vector<Cell> cells = {{calls_of(run) > 1 ? "one call" : "median", estimate_text(time)}};
  if (run.page.details) {
    cells.push_back(
        {"95 % interval", has_interval(time) ? time_range_text(time.low, time.high, time.precision()) : ""});
    cells.push_back({"p5–p95", any ? time_range_text(launches.p5, launches.p95, spread_precision) : ""});
    cells.push_back(spread_cell(measurement));
    cells.push_back({"minimum", any ? time_text(launches.minimum, spread_precision) : ""});
    cells.push_back({"maximum", any ? time_text(launches.maximum, spread_precision) : ""});
  } else {
    cells.push_back({"clock", measurement.clock ? clock_text(measurement.clock->median) : "", 1});
  }
  cells.push_back({"rate", rate ? rate_text(*rate) : "", 2});
  cells.push_back({"of ceiling", rate ? share_text(*rate) : "", 3});
  return cells;
}

Text times_table(const RunPage& run) {
  std::vector<TableColumn> columns =
      columns_of(run, [&](const Measurement& measurement) { return time_cells(run, measurement); });
  if (calls_of(run) > 1) {
    TableColumn sums{all_calls_words(run), Align::right, {}};
    for (const NetworkTotal& total : network_totals(run.record))
      sums.cells.push_back(total_estimate_text(total));
    columns.insert(columns.begin(), std::move(sums));
  }
  std::vector<TableColumn> all = {condition_column(run)};
  all.insert(all.end(), columns.begin(), columns.end());
  Text text = run.page.details ? split_tables({all.front()}, columns, run.page.width)
                               : fitted_table(all, run.page.width, AllColumns::details);
  const std::vector<std::string>& shares = columns.back().cells;
  const std::string explained = ceiling_words_explained(shares);
  if (!explained.empty()) text += '\n' + wrapped(explained, run.page.width);
  if (!run.page.details || calls_of(run) < 2) return text;
  return text + '\n' +
         wrapped(
             "The time of all calls is the sum of theirs, without the work between them. Its ± adds theirs.",
             run.page.width);
}

std::string reference_text(const Measurement& measurement) {
  if (!measurement.at_reference_clock) return {};
  const TimeAtReferenceClock& at = *measurement.at_reference_clock;
  return fmt::format("{} at {}{}", estimate_text({at.time, at.low, at.high, measurement.time.rounds}),
                     clock_text(at.reference), at.extrapolated ? ", extrapolated" : "");
}

// Empty if the share is uncertain by half of the time or more.
std::string clock_share_text(const Measurement& measurement) {
  constexpr double kWellKnown = 0.1, kKnown = 0.5;
  if (!measurement.at_reference_clock) return {};
  const TimeAtReferenceClock& at = *measurement.at_reference_clock;
  const double low = std::max(0.0, at.clock_share - 2.0 * at.clock_share_error);
  const double high = std::min(1.0, at.clock_share + 2.0 * at.clock_share_error);
  if (high - low > kKnown) return {};
  if (high - low > kWellKnown) {
    return fmt::format("{:.0f}–{:.0f} % of the time follows the clock", 100 * low, 100 * high);
  }
  std::string share = percent_text(at.clock_share) + " of the time follows the clock";
  if (at.clock_share >= 1.0) return share;
  return fmt::format("{}; {} does not", share, time_text(at.fixed_part, 0.02));
}

std::string instrument_text(const Measurement& measurement) {
  const InstrumentConstant& constant = measurement.constant;
  std::string text(to_string(measurement.instrument));
  const bool is_grouped = measurement.instrument == Instrument::events && !measurement.rounds.empty() &&
                          measurement.rounds.front().launches_per_value > 1;
  if (is_grouped) text += fmt::format(" of {} launches", measurement.rounds.front().launches_per_value);
  if (constant.value > Nanoseconds(0)) {
    text += ", less " + time_with_error_text(constant.value, constant.uncertainty);
  } else if (constant.uncertainty > Nanoseconds(0)) {
    text += ", ± " + time_text(constant.uncertainty, 0.05);
  }
  return text;
}

std::string rounds_text(const Measurement& measurement) {
  if (measurement.rounds.empty()) return {};
  const Round& round = measurement.rounds.back();
  const auto values = static_cast<std::int64_t>(round.launches.size());
  return fmt::format("{} × {}", measurement.rounds.size(), values * round.launches_per_value);
}

Text method_table(const RunPage& run) {
  const std::vector<TableColumn> columns = columns_of(run, [](const Measurement& measurement) {
    return std::vector<Cell>{
        {"clock", measurement.clock ? clock_text(measurement.clock->median) : ""},
        {"time at reference clock", reference_text(measurement)},
        {"cycles", measurement.cycles ? fmt::format("{:.0f}", measurement.cycles->value()) : ""},
        {"rounds × launches", rounds_text(measurement)},
        {"read by", instrument_text(measurement)}};
  });
  return split_tables({condition_column(run)}, columns, run.page.width);
}

struct ColdBelowWarm {
  std::size_t row;
  const Measurement *cold, *warm;

  double change() const { return cold->time.median / warm->time.median - 1.0; }
  bool is_beyond_intervals() const { return cold->time.high < warm->time.low; }
};

// Returns the cold times that are below the warm ones, which readers otherwise take for a fault.
std::vector<ColdBelowWarm> colds_below_warm(const RunRecord& record) {
  std::vector<ColdBelowWarm> found;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const Result& result = record.entries[row].result;
    for (const Measurement& cold : result.measurements) {
      if (cold.conditions.cache != CacheState::cold || !has_interval(cold.time)) continue;
      Conditions conditions = cold.conditions;
      conditions.cache = CacheState::warm;
      const Measurement* warm = find_measurement(result, conditions);
      if (warm == nullptr || !has_interval(warm->time) || cold.time.median >= warm->time.median) continue;
      found.push_back({row, &cold, warm});
    }
  }
  return found;
}

constexpr const char* kWhyColdIsFaster =
    "Eviction also writes back what the last launch left modified in the cache; a warm launch may have to do "
    "that within its own time.";

std::string cold_below_warm(const ColdBelowWarm& found) {
  const Measurement &cold = *found.cold, &warm = *found.warm;
  const std::string load(to_string(cold.conditions.load));
  const std::string change = change_text(found.change());
  if (!found.is_beyond_intervals()) {
    return fmt::format(
        "cold {0} is not slower than warm {0}: the difference ({1}) is within ±, so "
        "caches do not matter here.",
        load, change);
  }
  const std::string faster =
      fmt::format("cold {0} is faster than warm {0}: {1}, beyond both ±.", load, change);
  if (cold.cycles && warm.cycles && *cold.cycles >= *warm.cycles) {
    return fmt::format("{} It ran at a higher clock ({} against {}); in cycles it is not faster ({}).",
                       faster, clock_text(cold.clock->median), clock_text(warm.clock->median),
                       change_text(cold.cycles->value() / warm.cycles->value() - 1.0));
  }
  return faster + " So cached operands are no gain here. " + kWhyColdIsFaster;
}

// Reports what one number cannot: several modes, and whether a sustained load settled.
Text remarks(const RunPage& run) {
  const ConditionLabels& labels = run.labels;
  Text text;
  for (std::size_t i = 0; i < labels.conditions.size(); ++i) {
    const Measurement& measurement =
        *find_measurement(run.record.entries.front().result, labels.conditions[i]);
    if (measurement.modes.size() > 1) {
      text += wrapped(
          fmt::format("{}: {} modes, {}.", labels.labels[i], measurement.modes.size(),
                      modes_text(measurement.modes, measurement.recurrence, measurement.launches.mean)),
          run.page.width);
    }
    if (measurement.steadiness) {
      const Steadiness& steadiness = *measurement.steadiness;
      text += wrapped(fmt::format("{}: {} after {}, {} of the operation watched.", labels.labels[i],
                                  to_string(steadiness.verdict), duration_text(steadiness.settled_after),
                                  duration_text(steadiness.watched)),
                      run.page.width);
    }
    const std::string share = clock_share_text(measurement);
    if (!share.empty()) text += wrapped(fmt::format("{}: {}.", labels.labels[i], share), run.page.width);
  }
  return text;
}

}  // namespace

std::string total_estimate_text(const NetworkTotal& total) {
  const TimeEstimate time = estimate_of(total);
  return has_interval(time) ? estimate_text(time) : time_text(total.time) + ", no interval";
}

Text smaller_part_line(const RunPage& run) {
  const std::optional<TimedPart> part = smaller_timed_part(run.record);
  if (!part) return {};
  if (run.record.interrupted) {
    return wrapped(fmt::format("**Interrupted** when {} of {} calls were timed{}.", part->calls,
                               calls_to_time(run.record),
                               is_network(run.record) ? ", so there is no time of the whole" : ""),
                   run.page.width);
  }
  const std::string of_time =
      part->of_gpu_time ? fmt::format(" and {} of its GPU time", percent_text(*part->of_gpu_time)) : "";
  return wrapped(
      fmt::format("Only {} of the {} calls of the record{} are timed, so there is no time of the whole.{}",
                  part->calls, part->of_calls, of_time,
                  run.record.entries.size() > 1 ? " Shares are of these." : ""),
      run.page.width);
}

Text cold_below_warm_line(const RunPage& run) {
  const std::size_t most_named = run.page.details ? 10 : 1;
  std::vector<ColdBelowWarm> found = colds_below_warm(run.record);
  std::erase_if(found, [](const ColdBelowWarm& each) { return !each.is_beyond_intervals(); });
  if (found.empty()) return {};
  std::ranges::stable_sort(found, {}, &ColdBelowWarm::change);
  std::vector<std::string> named;
  for (const ColdBelowWarm& each : found) {
    if (named.size() == most_named) {
      named.push_back(fmt::format("{} more", found.size() - most_named));
      break;
    }
    const bool is_by_clock =
        each.cold->cycles && each.warm->cycles && *each.cold->cycles >= *each.warm->cycles;
    named.push_back(fmt::format("{} {} ({}{})", row_name(run, each.row), change_text(each.change()),
                                to_string(each.cold->conditions.load),
                                is_by_clock ? ", at a higher clock; in cycles not faster" : ""));
  }
  return wrapped(
      fmt::format("Cold is faster than warm, beyond both ±: {}{}", joined(named),
                  run.page.details ? std::string(". ") + kWhyColdIsFaster
                                   : ": eviction also writes back what a warm launch may have to."),
      run.page.width);
}

Text single_operation_table(const RunPage& run) {
  const Result& result = run.record.entries.front().result;
  const std::string operation = one_line(to_string(result.subject)), title = one_line(run.record.title);
  const bool any = !run.labels.conditions.empty();
  Text head, work;
  if (any) {
    const Text part = smaller_part_line(run);
    if (!run.page.is_html) head = "**" + (title.empty() ? operation : title) + "**\n";
    if (!part.empty()) head += part;
    if (part.empty() && !run.page.is_html) head += words_to_quote(run);
    work = one_call_line(run);
  }
  if (run.page.details) {
    if (operation != title && calls_of(run) == 1) work += operation + '\n';
    work += costs_line(result, run.page.width);
  }
  work += work_line(run, result);
  if (!any) return work;
  Text cold;
  for (const ColdBelowWarm& each : colds_below_warm(run.record))
    cold += wrapped(cold_below_warm(each), run.page.width);
  const Text text = sections({head, work, times_table(run), cold});
  return run.page.details ? sections({text, method_table(run), remarks(run)}) : text;
}

namespace {

// Returns "0.07 ms of the 8.49 ms of GPU time recorded (0.83 %)"; empty if no time was recorded.
std::string share_text(const std::vector<UntimedOperator>& untimed,
                       const std::optional<Nanoseconds>& recorded) {
  if (!recorded || !(recorded->value() > 0)) return {};
  Nanoseconds total;
  for (const UntimedOperator& each : untimed) total += each.recorded_time.value_or(Nanoseconds(0));
  return fmt::format("{} of the {} of GPU time recorded ({})", time_text(total), time_text(*recorded),
                     percent_text(total / *recorded));
}

}  // namespace

Text untimed_text(const std::vector<UntimedOperator>& untimed,
                  const std::optional<Nanoseconds>& recorded_gpu_time, std::size_t width) {
  if (untimed.empty()) return {};
  std::vector<UntimedOperator> sorted = untimed;
  std::ranges::stable_sort(sorted, [](const UntimedOperator& a, const UntimedOperator& b) {
    return a.recorded_time.value_or(Nanoseconds(0)) > b.recorded_time.value_or(Nanoseconds(0));
  });
  // Most operators share one of a few reasons, which are sentences.
  std::vector<std::string> reasons;
  for (const UntimedOperator& each : sorted) {
    if (std::ranges::find(reasons, each.why()) == reasons.end()) reasons.push_back(each.why());
  }
  Text text = "Not timed, with their calls:\n\n";
  for (const std::string& reason : reasons) {
    std::vector<std::string> names;
    for (const UntimedOperator& each : sorted) {
      if (each.why() != reason) continue;
      const bool has_share = each.recorded_time && recorded_gpu_time && recorded_gpu_time->value() > 0;
      names.push_back(fmt::format("{} ×{}", one_line(each.name), each.count));
      if (has_share)
        names.back() += fmt::format(" ({})", percent_text(*each.recorded_time / *recorded_gpu_time));
    }
    text += list_item(fmt::format("{}: {}", one_line(reason), joined(names)), width);
  }
  const std::string share = share_text(untimed, recorded_gpu_time);
  if (!share.empty()) text += '\n' + wrapped(fmt::format("Not timed: {}.", share), width);
  return text;
}

namespace {

std::string untimed_line(const RunRecord& record) {
  if (record.untimed.empty()) return {};
  std::int64_t calls = 0;
  for (const UntimedOperator& each : record.untimed) add_calls(calls, each.count);
  const std::string share = share_text(record.untimed, record.recorded_gpu_time);
  std::string line =
      fmt::format("Not timed: {} of {}{}", counted(calls, "call"),
                  counted(std::ssize(record.untimed), "operator"), share.empty() ? "" : ", " + share);
  const auto largest = std::ranges::max_element(record.untimed, {}, [](const UntimedOperator& each) {
    return each.recorded_time.value_or(Nanoseconds(0));
  });
  if (!share.empty() && record.untimed.size() > 1) {
    line += fmt::format(
        ", most of it {} ({})", one_line(largest->name),
        percent_text(largest->recorded_time.value_or(Nanoseconds(0)) / *record.recorded_gpu_time));
  }
  return line;
}

}  // namespace

Text record_section(const RunPage& run) {
  const RunRecord& record = run.record;
  const std::string line = untimed_line(record);
  Text text = run.page.details ? untimed_text(record.untimed, record.recorded_gpu_time, run.page.width)
              : line.empty()
                  ? Text()
                  : wrapped(line + (run.page.is_html ? "." : "; --details lists them."), run.page.width);
  for (const std::string& note : record.notes) {
    if (!text.empty()) text += '\n';
    text += wrapped(one_line(note), run.page.width);
  }
  return text;
}

Text record_text(const RunRecord& record, const ShownPage& shown) {
  return run_table(record, page_of(shown, is_network(record)));
}

namespace {

// Returns the fastest and the slowest time of several operations that are no network.
std::string range_of_times(const RunRecord& record, const Conditions& conditions) {
  std::optional<Nanoseconds> least, most;
  for (const Result& result : results_of(record)) {
    const Measurement* measurement = find_measurement(result, conditions);
    if (measurement == nullptr) continue;
    least = std::min(least.value_or(measurement->time.median), measurement->time.median);
    most = std::max(most.value_or(measurement->time.median), measurement->time.median);
  }
  return least ? time_range_text(*least, *most) : std::string();
}

}  // namespace

Headline headline_of(const RunRecord& record) {
  const RunPage run{record, label_conditions(record), {}, {}, {}};
  Headline headline{.subject = record.title};
  if (record.entries.empty() || run.labels.conditions.empty()) return headline;
  const Conditions& conditions = run.labels.conditions.front();
  const Measurement* measurement = find_measurement(record.entries.front().result, conditions);
  if (smaller_timed_part(record)) {
    headline.error = "only a smaller part is timed";
  } else if (is_network(record) || calls_of(run) > 1) {
    const NetworkTotal total = network_totals(record).front();
    headline = headline_of(fmt::format("{}: all {}", record.title, counted(total.calls, "call")),
                           estimate_of(total));
    if (!total.is_complete()) headline.number.insert(0, "over ");
  } else if (record.entries.size() > 1) {
    headline.subject = counted(std::ssize(record.entries), "operation");
    if (!record.title.empty()) headline.subject += " of " + record.title;
    headline.number = range_of_times(record, conditions);
  } else if (measurement != nullptr) {
    headline =
        headline_of("one launch of " + to_string(record.entries.front().result.subject), measurement->time);
  }
  headline.marks.push_back(quoted_conditions(run, conditions, run.labels.labels.front()));
  if (measurement == nullptr) return headline;
  if (!measurement->processes.empty())
    headline.marks.push_back(fmt::format("{} processes", measurement->processes.size()));
  if (!has_settled(*measurement)) headline.marks.emplace_back("not steady");
  if (measurement->clock && record.entries.size() == 1)
    headline.marks.push_back(clock_text(measurement->clock->median));
  return headline;
}

}  // namespace jitterscope
