#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/run/table.hpp"
#include "finding/finding.hpp"
#include "measure/run_record.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

Text failures_section(const RunPage& run) {
  const RunRecord& record = run.record;
  Text text;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const std::string& failure = record.entries[row].result.failure;
    if (failure.empty()) continue;
    // The headline names the only one.
    const std::string name = record.entries.size() == 1 ? "" : row_name(run, row) + ": ";
    text += list_item(name + one_line(failure), run.page.width);
  }
  return text.empty() ? text : "Failed:\n\n" + text;
}

std::string verification_failure(const Verification& verification) {
  if (verification.wrong) {
    return fmt::format("{} of {} elements wrong, {} of them never written", *verification.wrong,
                       verification.total, verification.unwritten);
  }
  std::string text = fmt::format("relative error {:.2g}, more than the tolerance {:.2g}",
                                 verification.relative_error, verification.tolerance);
  if (verification.unwritten > 0) text += fmt::format("; {} elements never written", verification.unwritten);
  return fmt::format("{} ({} of {} elements checked)", text, verification.checked, verification.total);
}

Text same_formula_note(std::size_t count, std::size_t checked, std::size_t width) {
  const std::string whose = count == checked ? "The" : fmt::format("For {} of them the", count);
  return wrapped(whose +
                     " reference is the same code: rounding and missing elements would show, a wrong "
                     "formula would not.",
                 width);
}

bool is_kernel(const Subject& subject) {
  const Operation* operation = operation_of(subject);
  return operation != nullptr && std::holds_alternative<CudaKernel>(operation->parameters());
}

Text verification_section(const RunPage& run) {
  const RunRecord& record = run.record;
  std::size_t checked = 0, passed = 0, same_formula = 0, kernels = 0, not_checked = 0;
  std::int64_t elements = 0, of_elements = 0;
  double worst = 0.0;
  Text failures;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const std::optional<Verification>& verification = record.entries[row].result.verification;
    if (!verification) {
      not_checked += record.entries[row].result.failure.empty() ? 1 : 0;
      continue;
    }
    ++checked;
    elements += verification->checked;
    of_elements += verification->total;
    same_formula += verification->same_formula ? 1 : 0;
    kernels += is_kernel(record.entries[row].result.subject) ? 1 : 0;
    if (verification->passed) {
      ++passed;
      worst = std::max(worst, verification->relative_error);
    } else {
      failures += list_item(fmt::format("{}: {}", row_name(run, row), verification_failure(*verification)),
                            run.page.width);
    }
  }
  if (checked == 0) {
    const bool is_asked = record.asked && record.asked->verify && not_checked > 0;
    return is_asked ? wrapped("Nothing was verified: there is no reference for this.", run.page.width)
                    : Text();
  }
  const std::string error =
      passed > 0 ? fmt::format("; largest relative error {:.2g}", worst) : std::string();
  // A user's kernel is compared with the reference kernel that it names.
  const std::string against = kernels == 0         ? "a float64 reference"
                              : kernels == checked ? "the reference kernel"
                                                   : "a float64 reference, or for kernels the one they name";
  const Text summary =
      wrapped(fmt::format("Verified against {} at {} of {} elements: {} of {} passed{}{}.", against, elements,
                          of_elements, passed, checked, error,
                          not_checked > 0 ? fmt::format("; {} not verified, without a reference", not_checked)
                                          : std::string()),
              run.page.width);
  const Text limits = same_formula > 0 ? same_formula_note(same_formula, checked, run.page.width) : Text();
  return sections({summary + limits, failures});
}

Text imprecise_line(const RunPage& run) {
  std::size_t measured = 0, missed = 0;
  bool wide = false, unsettled = false;
  double asked = 0.0;
  for (const Result& result : results_of(run.record)) {
    for (const Measurement& measurement : result.measurements) {
      ++measured;
      asked = measurement.precision_asked;
      wide = wide || !rounds_reached_precision(measurement);
      unsettled = unsettled || !has_settled(measurement);
      if (!reached_precision(measurement) || !has_settled(measurement)) ++missed;
    }
  }
  std::vector<std::string> goals;
  if (wide) goals.push_back(fmt::format("± {}", percent_text(asked)));
  if (unsettled) goals.emplace_back("a steady state");
  if (goals.empty()) return {};
  std::string text =
      fmt::format("{} of {} times did not reach {}.", missed, measured, joined(goals, ", or "));
  if (wide && run.record.device.capabilities.is_host)
    text += " A CPU shared with other programs seldom does.";
  if (run.page.findings == FindingsShown::top && !run.page.is_html) text += " Why: --findings all.";
  return wrapped(text, run.page.width);
}

// Operands of more than half of the memory cannot move to a second placement. The effect of placements in
// their interval is then taken from other operations.
Text one_placement_line(const RunPage& run) {
  std::vector<std::string> names;
  for (std::size_t row = 0; row < run.record.entries.size(); ++row) {
    const Result& result = run.record.entries[row].result;
    const auto stays = [](const Measurement& measurement) {
      return measurement.conditions.load == Load::burst && !measurement.is_placed_anew;
    };
    const Bytes memory = run.record.device.memory_total;
    const bool fill_memory = memory > Bytes(0) && result.bytes > memory / 2;
    if (fill_memory && !run.record.device.capabilities.is_host &&
        std::ranges::any_of(result.measurements, stays)) {
      names.push_back(row_name(run, row));
    }
  }
  if (names.empty()) return {};
  return wrapped(
      fmt::format("Memory holds the operands of {} in one place only, so the effect of other places was not "
                  "measured; the interval assumes that of other operations.",
                  joined(names)),
      run.page.width);
}

Text where_more_is(const RunPage& run) {
  if (run.page.is_html) return {};
  if (run.page.details) return "Every round and launch: --json FILE, --csv-launches FILE.\n";
  return wrapped("More: --details here, --csv FILE a row for each time, --json FILE everything.",
                 run.page.width);
}

}  // namespace

Text run_notes(const RunPage& run) {
  std::vector<Text> parts = {failures_section(run), verification_section(run)};
  Text last = imprecise_line(run) + one_placement_line(run);
  if (run.record.interrupted) last += "Interrupted: these are the results so far.\n";
  if (!run.labels.conditions.empty()) last += where_more_is(run);
  parts.push_back(last);
  return sections(parts);
}

// Below: findings, each cause once, the largest effect first.

namespace {

constexpr std::size_t kListIndent = 3;  // width of "1. ": Markdown then keeps the lines in the item
constexpr std::size_t kTop = 3;

struct FindingGroup {
  const Finding* finding =
      nullptr;                    // the one with the largest effect; others differ at most in their numbers
  std::size_t row = 0;            // row of `finding`
  std::vector<std::size_t> rows;  // empty: about the machine
  bool alike = true;              // all sentences are the same
};

// A finding without a number may change any time: it comes first.
double effect_of(const Finding& finding) {
  return finding.effect.value_or(std::numeric_limits<double>::infinity());
}

void add_finding(std::vector<FindingGroup>& groups, const Finding& finding, const std::size_t* row) {
  const auto same = [&](const FindingGroup& group) {
    return group.finding->id == finding.id && group.finding->remedy == finding.remedy &&
           group.rows.empty() == (row == nullptr) && (row || group.finding->sentence == finding.sentence);
  };
  auto group = std::find_if(groups.begin(), groups.end(), same);
  if (group == groups.end())
    group = groups.insert(groups.end(), FindingGroup{.finding = &finding, .rows = {}});
  group->alike = group->alike && group->finding->sentence == finding.sentence;
  if (!row) return;
  if (group->rows.empty() || effect_of(finding) > effect_of(*group->finding)) {
    group->finding = &finding;
    group->row = *row;
  }
  if (group->rows.empty() || group->rows.back() != *row) group->rows.push_back(*row);
}

std::vector<FindingGroup> group_findings(const RunRecord& record) {
  std::vector<FindingGroup> groups;
  for (const Finding& finding : record.findings) add_finding(groups, finding, nullptr);
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    for (const Finding& finding : record.entries[row].result.findings) add_finding(groups, finding, &row);
  }
  const auto effect = [](const FindingGroup& group) { return effect_of(*group.finding); };
  std::ranges::stable_sort(groups, std::ranges::greater(), effect);
  return groups;
}

// Returns "#1, #3–7", the row numbers of the table, counted from 1.
std::string row_list(const std::vector<std::size_t>& rows) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t last = i;
    while (last + 1 < rows.size() && rows[last + 1] == rows[last] + 1) ++last;
    const bool run = last > i + 1;
    parts.push_back(run ? fmt::format("#{}–{}", rows[i] + 1, rows[last] + 1)
                        : fmt::format("#{}", rows[i] + 1));
    i = run ? last + 1 : i + 1;
  }
  return joined(parts);
}

// Says which operations a finding is about; empty if there is only one.
std::string subject(const RunPage& run, const FindingGroup& group) {
  if (group.rows.empty() || run.record.entries.size() == 1) return {};
  if (group.rows.size() == 1) return fmt::format(" ({})", row_name(run, group.rows.front()));
  return fmt::format(" ({} operations: {})", group.rows.size(), row_list(group.rows));
}

std::string sentence(const RunPage& run, const FindingGroup& group) {
  std::string text = one_line(group.finding->sentence);
  if (group.alike || group.rows.size() < 2) return text;
  return fmt::format("for example {}: {}", row_name(run, group.row), text);
}

std::vector<std::string> remedy_of(const FindingGroup& group) {
  if (group.finding->remedy.empty()) return {};
  return {"Remedy: " + one_line(group.finding->remedy)};
}

Text all_findings(const RunPage& run) {
  Text text;
  std::size_t number = 0;
  for (const FindingGroup& group : group_findings(run.record)) {
    text += numbered_item(
        ++number,
        fmt::format("**{}**{} {}", one_line(group.finding->id), subject(run, group), sentence(run, group)),
        run.page.width, kListIndent, remedy_of(group));
  }
  return text.empty() ? text : "Findings:\n\n" + text;
}

// A page of HTML folds the cause and the remedy behind the headline.
Text line(const RunPage& run, const FindingGroup& group, std::size_t number) {
  std::string text =
      fmt::format("**{}**: {}", one_line(group.finding->id), one_line(group.finding->headline));
  if (run.record.entries.size() > 1 && !group.rows.empty()) {
    text += group.rows.size() == 1 ? fmt::format(" (#{})", group.row + 1)
                                   : fmt::format(" (#{} and {} more)", group.row + 1, group.rows.size() - 1);
  }
  std::vector<std::string> more;
  if (run.page.is_html) {
    more = remedy_of(group);
    more.insert(more.begin(), sentence(run, group));
  }
  return numbered_item(number, text, run.page.width, kListIndent, std::move(more), true);
}

Text top_findings(const RunPage& run) {
  std::vector<FindingGroup> groups = group_findings(run.record);
  // Missed precision is reported once below, with the precision that was asked for.
  std::erase_if(groups, [](const FindingGroup& group) { return group.finding->id == kImpreciseFinding; });
  if (groups.empty()) return {};
  Text text;
  const std::size_t shown = run.page.is_html ? groups.size() : std::min(kTop, groups.size());
  for (std::size_t i = 0; i < shown; ++i) text += line(run, groups[i], i + 1);
  if (run.page.is_html) return "Findings, with their causes and remedies behind each:\n\n" + text;
  const std::string which =
      groups.size() > kTop ? fmt::format("The {} of {} findings with the largest effect", kTop, groups.size())
                           : std::string("Findings");
  return wrapped(which + " (causes and remedies: --findings all):", run.page.width) + '\n' + text;
}

}  // namespace

Text findings_section(const RunPage& run) {
  switch (run.page.findings) {
    case FindingsShown::none: break;
    case FindingsShown::top: return top_findings(run);
    case FindingsShown::all: return all_findings(run);
  }
  return {};
}

// Below: engines and kernels that run the operations.

namespace {

std::string name_in_row(const RunEntry& entry, const std::string& name) {
  return entry.layers.empty() ? name : one_line(entry.layers.front());
}

bool any_stand_in(const RunRecord& record) {
  return std::ranges::any_of(results_of(record), [](const Result& result) { return result.stand_in; });
}

// Makes rows of kernels. Mangled names have up to 2,000 letters and end after some lines; the JSON has them
// whole.
Text kernel_rows(const RunPage& run) {
  constexpr std::size_t kLongestName = 200;
  std::array<TableColumn, 5> columns = {{{"#", Align::right, {}},
                                         {"kernel", Align::left, {}},
                                         {"time", Align::right, {}},
                                         {"minimum–maximum", Align::right, {}, 2},
                                         {"of launch", Align::right, {}, 1}}};
  for (const std::size_t row : run.rows) {
    const Result& result = run.record.entries[row].result;
    Nanoseconds launch;
    for (const LaunchKernel& kernel : result.kernels) launch += kernel.median;
    for (const LaunchKernel& kernel : result.kernels) {
      columns[0].cells.push_back(std::to_string(row + 1));
      columns[1].cells.push_back(cut_to_width(one_line(kernel.name), kLongestName));
      columns[2].cells.push_back(time_text(kernel.median));
      columns[3].cells.push_back(time_range_text(kernel.minimum, kernel.maximum));
      columns[4].cells.push_back(percent_text(kernel.median / launch));
    }
  }
  if (columns[0].cells.empty()) return {};
  return fitted_table({columns.begin(), columns.end()}, run.page.width);
}

// Describes launches over several streams; on one stream, kernels follow each other.
Text side_by_side_lines(const RunPage& run) {
  Text text;
  for (const std::size_t row : run.rows) {
    const auto& found = run.record.entries[row].result.concurrency;
    if (!found || found->streams < 2) continue;
    text += wrapped(fmt::format("#{}: kernels on {} streams, {:.1f} at once (at most {}).", row + 1,
                                found->streams, found->mean_at_once, found->most_at_once),
                    run.page.width);
  }
  return text.empty() ? text : '\n' + text;
}

bool on_fresh_data(const RunRecord& record) {
  return std::ranges::any_of(results_of(record), [](const Result& result) {
    return !result.measurements.empty() && result.measurements.front().conditions.fresh_data;
  });
}

// Returns the engine of all operations; nullopt if they differ.
std::optional<std::string> common_engine(const RunRecord& record) {
  std::optional<std::string> common;
  for (const Result& result : results_of(record)) {
    if (result.provider.empty()) continue;
    const std::string engine = engine_text(result);
    if (common && *common != engine) return std::nullopt;
    common = engine;
  }
  return common;
}

Text engines_table(const RunPage& run) {
  TableColumn number{"#", Align::right, {}}, name{"operation", Align::left, {}},
      engine{"run by", Align::left, {}};
  for (const std::size_t row : run.rows) {
    const RunEntry& entry = run.record.entries[row];
    if (entry.result.provider.empty()) continue;
    number.cells.push_back(std::to_string(row + 1));
    name.cells.push_back(name_in_row(entry, run.names[row]));
    engine.cells.push_back(engine_text(entry.result));
  }
  return number.cells.empty() ? Text() : fitted_table({number, name, engine}, run.page.width);
}

}  // namespace

Text engines_section(const RunPage& run) {
  Text text;
  const bool is_simulated = run.record.device.capabilities.is_simulated;  // it runs no library's kernels
  const std::optional<std::string> common = common_engine(run.record);
  if (common && !is_simulated) {
    text = wrapped(fmt::format("All run by {}.", *common), run.page.width);
  } else if (run.page.details && !common) {
    text = engines_table(run);
  }
  if (!any_stand_in(run.record)) return text;
  return text + (text.empty() ? "" : "\n") + wrapped(std::string(kStandInExplained), run.page.width);
}

std::string engine_text(const Result& result) {
  std::string text = one_line(result.provider);
  if (!result.algorithm.empty()) text += " " + one_line(result.algorithm);
  return result.stand_in ? text + ", stand-in" : text;
}

// Most have the same reason, such as a missing tracer: it is given once, with the first row.
Text shortfall_text(const RunPage& run, std::string_view part, std::optional<Shortfall> Result::*missing) {
  const RunRecord& record = run.record;
  std::vector<std::string> reasons;
  Text text;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const auto& shortfall = record.entries[row].result.*missing;
    if (!shortfall || std::ranges::find(reasons, shortfall->reason) != reasons.end()) continue;
    reasons.push_back(shortfall->reason);
    const auto alike = std::ranges::count_if(results_of(record), [&](const Result& result) {
      return result.*missing && (result.*missing)->reason == shortfall->reason;
    });
    const std::string others = alike > 1 ? fmt::format(" and {} more", alike - 1) : std::string();
    text += wrapped(fmt::format("No {} of #{}{}: {}", part, row + 1, others, one_line(shortfall->reason)),
                    run.page.width);
  }
  return text;
}

Text kernels_section(const RunPage& run) {
  const Text rows = kernel_rows(run);
  Text missing = shortfall_text(run, "kernels", &Result::without_kernels);
  if (rows.empty()) return missing;
  const Text heading = wrapped(
      fmt::format("Kernels of one launch in order, traced in launches back to back ({}; the tracer slows the "
                  "work between them):",
                  on_fresh_data(run.record) ? "fresh data" : "warm"),
      run.page.width);
  return heading + '\n' + rows + side_by_side_lines(run) + (missing.empty() ? "" : '\n' + missing);
}

// Below: hardware counters of one launch, beside its times.

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

// Returns the first measurement in this cache state: bursts come before sustained loads.
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

// Adds a column only if a launch has a value for it.
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

// Makes a column for each known counter: two or three tables on a narrow page.
Text known_counters(const RunPage& run, const std::vector<CountedLaunch>& launches) {
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

// Makes a row for each counter that was named.
Text named_counters(const RunPage& run, const std::vector<CountedLaunch>& launches) {
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

Text counters_heading(const RunPage& run, const std::vector<CountedLaunch>& launches) {
  std::int64_t passes = 0;
  for (const CountedLaunch& launch : launches) passes = std::max(passes, launch.counters.reading.passes);
  const bool has_bytes =
      std::ranges::any_of(launches, [](const CountedLaunch& launch) { return !moved_text(launch).empty(); });
  return wrapped(
      fmt::format(
          "Counters of one launch, read in {} after the times. DRAM and L2 counts include other programs{}.",
          passes == 1 ? "a pass" : fmt::format("{} passes", passes),
          has_bytes ? "; \"of it\" is all DRAM traffic over the least that the operation must move" : ""),
      run.page.width);
}

}  // namespace

Text counters_section(const RunPage& run) {
  const std::vector<CountedLaunch> launches = counted_launches(run);
  return sections({launches.empty() ? Text() : counters_heading(run, launches), known_counters(run, launches),
                   named_counters(run, launches),
                   shortfall_text(run, "counters", &Result::without_counters)});
}

}  // namespace jitterscope
