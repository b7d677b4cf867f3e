#include "output/methods_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kSpread = "spread";  // the first to leave where the page is narrow
constexpr std::size_t kSentenceIndent = 4;      // of "10. ": Markdown then keeps the lines in the item

std::string header(const MethodsRecord& record, std::size_t width) {
  const MethodComparison& comparison = record.comparison;
  std::string first = fmt::format("**{}** by every method on {} ({})", one_line(comparison.operation),
                                  one_line(record.device.name), record.device.id);
  if (!comparison.provider.empty()) first += ", " + comparison.provider;
  if (comparison.clock) first += ", clock " + clock_text(*comparison.clock);
  const std::string conditions = fmt::format(
      "Conditions: {} repetitions, methods in random order, a random idle of {} before each; n = {} "
      "launches; data {}; caches warm but where a row says otherwise.",
      comparison.repetitions, time_range_text(comparison.shortest_idle, comparison.longest_idle, 0.05),
      comparison.launches, to_string(comparison.input.kind));
  const Calibration& calibration = comparison.calibration;
  const std::string constants =
      fmt::format("Constants: events {}, slope {} ({}). One launch costs the host {}.",
                  time_with_error_text(calibration.events.value, calibration.events.uncertainty),
                  time_with_error_text(calibration.graph.value, calibration.graph.uncertainty),
                  calibration.method, time_text(comparison.launch_cost, 0.01));
  return wrapped(first + ".", width) + wrapped(conditions, width) + wrapped(constants, width);
}

// "+2.93 µs (+88 %)"
std::string distance_text(const MethodDistance& distance) {
  const char* sign = distance.time < Nanoseconds(0) ? "" : "+";
  return fmt::format("{}{} ({:+.1f} %)", sign, time_text(distance.time, 0.02), distance.ratio * 100);
}

std::string distance_cell(const MethodComparison& comparison, const MethodReading& reading) {
  if (reading.times.empty()) return std::string(kAbsent);
  if (reading.id == comparison.reference) return "reference";
  if (reading.cache != CacheState::warm) return std::string(to_string(reading.cache));
  const auto distance = distance_from_reference(comparison, reading);
  return distance ? distance_text(*distance) : std::string(kAbsent);
}

std::string spread_cell(const MethodReading& reading) {
  if (reading.times.size() < 2) return std::string(kAbsent);
  return percent_text(reading.range());
}

std::string table(const MethodComparison& comparison, std::size_t width) {
  std::array<TableColumn, 5> columns = {{{"#", Align::right, {}},
                                         {"method", Align::left, {}},
                                         {"time", Align::right, {}},
                                         {"from the reference", Align::right, {}},
                                         {std::string(kSpread), Align::right, {}, 1}}};
  for (std::size_t i = 0; i < comparison.readings.size(); ++i) {
    const MethodReading& reading = comparison.readings[i];
    columns[0].cells.push_back(std::to_string(i + 1));
    columns[1].cells.push_back(reading.name);
    columns[2].cells.push_back(reading.times.empty() ? std::string(kAbsent)
                                                     : time_text(reading.time(), 0.002));
    columns[3].cells.push_back(distance_cell(comparison, reading));
    columns[4].cells.push_back(spread_cell(reading));
  }
  return fitted_table({columns.begin(), columns.end()}, width);
}

std::string sentences(const MethodComparison& comparison, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < comparison.readings.size(); ++i) {
    const MethodReading& reading = comparison.readings[i];
    std::string sentence = reading.sentence;
    if (!reading.absent.empty())
      sentence += (sentence.empty() ? "absent: " : "; then it failed: ") + reading.absent;
    text += wrapped(fmt::format("{}. {}: {}.", i + 1, reading.name, sentence), width, kSentenceIndent);
  }
  return text;
}

}  // namespace

std::string methods_table(const MethodsRecord& record, std::size_t width) {
  const std::string rows = table(record.comparison, width);
  const bool has_spread = rows.find(kSpread) != std::string::npos;
  std::string text = header(record, width) + '\n' + rows + "\ntime: median over the repetitions" +
                     (has_spread ? "; spread: largest less smallest, over the median.\n\n" : ".\n\n") +
                     sentences(record.comparison, width);
  if (record.comparison.interrupted) text += "\nInterrupted: these are the repetitions so far.\n";
  return text;
}

}  // namespace jitterscope
