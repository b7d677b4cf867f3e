#include "output/selftest_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

using selftest::ProofLine;
using selftest::SelftestRecord;
using selftest::Verdict;

constexpr std::size_t kListIndent = 2;  // of "- ": Markdown then keeps the lines in the item

std::string verdict_cell(Verdict verdict) {
  return verdict == Verdict::missed ? "**missed**" : std::string(to_string(verdict));
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
                    kPageWidth, kListIndent);
  }
  return text.empty() ? text : '\n' + text;
}

std::string summary(const SelftestRecord& record) {
  const auto count = [&](Verdict verdict) {
    return std::count_if(record.lines.begin(), record.lines.end(),
                         [&](const ProofLine& line) { return line.verdict == verdict; });
  };
  std::string text =
      fmt::format("\n{} passed, {} missed, {} skipped, in {}.\n", count(Verdict::passed),
                  count(Verdict::missed), count(Verdict::skipped), duration_text(record.duration));
  if (record.interrupted) text += "Interrupted: these are the proofs so far.\n";
  return text;
}

std::string title(const SelftestRecord& record) {
  return fmt::format("{} ({}), seed {}{}", one_line(record.device.name), record.device.id, record.seed,
                     record.quick ? ", quick" : "");
}

std::string body(const SelftestRecord& record) {
  return table(record.lines) + notes(record.lines) + summary(record);
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
    text += wrapped("- versions: " + one_line(joined(versions)), kPageWidth, kListIndent);
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

std::string selftest_table(const SelftestRecord& record) {
  return wrapped("**selftest** on " + title(record) + '.', kPageWidth) + '\n' + body(record);
}

std::string selftest_markdown(const SelftestRecord& record) {
  return fmt::format("## {}\n\n{}\n{}", title(record), machine_lines(record), body(record));
}

std::string proofs_table(std::span<const selftest::Proof> proofs) {
  std::array<TableColumn, 3> columns = {
      {{"proof", Align::left, {}}, {"runs on", Align::left, {}}, {"shows", Align::left, {}}}};
  for (const selftest::Proof& proof : proofs) {
    columns[0].cells.emplace_back(proof.name);
    columns[1].cells.emplace_back(proof.place == selftest::Place::machine ? "any device" : "virtual");
    columns[2].cells.emplace_back(proof.summary);
  }
  return markdown_table(columns);
}

}  // namespace jitterscope
