#include "output/run_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/network_total.hpp"
#include "measure/run_results.hpp"
#include "output/display_text.hpp"
#include "output/operation_label.hpp"
#include "output/run_sections.hpp"

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

std::string header_details(const RunPage& run) {
  std::string text;
  if (!run.labels.conditions.empty()) {
    text += wrapped("Time of one launch, the median over rounds; ± is half its 95 % interval. " +
                        explain_conditions(run.labels) + ".",
                    run.page.width);
  }
  const std::string ceilings = ceilings_line(run.record.ceilings);
  return ceilings.empty() ? text : text + wrapped(ceilings, run.page.width);
}

void append_section(std::string& text, const std::string& section) {
  if (section.empty()) return;
  if (!text.empty()) text += '\n';
  text += section;
}

std::string common_text(const std::string& common, std::size_t width) {
  if (common.empty()) return {};
  return wrapped("The same in all operations that have it: " + common + '.', width);
}

}  // namespace

std::vector<std::size_t> shown_rows(const RunRecord& record, const ConditionLabels& labels,
                                    const Page& page) {
  std::vector<std::size_t> rows(record.entries.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  if (!page.top || labels.conditions.empty()) return rows;
  // What failed has no time; it stands under "Failed".
  const auto time = [&](std::size_t row) {
    const RunEntry& entry = record.entries[row];
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

std::string device_note(const RunPage& run) {
  return run.record.device_note.empty() ? "" : wrapped(one_line(run.record.device_note), run.page.width);
}

std::string run_header(const RunPage& run) {
  const RunRecord& record = run.record;
  // The line to quote has the device and the clock.
  const bool is_quoted = record.entries.size() == 1 && !run.labels.conditions.empty();
  const bool anything = !record.title.empty() || !record.device.id.empty();
  std::string text;
  if (anything && (run.page.details || !is_quoted)) text = wrapped(device_line(record), run.page.width);
  return run.page.details ? text + header_details(run) : text;
}

std::string run_table(const RunRecord& record, const Page& page) {
  std::vector<std::string> operations;
  for (const Result& result : results_of(record)) operations.push_back(one_line(to_string(result.subject)));
  OperationLabels names = label_operations(operations);
  ConditionLabels labels = label_conditions(record);
  std::vector<std::size_t> rows = shown_rows(record, labels, page);
  const RunPage run{record, std::move(labels), std::move(names.labels), std::move(rows), page};
  const bool several = record.entries.size() > 1;
  std::string text = device_note(run);
  append_section(text, run_header(run));
  if (record.entries.empty()) {
    append_section(text, "Nothing was measured.\n");
  } else if (several) {
    text += smaller_part_line(run) + common_text(names.common, page.width);
    append_section(text, several_operations_table(run));
    append_section(text, engines_section(run));
  } else {
    append_section(text, single_operation_table(run));
  }
  append_section(text, reference_clock_section(run));
  append_section(text, kernels_section(run));
  append_section(text, counters_section(run));
  append_section(text, iterations_section(run));
  append_section(text, sequence_section(run));
  append_section(text, record_section(run));
  append_section(text, findings_section(run));
  append_section(text, run_notes(run));
  return text;
}

}  // namespace jitterscope
