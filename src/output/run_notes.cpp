#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kListIndent = 3;  // of "1. ": Markdown then keeps the lines in the item

struct FindingGroup {
  const Finding* finding = nullptr;  // the first; the others differ at most in their numbers
  std::vector<std::size_t> rows;     // empty: about the machine
  bool alike = true;                 // the sentences are the same to the letter
};

void add_finding(std::vector<FindingGroup>& groups, const Finding& finding, const std::size_t* row) {
  const auto same = [&](const FindingGroup& group) {
    return group.finding->id == finding.id && group.finding->remedy == finding.remedy &&
           group.rows.empty() == (row == nullptr) && (row || group.finding->sentence == finding.sentence);
  };
  auto group = std::find_if(groups.begin(), groups.end(), same);
  if (group == groups.end()) group = groups.insert(groups.end(), FindingGroup{&finding, {}, true});
  group->alike = group->alike && group->finding->sentence == finding.sentence;
  if (row && (group->rows.empty() || group->rows.back() != *row)) group->rows.push_back(*row);
}

std::vector<FindingGroup> group_findings(const RunRecord& record) {
  std::vector<FindingGroup> groups;
  for (const Finding& finding : record.findings) add_finding(groups, finding, nullptr);
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    for (const Finding& finding : record.results[row].findings) add_finding(groups, finding, &row);
  }
  return groups;
}

// "#1, #3–7": rows are the numbers of the table, counted from 1.
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

std::string row_name(const RunRecord& record, std::size_t row, const std::vector<std::string>& names) {
  const std::vector<std::string>& layers = record.results[row].layers;
  std::string name = layers.empty() ? names[row] : one_line(layers.front());
  if (record.results.size() == 1) return name;
  return fmt::format("#{} {}", row + 1, name);
}

// Which operations a finding is about; nothing where there is only one.
std::string subject(const RunRecord& record, const FindingGroup& group,
                    const std::vector<std::string>& names) {
  if (group.rows.empty() || record.results.size() == 1) return {};
  if (group.rows.size() == 1) return fmt::format(" ({})", row_name(record, group.rows.front(), names));
  return fmt::format(" ({} operations: {})", group.rows.size(), row_list(group.rows));
}

std::string sentence(const RunRecord& record, const FindingGroup& group,
                     const std::vector<std::string>& names) {
  std::string text = one_line(group.finding->sentence);
  if (group.alike || group.rows.size() < 2) return text;
  return fmt::format("for example {}: {}", row_name(record, group.rows.front(), names), text);
}

std::string findings_section(const RunRecord& record, const std::vector<std::string>& names) {
  std::string text;
  std::size_t number = 0;
  for (const FindingGroup& group : group_findings(record)) {
    text += wrapped(fmt::format("{}. **{}**{} {}", ++number, one_line(group.finding->id),
                                subject(record, group, names), sentence(record, group, names)),
                    kPageWidth, kListIndent);
    if (!group.finding->remedy.empty()) {
      text += std::string(kListIndent, ' ') +
              wrapped("Remedy: " + one_line(group.finding->remedy), kPageWidth - kListIndent, kListIndent);
    }
  }
  return text.empty() ? text : "Findings:\n\n" + text;
}

std::string failures_section(const RunRecord& record, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    const std::string& failure = record.results[row].failure;
    if (failure.empty()) continue;
    text += wrapped(fmt::format("- {}: {}", row_name(record, row, names), one_line(failure)), kPageWidth, 2);
  }
  return text.empty() ? text : "Failed:\n\n" + text;
}

std::string verification_failure(const Verification& verification) {
  std::string text = fmt::format("relative error {:.2g}, more than the tolerance {:.2g}",
                                 verification.relative_error, verification.tolerance);
  if (verification.unwritten > 0) text += fmt::format("; {} elements never written", verification.unwritten);
  return fmt::format("{} ({} of {} elements checked)", text, verification.checked, verification.total);
}

std::string same_formula_note(std::size_t count, std::size_t checked) {
  const std::string whose = count == checked ? "The" : fmt::format("For {} of them the", count);
  return wrapped(whose +
                     " reference is the same code: rounding and missing elements would show, a wrong "
                     "formula would not.",
                 kPageWidth);
}

std::string verification_section(const RunRecord& record, const std::vector<std::string>& names) {
  std::size_t checked = 0, passed = 0, same_formula = 0;
  double worst = 0.0;
  std::string failures;
  for (std::size_t row = 0; row < record.results.size(); ++row) {
    const std::optional<Verification>& verification = record.results[row].verification;
    if (!verification) continue;
    ++checked;
    same_formula += verification->same_formula ? 1 : 0;
    if (verification->passed) {
      ++passed;
      worst = std::max(worst, verification->relative_error);
    } else {
      const std::string line =
          fmt::format("- {}: {}", row_name(record, row, names), verification_failure(*verification));
      failures += wrapped(line, kPageWidth, 2);
    }
  }
  if (checked == 0) return {};
  const std::string error =
      passed > 0 ? fmt::format("; largest relative error {:.2g}", worst) : std::string();
  const std::string summary =
      fmt::format("Verified against a float64 reference: {} of {} passed{}.\n", passed, checked, error);
  const std::string limits = same_formula > 0 ? same_formula_note(same_formula, checked) : std::string();
  return failures.empty() ? summary + limits : summary + limits + '\n' + failures;
}

std::string imprecise_line(const RunRecord& record) {
  std::size_t measured = 0, missed = 0;
  bool wide = false, unsettled = false;
  double asked = 0.0;
  for (const Result& result : record.results) {
    for (const Measurement& measurement : result.measurements) {
      ++measured;
      asked = measurement.precision_asked;
      wide = wide || !reached_precision(measurement);
      unsettled = unsettled || !has_settled(measurement);
      if (!reached_precision(measurement) || !has_settled(measurement)) ++missed;
    }
  }
  std::vector<std::string> goals;
  if (wide) goals.push_back(fmt::format("the precision asked, ± {}", percent_text(asked)));
  if (unsettled) goals.emplace_back("a steady state");
  if (goals.empty()) return {};
  return fmt::format("{} of {} times did not reach {}.\n", missed, measured, joined(goals, ", or "));
}

}  // namespace

std::string run_notes(const RunRecord& record, const ConditionLabels& labels,
                      const std::vector<std::string>& names) {
  std::vector<std::string> sections = {findings_section(record, names), failures_section(record, names),
                                       verification_section(record, names)};
  std::string last = imprecise_line(record);
  if (record.interrupted) last += "Interrupted: these are the results so far.\n";
  if (!labels.conditions.empty()) last += "Every round and launch: add --json FILE or --csv FILE.\n";
  sections.push_back(last);
  std::erase(sections, std::string());
  return joined(sections, "\n");
}

}  // namespace jitterscope
