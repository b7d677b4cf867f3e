#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/run_rates.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string known(const std::string& text) { return text.empty() ? std::string(kAbsent) : text; }

std::string operation_lines(const Result& result, const std::string& title) {
  std::vector<std::string> work, costs;
  if (!result.provider.empty()) {
    work.push_back(engine_text(result));
  }
  if (result.flops > 0) work.push_back(rate_text(result.flops, "FLOP"));
  if (result.bytes.value() > 0) work.push_back("at least " + bytes_text(result.bytes) + " to move");
  if (result.workspace.value() > 0) work.push_back("workspace " + bytes_text(result.workspace));
  if (result.launch_cost.value() > 0)
    costs.push_back("launch on the host " + duration_text(result.launch_cost));
  if (result.first_call.value() > 0) costs.push_back("first call " + duration_text(result.first_call));
  if (result.prepare_time.value() > 0) costs.push_back("preparation " + duration_text(result.prepare_time));
  std::string text;
  const std::string operation = one_line(result.operation);
  if (operation != one_line(title)) text += operation + '\n';
  if (!work.empty()) text += wrapped("Work: " + joined(work) + '.', kPageWidth);
  if (!costs.empty()) text += wrapped("Costs outside the times: " + joined(costs) + '.', kPageWidth);
  if (result.stand_in) text += wrapped(std::string(kStandInExplained), kPageWidth);
  return text;
}

std::string times_table(const RunRecord& record, const ConditionLabels& labels) {
  std::array<TableColumn, 8> columns = {{{"conditions", Align::left, {}},
                                         {"median", Align::right, {}},
                                         {"95 % interval", Align::right, {}},
                                         {"p5–p95", Align::right, {}},
                                         {"minimum", Align::right, {}},
                                         {"maximum", Align::right, {}},
                                         {"rate", Align::right, {}},
                                         {"of ceiling", Align::right, {}}}};
  const Result& result = record.results.front();
  for (std::size_t i = 0; i < labels.conditions.size(); ++i) {
    const Measurement* measurement = find_measurement(result, labels.conditions[i]);
    const TimeEstimate& time = measurement->time;
    const Distribution& launches = measurement->launches;
    const double precision = time.precision();
    // Single launches spread more than the median is uncertain: four digits say all of it.
    const double spread_precision = std::max(precision, 0.002);
    const auto rate = achieved_rate(result, time.median, record.ceilings);
    const bool any = launches.values > 0;
    const std::array<std::string, 8> cells = {
        labels.labels[i],
        estimate_text(time),
        has_interval(time) ? time_range_text(time.low, time.high, precision) : "",
        any ? time_range_text(launches.p5, launches.p95, spread_precision) : "",
        any ? time_text(launches.minimum, spread_precision) : "",
        any ? time_text(launches.maximum, spread_precision) : "",
        rate ? rate->rate : "",
        rate ? rate->share : ""};
    for (std::size_t c = 0; c < cells.size(); ++c) columns[c].cells.push_back(known(cells[c]));
  }
  std::string text = markdown_table(columns);
  const std::vector<std::string>& shares = columns.back().cells;
  if (std::ranges::find(shares, kInCache) != shares.end()) text += fmt::format("\n{}\n", kInCacheExplained);
  return text;
}

std::string reference_text(const Measurement& measurement) {
  if (!measurement.at_reference_clock) return {};
  const TimeAtReferenceClock& at = *measurement.at_reference_clock;
  const double precision = (at.high - at.low) / at.time / 2;
  return fmt::format("{} ± {} at {}", time_text(at.time, precision), percent_text(precision),
                     clock_text(at.reference));
}

std::string instrument_text(const Measurement& measurement) {
  const InstrumentConstant& constant = measurement.constant;
  std::string text(to_string(measurement.instrument));
  if (constant.value.value() != 0 || constant.uncertainty.value() != 0) {
    text += ", less " + time_with_error_text(constant.value, constant.uncertainty);
  }
  return text;
}

std::string rounds_text(const Measurement& measurement) {
  if (measurement.rounds.empty()) return {};
  const Round& round = measurement.rounds.back();
  const auto values = static_cast<std::int64_t>(round.launches.size());
  return fmt::format("{} × {}", measurement.rounds.size(), values * round.launches_per_value);
}

std::string method_table(const RunRecord& record, const ConditionLabels& labels) {
  std::array<TableColumn, 6> columns = {{{"conditions", Align::left, {}},
                                         {"clock", Align::right, {}},
                                         {"time at reference clock", Align::right, {}},
                                         {"cycles", Align::right, {}},
                                         {"rounds × launches", Align::right, {}},
                                         {"read by", Align::left, {}}}};
  for (std::size_t i = 0; i < labels.conditions.size(); ++i) {
    const Measurement& measurement = *find_measurement(record.results.front(), labels.conditions[i]);
    const std::array<std::string, 6> cells = {
        labels.labels[i],
        measurement.clock ? clock_text(measurement.clock->median) : "",
        reference_text(measurement),
        measurement.cycles ? fmt::format("{:.0f}", measurement.cycles->value()) : "",
        rounds_text(measurement),
        instrument_text(measurement)};
    for (std::size_t c = 0; c < cells.size(); ++c) columns[c].cells.push_back(known(cells[c]));
  }
  return markdown_table(columns);
}

// What one number cannot say: several modes, and whether a sustained load settled.
std::string remarks(const RunRecord& record, const ConditionLabels& labels) {
  std::string text;
  for (std::size_t i = 0; i < labels.conditions.size(); ++i) {
    const Measurement& measurement = *find_measurement(record.results.front(), labels.conditions[i]);
    if (measurement.modes.size() > 1) {
      std::vector<std::string> modes;
      for (const Mode& mode : measurement.modes) {
        modes.push_back(fmt::format("{} ({})", time_text(mode.location), percent_text(mode.weight)));
      }
      text += wrapped(fmt::format("{}: {} modes, {}.", labels.labels[i], modes.size(), joined(modes)),
                      kPageWidth);
    }
    if (measurement.steadiness) {
      const Steadiness& steadiness = *measurement.steadiness;
      text += wrapped(fmt::format("{}: {} after {}, {} of the operation watched.", labels.labels[i],
                                  to_string(steadiness.verdict), duration_text(steadiness.settled_after),
                                  duration_text(steadiness.watched)),
                      kPageWidth);
    }
    const TimeAtReferenceClock* at =
        measurement.at_reference_clock ? &*measurement.at_reference_clock : nullptr;
    if (at) {
      text += wrapped(fmt::format("{}: {} of the time follows the clock; {} does not.", labels.labels[i],
                                  percent_text(at->clock_share), time_text(at->fixed_part, 0.02)),
                      kPageWidth);
    }
  }
  return text;
}

}  // namespace

std::string single_operation_table(const RunRecord& record, const ConditionLabels& labels) {
  std::string text = operation_lines(record.results.front(), record.title);
  if (labels.conditions.empty()) return text;
  text += (text.empty() ? "" : "\n") + times_table(record, labels) + '\n' + method_table(record, labels);
  const std::string remarked = remarks(record, labels);
  return remarked.empty() ? text : text + '\n' + remarked;
}

}  // namespace jitterscope
