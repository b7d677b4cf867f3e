#include "cli/plan.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope::cli {
namespace {

// Seen on an H200: plan building, allocation and first calls take 0.05 to 0.5 s; a sustained measurement of a
// steady operation ends after 1.5 to 3 s.
constexpr Nanoseconds kLeastPreparation = milliseconds(50), kMostPreparation = milliseconds(500);
constexpr Nanoseconds kLeastSustained = seconds(1.5);
constexpr Nanoseconds kRound = milliseconds(5);

template <class Enum>
std::string words(const std::vector<Enum>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(to_string(value));
  return joined(names);
}

}  // namespace

TimeRange expected_time(const WorkList& work, const MeasureOptions& options) {
  TimeRange each{kLeastPreparation, kMostPreparation};
  const auto caches = static_cast<double>(options.caches.size());
  for (const Load load : options.loads) {
    if (load == Load::burst) {
      const Nanoseconds visit = (options.shortest_idle + options.longest_idle) / 2.0 + kRound * caches;
      each.least += visit * static_cast<double>(options.minimum_rounds);
      each.most += options.time_limit;
    } else {
      each.least += kLeastSustained * caches;
      each.most += options.sustained_time_limit * caches;
    }
  }
  const auto count = static_cast<double>(work.items.size());
  return {each.least * count, each.most * count};
}

std::string plan_text(const WorkList& work, const MeasureOptions& options, const DeviceDescription& device) {
  const TimeRange time = expected_time(work, options);
  std::string text = fmt::format("{} operations on {} ({}), each in: cache {}; load {}; queue {}; data {}.\n",
                                 work.items.size(), device.id, device.name, words(options.caches),
                                 words(options.loads), to_string(options.queue), to_string(options.data));
  text += fmt::format(
      "Instrument: {}. Until ±{} %, at least {} rounds. This takes {} to {}.\n\n",
      options.instrument ? to_string(*options.instrument) : "graph for short launches, else events",
      options.precision * 100, options.minimum_rounds, duration_text(time.least), duration_text(time.most));
  for (const WorkItem& item : work.items) {
    text += item.operation.text();
    if (!item.layers.empty()) text += fmt::format("  ({}× {})", item.layers.size(), item.layers.front());
    text += '\n';
  }
  for (const std::string& note : work.notes) text += "\n" + note + "\n";
  return text;
}

}  // namespace jitterscope::cli
