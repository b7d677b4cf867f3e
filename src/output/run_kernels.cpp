// Who runs the operations: engines, and the kernels of one launch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity_text.hpp"
#include "measure/run_results.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

std::string name_in_row(const RunEntry& entry, const std::string& name) {
  return entry.layers.empty() ? name : one_line(entry.layers.front());
}

bool any_stand_in(const RunRecord& record) {
  return std::ranges::any_of(results_of(record), [](const Result& result) { return result.stand_in; });
}

// Mangled names of kernels are up to 2,000 letters long; the JSON has them whole.
std::string kernel_rows(const RunPage& run) {
  std::array<TableColumn, 5> columns = {{{"#", Align::right, {}},
                                         {"kernel", Align::left, {}},
                                         {"time", Align::right, {}},
                                         {"minimum–maximum", Align::right, {}},
                                         {"of launch", Align::right, {}}}};
  for (const std::size_t row : run.rows) {
    const Result& result = run.record.entries[row].result;
    Nanoseconds launch;
    for (const LaunchKernel& kernel : result.kernels) launch += kernel.median;
    for (const LaunchKernel& kernel : result.kernels) {
      columns[0].cells.push_back(std::to_string(row + 1));
      columns[1].cells.push_back(one_line(kernel.name));
      columns[2].cells.push_back(time_text(kernel.median));
      columns[3].cells.push_back(time_range_text(kernel.minimum, kernel.maximum));
      columns[4].cells.push_back(percent_text(kernel.median / launch));
    }
  }
  if (columns[0].cells.empty()) return {};
  return fitted_table({columns.begin(), columns.end()}, run.page.width);
}

// Of launches over several streams: on one, kernels follow each other.
std::string side_by_side_lines(const RunPage& run) {
  std::string text;
  for (const std::size_t row : run.rows) {
    const auto& found = run.record.entries[row].result.concurrency;
    if (!found || found->streams < 2) continue;
    text += wrapped(fmt::format("#{}: kernels on {} streams, {:.1f} at once (at most {}).", row + 1,
                                found->streams, found->mean_at_once, found->most_at_once),
                    run.page.width);
  }
  return text.empty() ? text : '\n' + text;
}

bool on_fresh_data(const RunRecord& record) {
  return std::ranges::any_of(results_of(record), [](const Result& result) {
    return !result.measurements.empty() && result.measurements.front().conditions.fresh_data;
  });
}

// What all have in common; nothing where they differ.
std::optional<std::string> common_engine(const RunRecord& record) {
  std::optional<std::string> common;
  for (const Result& result : results_of(record)) {
    if (result.provider.empty()) continue;
    const std::string engine = engine_text(result);
    if (common && *common != engine) return std::nullopt;
    common = engine;
  }
  return common;
}

std::string engines_table(const RunPage& run) {
  TableColumn number{"#", Align::right, {}}, name{"operation", Align::left, {}},
      engine{"run by", Align::left, {}};
  for (const std::size_t row : run.rows) {
    const RunEntry& entry = run.record.entries[row];
    if (entry.result.provider.empty()) continue;
    number.cells.push_back(std::to_string(row + 1));
    name.cells.push_back(name_in_row(entry, run.names[row]));
    engine.cells.push_back(engine_text(entry.result));
  }
  return number.cells.empty() ? std::string() : fitted_table({number, name, engine}, run.page.width);
}

}  // namespace

std::string engines_section(const RunPage& run) {
  std::string text;
  if (const auto common = common_engine(run.record)) {
    text = wrapped(fmt::format("All run by {}.", *common), run.page.width);
  } else if (run.page.details) {
    text = engines_table(run);
  }
  if (!any_stand_in(run.record)) return text;
  return text + (text.empty() ? "" : "\n") + wrapped(std::string(kStandInExplained), run.page.width);
}

std::string engine_text(const Result& result) {
  std::string text = one_line(result.provider);
  if (!result.algorithm.empty()) text += " " + one_line(result.algorithm);
  return result.stand_in ? text + ", stand-in" : text;
}

// Mostly one reason for all: a tracer that is missing. It is said once, with the first row.
std::string shortfall_text(const RunPage& run, std::string_view part,
                           std::optional<Shortfall> Result::*missing) {
  const RunRecord& record = run.record;
  std::vector<std::string> reasons;
  std::string text;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const auto& shortfall = record.entries[row].result.*missing;
    if (!shortfall || std::ranges::find(reasons, shortfall->reason) != reasons.end()) continue;
    reasons.push_back(shortfall->reason);
    const auto alike = std::ranges::count_if(results_of(record), [&](const Result& result) {
      return result.*missing && (result.*missing)->reason == shortfall->reason;
    });
    const std::string others = alike > 1 ? fmt::format(" and {} more", alike - 1) : std::string();
    text += wrapped(fmt::format("No {} of #{}{}: {}", part, row + 1, others, one_line(shortfall->reason)),
                    run.page.width);
  }
  return text;
}

std::string kernels_section(const RunPage& run) {
  const std::string rows = kernel_rows(run);
  std::string missing = shortfall_text(run, "kernels", &Result::without_kernels);
  if (rows.empty()) return missing;
  const std::string heading = wrapped(
      fmt::format("Kernels of one launch, in their order, traced in launches back to back ({}; the tracer "
                  "slows what is between them):",
                  on_fresh_data(run.record) ? "fresh data" : "warm"),
      run.page.width);
  return heading + '\n' + rows + side_by_side_lines(run) + (missing.empty() ? "" : '\n' + missing);
}

}  // namespace jitterscope
