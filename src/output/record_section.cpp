#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

// "0.07 ms of the 8.49 ms that the record holds of the GPU (0.83 %)"; empty where no time was recorded.
std::string share_text(const std::vector<UntimedOperator>& untimed,
                       const std::optional<Nanoseconds>& recorded) {
  if (!recorded || !(recorded->value() > 0)) return {};
  Nanoseconds total;
  for (const UntimedOperator& each : untimed) total += each.recorded_time.value_or(Nanoseconds(0));
  return fmt::format("{} of the {} of GPU time recorded ({})", time_text(total), time_text(*recorded),
                     percent_text(total / *recorded));
}

}  // namespace

std::string untimed_text(const std::vector<UntimedOperator>& untimed,
                         const std::optional<Nanoseconds>& recorded_gpu_time, std::size_t width) {
  if (untimed.empty()) return {};
  std::array<TableColumn, 4> columns = {{{"not timed", Align::left, {}},
                                         {"count", Align::right, {}},
                                         {"of recorded GPU time", Align::right, {}},
                                         {"reason", Align::left, {}}}};
  std::vector<UntimedOperator> sorted = untimed;
  std::ranges::stable_sort(sorted, [](const UntimedOperator& a, const UntimedOperator& b) {
    return a.recorded_time.value_or(Nanoseconds(0)) > b.recorded_time.value_or(Nanoseconds(0));
  });
  for (const UntimedOperator& each : sorted) {
    const bool has_share = each.recorded_time && recorded_gpu_time && recorded_gpu_time->value() > 0;
    columns[0].cells.push_back(each.name);
    columns[1].cells.push_back(std::to_string(each.count));
    columns[2].cells.push_back(has_share ? percent_text(*each.recorded_time / *recorded_gpu_time)
                                         : std::string(kAbsent));
    columns[3].cells.push_back(each.reason);
  }
  std::string text = fitted_table({columns.begin(), columns.end()}, width);
  const std::string share = share_text(untimed, recorded_gpu_time);
  if (!share.empty()) text += '\n' + wrapped(fmt::format("Not timed: {}.", share), width);
  return text;
}

namespace {

std::string untimed_line(const RunRecord& record) {
  if (record.untimed.empty()) return {};
  std::int64_t calls = 0;
  for (const UntimedOperator& each : record.untimed) calls += each.count;
  const std::string share = share_text(record.untimed, record.recorded_gpu_time);
  return fmt::format("Not timed: {} of {}{}; --details lists them.", counted(calls, "call"),
                     counted(std::ssize(record.untimed), "operator"), share.empty() ? "" : ", " + share);
}

}  // namespace

std::string record_section(const RunPage& run) {
  const RunRecord& record = run.record;
  const std::string line = untimed_line(record);
  std::string text = run.page.details ? untimed_text(record.untimed, record.recorded_gpu_time, run.page.width)
                     : line.empty()   ? std::string()
                                      : wrapped(line, run.page.width);
  for (const std::string& note : record.notes) {
    if (!text.empty()) text += '\n';
    text += wrapped(one_line(note), run.page.width);
  }
  return text;
}

}  // namespace jitterscope
