// What disturbed the times: each cause once, the largest effect first.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "finding/finding.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kListIndent = 3;  // of "1. ": Markdown then keeps the lines in the item
constexpr std::size_t kTop = 3;

struct FindingGroup {
  const Finding* finding =
      nullptr;                    // the one with the largest effect; others differ at most in their numbers
  std::size_t row = 0;            // whose it is
  std::vector<std::size_t> rows;  // empty: about the machine
  bool alike = true;              // the sentences are the same to the letter
};

// What no number says may change any time: it comes first.
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

// Which operations a finding is about; nothing where there is only one.
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

std::string all_findings(const RunPage& run) {
  std::string text;
  std::size_t number = 0;
  for (const FindingGroup& group : group_findings(run.record)) {
    text += wrapped(fmt::format("{}. **{}**{} {}", ++number, one_line(group.finding->id), subject(run, group),
                                sentence(run, group)),
                    run.page.width, kListIndent);
    if (!group.finding->remedy.empty()) {
      text += std::string(kListIndent, ' ') + wrapped("Remedy: " + one_line(group.finding->remedy),
                                                      run.page.width - kListIndent, kListIndent);
    }
  }
  return text.empty() ? text : "Findings:\n\n" + text;
}

std::string line(const RunPage& run, const FindingGroup& group, std::size_t number) {
  // Records of version 1 have no headlines.
  const std::string& headline =
      group.finding->headline.empty() ? group.finding->sentence : group.finding->headline;
  std::string text = fmt::format("{}. **{}**: {}", number, one_line(group.finding->id), one_line(headline));
  if (run.record.entries.size() > 1 && !group.rows.empty()) {
    text += group.rows.size() == 1 ? fmt::format(" (#{})", group.row + 1)
                                   : fmt::format(" (#{} and {} more)", group.row + 1, group.rows.size() - 1);
  }
  return wrapped(text, run.page.width, kListIndent);
}

std::string top_findings(const RunPage& run) {
  std::vector<FindingGroup> groups = group_findings(run.record);
  // How many times were not precise enough is said once below, with what was asked for.
  std::erase_if(groups, [](const FindingGroup& group) { return group.finding->id == kImpreciseFinding; });
  if (groups.empty()) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min(kTop, groups.size()); ++i) text += line(run, groups[i], i + 1);
  const std::string which =
      groups.size() > kTop ? fmt::format("The {} of {} findings with the largest effect", kTop, groups.size())
                           : std::string("Findings");
  return wrapped(which + " (causes and remedies: --findings all):", run.page.width) + '\n' + text;
}

}  // namespace

std::string findings_section(const RunPage& run) {
  switch (run.page.findings) {
    case FindingsShown::none: break;
    case FindingsShown::top: return top_findings(run);
    case FindingsShown::all: return all_findings(run);
  }
  return {};
}

}  // namespace jitterscope
