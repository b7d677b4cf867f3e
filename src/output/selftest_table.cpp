#include "output/selftest_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

using selftest::ProofLine;
using selftest::SelftestRecord;

constexpr std::size_t kNotesWidth = 120;  // below a table that is wider
constexpr std::size_t kListIndent = 2;    // of "- ": Markdown then keeps the lines in the item

std::string verdict_cell(selftest::Verdict verdict) {
  return verdict == selftest::Verdict::missed ? "**missed**" : std::string(to_string(verdict));
}

std::string text_or_absent(const std::string& text) { return text.empty() ? std::string(kAbsent) : text; }

std::string table(const std::vector<ProofLine>& lines) {
  std::array<TableColumn, 5> columns = {{{"proof", Align::left, {}},
                                         {"of", Align::left, {}},
                                         {"must be", Align::left, {}},
                                         {"is", Align::left, {}},
                                         {"verdict", Align::left, {}}}};
  for (const ProofLine& line : lines) {
    columns[0].cells.push_back(line.group);
    columns[1].cells.push_back(line.name);
    columns[2].cells.push_back(text_or_absent(line.target));
    columns[3].cells.push_back(text_or_absent(line.measured));
    columns[4].cells.push_back(verdict_cell(line.verdict));
  }
  return markdown_table(columns);
}

// Lines of one proof often share a note: it is said once, of all of them.
std::string notes(const std::vector<ProofLine>& lines) {
  std::string text;
  for (auto first = lines.begin(); first != lines.end(); ++first) {
    const auto same = [&](const ProofLine& line) {
      return line.group == first->group && line.note == first->note;
    };
    if (first->note.empty() || std::any_of(lines.begin(), first, same)) continue;
    std::vector<std::string> names;
    for (auto line = first; line != lines.end(); ++line) {
      if (same(*line)) names.push_back(line->name);
    }
    text += wrapped(fmt::format("- {}, {}: {}.", first->group, joined(names, "; "), one_line(first->note)),
                    kNotesWidth, kListIndent);
  }
  return text.empty() ? text : '\n' + text;
}

std::int64_t count(const SelftestRecord& record, selftest::Verdict verdict) {
  return std::ranges::count(record.lines, verdict, &ProofLine::verdict);
}

// PASSED is all that could be judged; beside lines of which nothing is known it would say too much.
const char* verdict_word(std::int64_t passed, std::int64_t missed, std::int64_t inconclusive,
                         bool interrupted) {
  if (missed > 0) return "MISSED";
  if (passed == 0 || interrupted) return "NOT PROVEN";
  return inconclusive > 0 ? "PARTLY PROVEN" : "PASSED";
}

std::string verdict_line(const SelftestRecord& record) {
  const std::int64_t passed = count(record, selftest::Verdict::passed),
                     missed = count(record, selftest::Verdict::missed),
                     inconclusive = count(record, selftest::Verdict::inconclusive);
  std::string text = fmt::format("**{}**: {} passed, {} missed, {} inconclusive, {} skipped, in {}",
                                 verdict_word(passed, missed, inconclusive, record.interrupted),
                                 counted(passed, "line"), missed, inconclusive,
                                 count(record, selftest::Verdict::skipped), duration_text(record.duration));
  if (record.interrupted) text += "; interrupted: these are the proofs so far";
  return text;
}

// What is not as it must be, each with what was seen; skipped lines of a proof share one item.
std::string not_passed(const SelftestRecord& record, std::size_t width) {
  std::string text;
  for (const ProofLine& line : record.lines) {
    if (line.verdict != selftest::Verdict::missed) continue;
    text += wrapped(fmt::format("- missed: {}, {}: must be {}, is {}{}", line.group, line.name,
                                text_or_absent(line.target), text_or_absent(line.measured),
                                line.note.empty() ? "" : "; " + one_line(line.note)),
                    width, kListIndent);
  }
  for (const ProofLine& line : record.lines) {
    if (line.verdict != selftest::Verdict::skipped) continue;
    text += wrapped(fmt::format("- skipped: {}, {}{}", line.group, line.name,
                                line.note.empty() ? "" : ": " + one_line(line.note)),
                    width, kListIndent);
  }
  return text;
}

std::string counts_of_proofs(const SelftestRecord& record, selftest::Verdict verdict, const std::string& lead,
                             std::size_t width) {
  std::vector<std::string> parts, groups;
  for (const ProofLine& line : record.lines) {
    if (std::ranges::find(groups, line.group) == groups.end()) groups.push_back(line.group);
  }
  for (const std::string& group : groups) {
    const auto lines = std::ranges::count_if(
        record.lines, [&](const ProofLine& line) { return line.group == group && line.verdict == verdict; });
    if (lines > 0 || verdict == selftest::Verdict::passed)
      parts.push_back(fmt::format("{} {}", group, lines));
  }
  return parts.empty() ? std::string() : wrapped(lead + joined(parts) + ".", width);
}

std::string title(const SelftestRecord& record) {
  return fmt::format("{} ({}), seed {}{}", one_line(record.device.name), record.device.id, record.seed,
                     record.quick ? ", quick" : "");
}

std::string body(const SelftestRecord& record) {
  return verdict_line(record) + ".\n\n" + table(record.lines) + notes(record.lines);
}

std::string machine_lines(const SelftestRecord& record) {
  const Environment& environment = record.environment;
  std::string text =
      fmt::format("- command: `{}`\n- date: {}\n- jitterscope {}\n", one_line(environment.command_line),
                  environment.time, environment.tool_version);
  std::vector<std::string> versions;
  for (const Property& property : record.device.properties) {
    if (property.key == "driver_version" || property.key == "cuda_driver") {
      versions.push_back(property.key + ' ' + property.value);
    }
  }
  for (const LibraryInfo& library : record.device.libraries) {
    if (library.problem.empty()) versions.push_back(library.name + ' ' + library.version);
  }
  if (!versions.empty())
    text += wrapped("- versions: " + one_line(joined(versions)), kNotesWidth, kListIndent);
  for (const Property& property : environment.host) {
    if (property.key == "cpu" || property.key == "operating_system" || property.key == "kernel") {
      std::string key = property.key;
      std::replace(key.begin(), key.end(), '_', ' ');
      text += fmt::format("- {}: {}\n", key, one_line(property.value));
    }
  }
  return text;
}

}  // namespace

std::string selftest_summary(const SelftestRecord& record, std::size_t width) {
  std::string text =
      wrapped(verdict_line(record) + ".", width) + wrapped("selftest on " + title(record) + '.', width);
  const std::string others = not_passed(record, width);
  if (!others.empty()) text += '\n' + others;
  return text + '\n' + counts_of_proofs(record, selftest::Verdict::passed, "Lines that passed: ", width) +
         counts_of_proofs(record, selftest::Verdict::inconclusive,
                          fmt::format("Inconclusive, as so few trials fit the target and its opposite{}: ",
                                      record.quick ? " (without --quick there are more)" : ""),
                          width) +
         "Every line: --details, --markdown FILE or --json FILE.\n";
}

std::string selftest_table(const SelftestRecord& record) {
  return "**selftest** on " + title(record) + ".\n\n" + body(record);
}

std::string selftest_markdown(const SelftestRecord& record) {
  return fmt::format("## {}\n\n{}\n{}", title(record), machine_lines(record), body(record));
}

std::string proofs_table(std::span<const selftest::Proof> proofs, std::size_t width) {
  std::string text;
  for (const selftest::Proof& proof : proofs) {
    const char* place = proof.place == selftest::Place::machine ? "any device" : "virtual";
    text += wrapped(fmt::format("- **{}** ({}): {}", proof.name, place, proof.summary), width, kListIndent);
  }
  return text;
}

}  // namespace jitterscope
