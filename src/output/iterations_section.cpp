#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
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

std::string table(const std::vector<IterationRun>& runs, std::size_t width) {
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

std::string iterations_section(const RunPage& run) {
  std::string text;
  for (const std::size_t row : run.rows) {
    const Result& result = run.record.entries[row].result;
    if (result.iterations.empty()) continue;
    const std::string name =
        run.record.entries.size() == 1 ? "" : fmt::format(" of #{} {}", row + 1, run.names[row]);
    if (!text.empty()) text += '\n';
    text +=
        wrapped(fmt::format(
                    "Loops{}: operands and plan made anew, the device idle for 1 s, then so many launches "
                    "as a program makes them, each between two events (less their constant).",
                    name),
                run.page.width) +
        '\n' + table(result.iterations, run.page.width);
  }
  return text;
}

}  // namespace jitterscope
