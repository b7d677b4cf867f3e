// Hardware counters of one launch, beside its times.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/run_results.hpp"
#include "output/counter_cells.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

struct CountedLaunch {
  std::size_t row;
  const Result& result;
  const LaunchCounters& counters;
};

std::vector<CountedLaunch> counted_launches(const RunPage& run) {
  std::vector<CountedLaunch> launches;
  for (const std::size_t row : run.rows) {
    const Result& result = run.record.entries[row].result;
    for (const LaunchCounters& counters : result.counters) launches.push_back({row, result, counters});
  }
  return launches;
}

// Bursts before sustained loads, as they come in the result.
const Measurement* time_beside(const CountedLaunch& launch) {
  for (const Measurement& measurement : launch.result.measurements) {
    if (measurement.conditions.cache == launch.counters.cache) return &measurement;
  }
  return nullptr;
}

std::string moved_text(const CountedLaunch& launch) {
  return moved_share_text(launch.counters.reading, launch.result.bytes);
}

std::vector<TableColumn> key_columns(const RunPage& run, const std::vector<CountedLaunch>& launches) {
  TableColumn number{"#", Align::right, {}}, cache{"cache", Align::left, {}};
  for (const CountedLaunch& launch : launches) {
    number.cells.push_back(std::to_string(launch.row + 1));
    cache.cells.emplace_back(to_string(launch.counters.cache));
  }
  if (run.record.entries.size() > 1) return {number, cache};
  return {cache};
}

// Only what a launch has a value of.
void add_column(std::vector<TableColumn>& columns, const std::vector<CountedLaunch>& launches,
                std::string heading, const std::function<std::string(const CountedLaunch&)>& text,
                Align align = Align::right) {
  TableColumn column{std::move(heading), align, {}};
  bool any = false;
  for (const CountedLaunch& launch : launches) {
    const std::string cell = text(launch);
    any = any || !cell.empty();
    column.cells.push_back(cell.empty() ? std::string(kAbsent) : cell);
  }
  if (any) columns.push_back(std::move(column));
}

std::string time_cell(const CountedLaunch& launch) {
  const Measurement* measurement = time_beside(launch);
  return measurement == nullptr ? "" : time_text(measurement->time.median, measurement->time.precision());
}

std::string clock_cell(const CountedLaunch& launch) {
  const Measurement* measurement = time_beside(launch);
  return measurement == nullptr || !measurement->clock ? "" : clock_text(measurement->clock->median);
}

bool has_columns(const CountedLaunch& launch) {
  return std::ranges::any_of(launch.counters.reading.values, [](const CounterValue& value) {
    return value.quantity != CounterQuantity::other;
  });
}

// Known counters, each a column: two tables or three on a narrow page.
std::string known_counters(const RunPage& run, const std::vector<CountedLaunch>& launches) {
  if (std::ranges::none_of(launches, has_columns)) return {};
  std::vector<TableColumn> columns;
  const auto add = [&](const char* heading, const std::function<std::string(const CountedLaunch&)>& text) {
    add_column(columns, launches, heading, text);
  };
  const auto add_share = [&](const char* heading, CounterQuantity quantity) {
    add(heading, [quantity](const CountedLaunch& launch) {
      return counted_share_text(launch.counters.reading, quantity);
    });
  };
  add("time", time_cell);
  add("clock", clock_cell);
  const auto add_bytes = [&](const char* heading, CounterQuantity quantity) {
    add(heading, [quantity](const CountedLaunch& launch) {
      return counted_bytes_text(launch.counters.reading, quantity);
    });
  };
  add_bytes("DRAM read", CounterQuantity::dram_bytes_read);
  add_bytes("written", CounterQuantity::dram_bytes_written);
  add("to move", [](const CountedLaunch& launch) {
    return launch.result.bytes.value() > 0 ? bytes_text(launch.result.bytes) : std::string();
  });
  add("of it", moved_text);
  add_share("L2 hits", CounterQuantity::l2_hit_rate);
  add_share("SMs active", CounterQuantity::processors_active);
  add_share("tensor units", CounterQuantity::tensor_active);
  add_share("occupancy", CounterQuantity::occupancy);
  add_column(
      columns, launches, "warps wait for",
      [](const CountedLaunch& launch) { return stalls_text(launch.counters.reading); }, Align::left);
  return split_tables(key_columns(run, launches), columns, run.page.width);
}

std::string plain_number(const CounterValue& value) {
  if (!value.value) return std::string(kAbsent);
  return fmt::format("{:.6g} {}", *value.value, one_line(value.unit));
}

// Counters that were named, one in each row.
std::string named_counters(const RunPage& run, const std::vector<CountedLaunch>& launches) {
  TableColumn number{"#", Align::right, {}}, cache{"cache", Align::left, {}};
  TableColumn name{"counter", Align::left, {}}, value{"value", Align::right, {}};
  for (const CountedLaunch& launch : launches) {
    for (const CounterValue& each : launch.counters.reading.values) {
      if (each.quantity != CounterQuantity::other) continue;
      number.cells.push_back(std::to_string(launch.row + 1));
      cache.cells.emplace_back(to_string(launch.counters.cache));
      name.cells.push_back(one_line(each.name));
      value.cells.push_back(plain_number(each));
    }
  }
  if (name.cells.empty()) return {};
  std::vector<TableColumn> columns = {cache, name, value};
  if (run.record.entries.size() > 1) columns.insert(columns.begin(), number);
  return fitted_table(columns, run.page.width);
}

std::string counters_heading(const RunPage& run, const std::vector<CountedLaunch>& launches) {
  std::int64_t passes = 0;
  for (const CountedLaunch& launch : launches) passes = std::max(passes, launch.counters.reading.passes);
  const bool has_bytes =
      std::ranges::any_of(launches, [](const CountedLaunch& launch) { return !moved_text(launch).empty(); });
  return wrapped(
      fmt::format("Counters of one launch, in {} after the times. DRAM and L2 count what other "
                  "programs do meanwhile too{}.",
                  passes == 1 ? "a pass" : fmt::format("{} passes", passes),
                  has_bytes ? "; \"of it\" is all DRAM traffic over what the operation must move" : ""),
      run.page.width);
}

}  // namespace

std::string counters_section(const RunPage& run) {
  const std::vector<CountedLaunch> launches = counted_launches(run);
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  };
  if (!launches.empty()) add(counters_heading(run, launches));
  add(known_counters(run, launches));
  add(named_counters(run, launches));
  add(shortfall_text(run, "counters", &Result::without_counters));
  return text;
}

}  // namespace jitterscope
