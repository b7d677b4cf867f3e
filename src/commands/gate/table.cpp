#include "commands/gate/table.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

std::string conditions_of(const GateCase& each) {
  return fmt::format("{} {}", to_string(each.cache), to_string(each.load));
}

std::string baseline_name(const ComparisonRecord& record) {
  return record.baseline ? one_line(record.baseline->name) : "the baseline";
}

// Lists circumstances that may change a time although the work is the same.
Text circumstances(const ComparisonRecord& record, std::size_t width) {
  const auto shown = [](const std::string& value) {
    return value.empty() ? std::string("not there") : one_line(value);
  };
  Text text;
  std::vector<std::string> named;
  for (const RecordDifference& difference : record.differences) {
    // The clock differs by another number in each state: the first is enough.
    if (!difference.may_explain || std::ranges::find(named, difference.name) != named.end()) continue;
    named.push_back(difference.name);
    text += list_item(fmt::format("{}: {}, now {}", one_line(difference.name), shown(difference.first),
                                  shown(difference.second)),
                      width);
  }
  if (text.empty()) return text;
  return wrapped(fmt::format("Changed since {} was measured, which may change times by itself:",
                             baseline_name(record)),
                 width) +
         "\n" + text + "\n";
}

std::string of_all(std::int64_t count, std::size_t all) {
  if (all == 1) return "";
  return count == static_cast<std::int64_t>(all) ? fmt::format(": all {} times", all)
                                                 : fmt::format(": {} of {} times", count, all);
}

std::string headline(const ComparisonRecord& record, const std::vector<GateCase>& cases) {
  const std::string name = baseline_name(record);
  const auto with = [&](EffectVerdict verdict) {
    return of_all(
        std::ranges::count_if(
            cases, [&](const GateCase& each) { return each.failure.empty() && each.verdict == verdict; }),
        cases.size());
  };
  const auto failed =
      std::ranges::count_if(cases, [](const GateCase& each) { return !each.failure.empty(); });
  // Also names undecided cases, which would otherwise be taken for the same.
  const auto undecided = std::ranges::count_if(cases, [](const GateCase& each) {
    return each.failure.empty() && each.verdict == EffectVerdict::undecided;
  });
  const std::string open = undecided > 0 ? fmt::format(", {} undecided", undecided) : std::string();
  switch (gate_verdict(record)) {
    case GateVerdict::same:
      return fmt::format("**As fast as {}**{} within ± {}.", name, with(EffectVerdict::same),
                         percent_text(record.margin));
    case GateVerdict::faster: return fmt::format("**Faster than {}**{}.", name, with(EffectVerdict::faster));
    case GateVerdict::slower:
      return fmt::format("**Slower than {}**{}{}.", name, with(EffectVerdict::slower), open);
    case GateVerdict::undecided:
      return fmt::format("**Undecided against {}**{}; no slowdown is shown.", name,
                         with(EffectVerdict::undecided));
    case GateVerdict::failed:
      return fmt::format("**Failed**{}{}; no slowdown is shown.", of_all(failed, cases.size()), open);
    case GateVerdict::interrupted:
      return fmt::format("**Interrupted**{}; no slowdown is shown so far.", open);
  }
  return {};
}

bool share_conditions(const std::vector<GateCase>& cases) {
  return std::ranges::all_of(
      cases, [&](const GateCase& each) { return conditions_of(each) == conditions_of(cases.front()); });
}

bool share_name(const std::vector<GateCase>& cases) {
  return std::ranges::all_of(cases, [&](const GateCase& each) { return each.name == cases.front().name; });
}

// Lists what all times have in common.
std::string facts(const ComparisonRecord& record, const std::vector<GateCase>& cases) {
  std::vector<std::string> parts;
  if (!cases.empty() && share_name(cases)) parts.push_back(one_line(cases.front().name));
  if (!cases.empty() && share_conditions(cases)) parts.push_back(conditions_of(cases.front()));
  if (record.baseline) {
    parts.push_back(
        fmt::format("against {} of {}", one_line(record.baseline->record), one_line(record.baseline->time)));
  }
  if (record.processes_asked > 0) {
    parts.push_back(
        fmt::format("{} {}", record.processes_asked, record.processes_asked == 1 ? "process" : "processes"));
  }
  parts.push_back("margin " + percent_text(record.margin));
  if (!record.device.name.empty()) parts.push_back(one_line(record.device.name));
  if (!record.environment.tool_version.empty()) {
    parts.push_back("jitterscope " + record.environment.tool_version);
  }
  return joined(parts) + ".";
}

// With two processes at different clocks, the interval of the cycles is too wide to tell anything.
bool is_known(const std::optional<RatioEstimate>& cycles) {
  return cycles && cycles->high < 2.0 * cycles->low;
}

Text cases_table(const ComparisonRecord& record, const std::vector<GateCase>& cases, std::size_t width) {
  TableColumn names{"operation", Align::left, {}}, conditions{"conditions", Align::left, {}},
      before{baseline_name(record), Align::right, {}, 3}, now{"now", Align::right, {}, 2},
      changes{"change", Align::right, {}}, cycles{"in cycles", Align::right, {}, 4},
      verdicts{"verdict", Align::left, {}};
  for (const GateCase& each : cases) {
    if (!each.failure.empty()) continue;
    names.cells.push_back(one_line(each.name));
    conditions.cells.push_back(conditions_of(each));
    before.cells.push_back(time_text(each.baseline.median, each.baseline.precision()));
    now.cells.push_back(time_text(each.now.median, each.now.precision()));
    changes.cells.push_back(change_of(each.time));
    cycles.cells.push_back(is_known(each.cycles) ? change_of(*each.cycles) : std::string(kAbsent));
    verdicts.cells.emplace_back(to_string(each.verdict));
  }
  if (names.cells.empty()) return {};
  std::vector<TableColumn> columns;
  const bool is_row_named = !share_name(cases) || (cases.size() > 1 && share_conditions(cases));
  if (is_row_named) columns.push_back(names);
  if (!share_conditions(cases)) columns.push_back(conditions);
  columns.insert(columns.end(), {before, now, changes});
  const auto is_there = [](const std::string& cell) { return cell != kAbsent; };
  if (std::ranges::any_of(cycles.cells, is_there)) columns.push_back(cycles);
  columns.push_back(verdicts);
  return fitted_table(std::move(columns), width);
}

// Explains cases for which the table has no room, and what would help.
Text remarks(const ComparisonRecord& record, const std::vector<GateCase>& cases, std::size_t width) {
  Text text;
  const auto remark = [&](const GateCase& each, const std::string& words) {
    text += list_item(fmt::format("{}: {}", case_label(each), words), width);
  };
  for (const GateCase& each : cases) {
    if (!each.failure.empty()) {
      remark(each, "no time: " + one_line(each.failure));
    } else if (clock_move(each, record.margin)) {
      remark(each, change_words(each, record.margin));
    } else if (each.verdict == EffectVerdict::undecided) {
      remark(each, change_with_interval(each.time) +
                       (each.processes_to_decide
                            ? fmt::format("; about --processes {} on both sides would probably decide",
                                          *each.processes_to_decide)
                            : std::string("; more processes would not decide")));
    }
  }
  return text;
}

Text notes(const ComparisonRecord& record, std::size_t width) {
  Text text;
  if (record.device.capabilities.is_host && gate_verdict(record) == GateVerdict::undecided) {
    text += wrapped(
        "A gate compares with another hour, and a CPU that others use differs from hour to hour. Two checkouts side "
        "by side decide in seconds: jitterscope compare OLD NEW --fail-if slower (docs/guide/ci.md).",
        width);
  }
  for (const std::string& note : record.notes) text += wrapped(one_line(note), width);
  for (const std::string& lost : record.lost_processes) {
    text += wrapped("Lost: " + one_line(lost) + '.', width);
  }
  if (record.interrupted) text += wrapped("Interrupted: this is the result so far.", width);
  return text;
}

Text outcome_text(const GateOutcome& outcome, std::size_t width) {
  const ComparisonRecord& record = outcome.record;
  if (!outcome.failure.empty()) {
    return wrapped(
        fmt::format("**Failed against {}**: {}.", baseline_name(record), one_line(outcome.failure)), width);
  }
  const std::vector<GateCase> cases = gate_cases(record);
  std::vector<Text> parts = {circumstances(record, width) + wrapped(headline(record, cases), width) +
                                 wrapped(facts(record, cases), width),
                             cases_table(record, cases, width), remarks(record, cases, width),
                             notes(record, width)};
  return sections(parts);
}

}  // namespace

std::string case_label(const GateCase& each) { return one_line(each.name) + ", " + conditions_of(each); }

std::string change_words(const GateCase& each, double margin) {
  std::string words = change_with_interval(each.time);
  if (const std::optional<ClockMove> move = clock_move(each, margin)) {
    words += fmt::format("; the clock changed from {} to {}: in cycles {}, so the work itself did not change",
                         clock_text(move->before), clock_text(move->after), change_of(move->cycles));
  }
  return words;
}

Text gate_text(std::span<const GateOutcome> outcomes, std::size_t width) {
  std::vector<Text> texts;
  for (const GateOutcome& outcome : outcomes) texts.push_back(outcome_text(outcome, width));
  return sections(texts);
}

std::string gate_markdown(std::span<const GateOutcome> outcomes) {
  std::string text = "## jitterscope gate\n\n";
  for (const char letter : gate_text(outcomes, std::numeric_limits<std::int32_t>::max()).lines()) {
    if (letter == '<') {
      text += "&lt;";
    } else {
      text += letter;
    }
  }
  return text;
}

namespace {

std::string escaped_xml(std::string_view text) {
  std::string made;
  for (const char letter : one_line(text)) {
    switch (letter) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      default: made += letter;
    }
  }
  return made;
}

struct Counts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;

  std::string attributes() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}")", tests, failures, errors,
                       skipped);
  }
  void add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
  }
};

struct Suite {
  Counts counts;
  std::string tests;
};

std::string test(const std::string& suite, const std::string& name, double seconds,
                 const std::string& inner) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.9f}")",
                                       escaped_xml(suite), escaped_xml(name), seconds);
  return inner.empty() ? head + "/>\n" : fmt::format("{}>\n      {}\n    </testcase>\n", head, inner);
}

std::string element(std::string_view kind, std::string_view type, const std::string& message) {
  return type.empty() ? fmt::format(R"(<{} message="{}"/>)", kind, escaped_xml(message))
                      : fmt::format(R"(<{} type="{}" message="{}"/>)", kind, type, escaped_xml(message));
}

void add_case(const GateCase& each, const ComparisonRecord& record, const std::string& suite_name,
              bool is_strict, Suite& suite) {
  ++suite.counts.tests;
  std::string inner;
  if (!each.failure.empty()) {
    ++suite.counts.errors;
    inner = element("error", "no time", each.failure);
  } else if (each.verdict == EffectVerdict::slower ||
             (each.verdict == EffectVerdict::undecided && is_strict)) {
    ++suite.counts.failures;
    inner = element("failure", to_string(each.verdict), change_words(each, record.margin));
  } else if (each.verdict == EffectVerdict::undecided) {
    ++suite.counts.skipped;
    inner = element("skipped", "", "undecided: " + change_words(each, record.margin));
  }
  suite.tests += test(suite_name, case_label(each), to_seconds(each.now.median), inner);
}

std::string suite_of(const GateOutcome& outcome, bool is_strict, Counts& all) {
  const ComparisonRecord& record = outcome.record;
  const std::string name = record.baseline ? record.baseline->name : "gate";
  Suite suite;
  if (!outcome.failure.empty()) {
    suite.counts = {.tests = 1, .errors = 1};
    suite.tests = test(name, name, 0.0, element("error", "no comparison", outcome.failure));
  } else {
    for (const GateCase& each : gate_cases(record)) add_case(each, record, name, is_strict, suite);
    if (record.interrupted) {
      suite.counts.add({.tests = 1, .errors = 1});
      suite.tests +=
          test(name, "all that was asked for", 0.0,
               element("error", "interrupted", "the gate was interrupted before all was measured"));
    }
  }
  all.add(suite.counts);
  // Removes the Z, because the format has no time zones.
  std::string moment = record.environment.time;
  if (moment.ends_with('Z')) moment.pop_back();
  return fmt::format("  <testsuite name=\"{}\" {} timestamp=\"{}\">\n{}  </testsuite>\n", escaped_xml(name),
                     suite.counts.attributes(), escaped_xml(moment), suite.tests);
}

}  // namespace

std::string junit_xml(std::span<const GateOutcome> outcomes, bool is_strict) {
  Counts all;
  std::string suites;
  for (const GateOutcome& outcome : outcomes) suites += suite_of(outcome, is_strict, all);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"jitterscope gate\" "
      "{}>\n{}</testsuites>\n",
      all.attributes(), suites);
}

}  // namespace jitterscope
