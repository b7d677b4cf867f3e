#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {

std::string untimed_text(const std::vector<UntimedOperator>& untimed,
                         const std::optional<Nanoseconds>& recorded_gpu_time) {
  if (untimed.empty()) return {};
  std::array<TableColumn, 4> columns = {{{"not timed", Align::left, {}},
                                         {"count", Align::right, {}},
                                         {"of recorded GPU time", Align::right, {}},
                                         {"reason", Align::left, {}}}};
  Nanoseconds total;
  std::vector<UntimedOperator> sorted = untimed;
  std::ranges::stable_sort(sorted, [](const UntimedOperator& a, const UntimedOperator& b) {
    return a.recorded_time.value_or(Nanoseconds(0)) > b.recorded_time.value_or(Nanoseconds(0));
  });
  for (const UntimedOperator& each : sorted) {
    const bool has_share = each.recorded_time && recorded_gpu_time && recorded_gpu_time->value() > 0;
    if (each.recorded_time) total += *each.recorded_time;
    columns[0].cells.push_back(each.name);
    columns[1].cells.push_back(std::to_string(each.count));
    columns[2].cells.push_back(has_share ? percent_text(*each.recorded_time / *recorded_gpu_time)
                                         : std::string(kAbsent));
    columns[3].cells.push_back(each.reason);
  }
  std::string text = markdown_table(columns);
  if (recorded_gpu_time && recorded_gpu_time->value() > 0) {
    text +=
        '\n' + wrapped(fmt::format("What was not timed stands for {} of the recorded GPU time, {}.",
                                   percent_text(total / *recorded_gpu_time), time_text(*recorded_gpu_time)),
                       kPageWidth);
  }
  return text;
}

std::string record_section(const RunRecord& record) {
  std::string text = untimed_text(record.untimed, record.recorded_gpu_time);
  for (const std::string& note : record.notes) {
    if (!text.empty()) text += '\n';
    text += wrapped(one_line(note), kPageWidth);
  }
  return text;
}

}  // namespace jitterscope
