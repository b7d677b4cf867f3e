#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"

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
  std::vector<UntimedOperator> sorted = untimed;
  std::ranges::stable_sort(sorted, [](const UntimedOperator& a, const UntimedOperator& b) {
    return a.recorded_time.value_or(Nanoseconds(0)) > b.recorded_time.value_or(Nanoseconds(0));
  });
  // Most have one of a few reasons, which are sentences.
  std::vector<std::string> reasons;
  for (const UntimedOperator& each : sorted) {
    if (std::ranges::find(reasons, each.reason) == reasons.end()) reasons.push_back(each.reason);
  }
  std::string text = "Not timed, with their calls:\n\n";
  for (const std::string& reason : reasons) {
    std::vector<std::string> names;
    for (const UntimedOperator& each : sorted) {
      if (each.reason != reason) continue;
      const bool has_share = each.recorded_time && recorded_gpu_time && recorded_gpu_time->value() > 0;
      names.push_back(fmt::format("{} ×{}", one_line(each.name), each.count));
      if (has_share)
        names.back() += fmt::format(" ({})", percent_text(*each.recorded_time / *recorded_gpu_time));
    }
    text += wrapped(fmt::format("- {}: {}", one_line(reason), joined(names)), width, 2);
  }
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
