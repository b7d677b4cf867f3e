// Which operations the tables show, and what each is called there.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "measure/network_total.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"

namespace jitterscope {

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

}  // namespace jitterscope
