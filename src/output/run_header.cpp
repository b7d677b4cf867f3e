#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/run_results.hpp"
#include "output/display_text.hpp"
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

std::string details(const RunPage& run) {
  std::string text;
  if (!run.labels.conditions.empty()) {
    text += wrapped("Time of one launch, the median over rounds; ± is half its 95 % interval. " +
                        explain_conditions(run.labels) + ".",
                    run.page.width);
  }
  const std::string ceilings = ceilings_line(run.record.ceilings);
  return ceilings.empty() ? text : text + wrapped(ceilings, run.page.width);
}

}  // namespace

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
  return run.page.details ? text + details(run) : text;
}

}  // namespace jitterscope
