// Who runs the operations: engines, and the kernels of one launch.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

// Mangled names of kernels are up to 2,000 letters long; the JSON has them whole.
constexpr std::size_t kLongestKernel = 78;

std::string name_in_row(const Result& result, const std::string& name) {
  return result.layers.empty() ? name : one_line(result.layers.front());
}

bool any_stand_in(const RunRecord& record) {
  return std::ranges::any_of(record.results, [](const Result& result) { return result.stand_in; });
}

std::string kernel_rows(const RunRecord& record) {
  std::array<TableColumn, 5> columns = {{{"#", Align::right, {}},
                                         {"kernel", Align::left, {}},
                                         {"time", Align::right, {}},
                                         {"minimum–maximum", Align::right, {}},
                                         {"of launch", Align::right, {}}}};
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    const Result& result = record.results[row];
    Nanoseconds launch;
    for (const LaunchKernel& kernel : result.kernels) launch += kernel.median;
    for (const LaunchKernel& kernel : result.kernels) {
      columns[0].cells.push_back(std::to_string(row + 1));
      columns[1].cells.push_back(cut_to_width(one_line(kernel.name), kLongestKernel));
      columns[2].cells.push_back(time_text(kernel.median));
      columns[3].cells.push_back(time_range_text(kernel.minimum, kernel.maximum));
      columns[4].cells.push_back(percent_text(kernel.median / launch));
    }
  }
  return columns[0].cells.empty() ? std::string() : markdown_table(columns);
}

bool on_fresh_data(const RunRecord& record) {
  return std::ranges::any_of(record.results, [](const Result& result) {
    return !result.measurements.empty() && result.measurements.front().conditions.fresh_data;
  });
}

// Mostly one reason for all: a tracer that is missing. It is said once, with the first row.
std::string missing_kernels(const RunRecord& record) {
  std::vector<std::string> reasons;
  std::string text;
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    const auto& missing = record.results[row].without_kernels;
    if (!missing || std::ranges::find(reasons, missing->reason) != reasons.end()) continue;
    reasons.push_back(missing->reason);
    const auto alike = std::ranges::count_if(record.results, [&](const Result& result) {
      return result.without_kernels && result.without_kernels->reason == missing->reason;
    });
    const std::string others = alike > 1 ? fmt::format(" and {} more", alike - 1) : std::string();
    text += wrapped(fmt::format("No kernels of #{}{}: {}", row + 1, others, one_line(missing->reason)),
                    kPageWidth);
  }
  return text;
}

}  // namespace

std::string engines_section(const RunRecord& record, const std::vector<std::string>& names) {
  TableColumn number{"#", Align::right, {}}, name{"operation", Align::left, {}},
      engine{"run by", Align::left, {}};
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    const Result& result = record.results[row];
    if (result.provider.empty()) continue;
    number.cells.push_back(std::to_string(row + 1));
    name.cells.push_back(name_in_row(result, names[row]));
    engine.cells.push_back(engine_text(result));
  }
  if (number.cells.empty()) return {};
  const TableColumn all[] = {number, name, engine}, narrow[] = {number, engine};
  std::string text = table_width(all) <= kPageWidth ? markdown_table(all) : markdown_table(narrow);
  if (any_stand_in(record)) text += '\n' + wrapped(std::string(kStandInExplained), kPageWidth);
  return text;
}

std::string engine_text(const Result& result) {
  std::string text = one_line(result.provider);
  if (!result.algorithm.empty()) text += " " + one_line(result.algorithm);
  return result.stand_in ? text + ", stand-in" : text;
}

std::string kernels_section(const RunRecord& record) {
  const std::string rows = kernel_rows(record);
  std::string missing = missing_kernels(record);
  if (rows.empty()) return missing;
  const std::string heading = wrapped(
      fmt::format("Kernels of one launch, in their order, traced in launches back to back ({}; the tracer "
                  "slows what is between them):",
                  on_fresh_data(record) ? "fresh data" : "warm"),
      kPageWidth);
  return heading + '\n' + rows + (missing.empty() ? "" : '\n' + missing);
}

}  // namespace jitterscope
