#include "commands/selftest/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/text.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"
#include "record/words.hpp"
#include "report/drawing.hpp"

namespace jitterscope::selftest {

constexpr auto enumerators(Verdict) {
  return std::array{Verdict::passed, Verdict::missed, Verdict::inconclusive, Verdict::skipped};
}
constexpr auto enumerators(ValueKind) {
  return std::array{ValueKind::seconds, ValueKind::share, ValueKind::ratio, ValueKind::bytes_per_second};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ProofValue>& value) {
  fields("kind", value.kind);
  fields("value", value.value);
  fields("low", value.low);
  fields("high", value.high);
  if constexpr (!Fields::kWrites) {
    if (fields.has("target_low") && fields.has("target_high")) value.target.emplace();
  }
  if (value.target) {
    fields("target_low", value.target->low);
    fields("target_high", value.target->high);
  }
}

/// Describes a line with its value's fields as fields of the line.
template <class Fields>
void describe(Fields& fields, Described<Fields, ProofLine>& line) {
  fields("proof", line.group);
  fields("name", line.name);
  fields("verdict", line.verdict);
  fields("target", line.target);
  fields("measured", line.measured);
  if constexpr (!Fields::kWrites) {
    if (fields.has("kind")) line.value.emplace();
  }
  if (line.value) describe(fields, *line.value);
  fields("note", line.note);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, SelftestRecord>& record) {
  fields("seed", record.seed);
  fields("quick", record.quick);
  fields("duration_seconds", record.duration);
  fields("lines", record.lines);
}

}  // namespace jitterscope::selftest

namespace jitterscope {

std::string write_record(const selftest::SelftestRecord& record) {
  return write_envelope("selftest", record);
}

namespace {

using selftest::ProofLine;
using selftest::SelftestRecord;

std::int64_t count(const SelftestRecord& record, selftest::Verdict verdict) {
  return std::ranges::count(record.lines, verdict, &ProofLine::verdict);
}

// PASSED needs a verdict on every line that could be judged; with inconclusive lines it would claim too much.
const char* verdict_word(std::int64_t passed, std::int64_t missed, std::int64_t inconclusive,
                         bool interrupted) {
  if (missed > 0) return "MISSED";
  if (passed == 0 || interrupted) return "NOT PROVEN";
  return inconclusive > 0 ? "PARTLY PROVEN" : "PASSED";
}

}  // namespace

Text record_text(const selftest::SelftestRecord& record, const ShownPage& shown) {
  return shown.details ? selftest_table(record, shown.width)
                       : selftest_summary(record, shown.width, shown.is_html);
}

Headline headline_of(const selftest::SelftestRecord& record) {
  const std::int64_t passed = count(record, selftest::Verdict::passed),
                     missed = count(record, selftest::Verdict::missed),
                     inconclusive = count(record, selftest::Verdict::inconclusive),
                     skipped = count(record, selftest::Verdict::skipped);
  return {.subject = "Are the numbers right?",
          .number = verdict_word(passed, missed, inconclusive, record.interrupted),
          .marks = {counted(passed, "line") + " passed", fmt::format("{} missed", missed),
                    fmt::format("{} inconclusive", inconclusive), fmt::format("{} skipped", skipped),
                    record.quick ? "quick" : "", fmt::format("seed {}", record.seed)}};
}

void read_fields(const Json& document, const std::string& name, selftest::SelftestRecord& record) {
  record = read_envelope<selftest::SelftestRecord>(document, name);
}

namespace {

constexpr std::size_t kNotesWidth = 120;       // below a table that is wider
constexpr std::size_t kUnlimited = 1'000'000;  // a file has no width that a table must fit

std::string verdict_cell(selftest::Verdict verdict) {
  return verdict == selftest::Verdict::missed ? "**missed**" : std::string(to_string(verdict));
}

std::string text_or_absent(const std::string& text) { return text.empty() ? std::string(kAbsent) : text; }

Text table(const std::vector<ProofLine>& lines, std::size_t width) {
  std::array<TableColumn, 5> columns = {{{"proof", Align::left, {}},
                                         {"of", Align::left, {}},
                                         {"must be", Align::left, {}, 1},
                                         {"is", Align::left, {}},
                                         {"verdict", Align::left, {}}}};
  for (const ProofLine& line : lines) {
    columns[0].cells.push_back(line.group);
    columns[1].cells.push_back(line.name);
    columns[2].cells.push_back(text_or_absent(line.target));
    columns[3].cells.push_back(text_or_absent(line.measured));
    columns[4].cells.push_back(verdict_cell(line.verdict));
  }
  return fitted_table({columns.begin(), columns.end()}, width);
}

// Prints a note once for all lines of a proof that share it.
Text notes(const std::vector<ProofLine>& lines, std::size_t width) {
  Text text;
  for (auto first = lines.begin(); first != lines.end(); ++first) {
    const auto same = [&](const ProofLine& line) {
      return line.group == first->group && line.note == first->note;
    };
    if (first->note.empty() || std::any_of(lines.begin(), first, same)) continue;
    std::vector<std::string> names;
    for (auto line = first; line != lines.end(); ++line) {
      if (same(*line)) names.push_back(line->name);
    }
    text += list_item(fmt::format("{}, {}: {}.", first->group, joined(names, "; "), one_line(first->note)),
                      width);
  }
  return text.empty() ? text : '\n' + text;
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

// Lists missed lines with their values, then the skipped lines.
Text not_passed(const SelftestRecord& record, std::size_t width) {
  Text text;
  for (const ProofLine& line : record.lines) {
    if (line.verdict != selftest::Verdict::missed) continue;
    text += list_item(
        fmt::format("missed: {}, {}: must be {}, is {}{}", line.group, line.name, text_or_absent(line.target),
                    text_or_absent(line.measured), line.note.empty() ? "" : "; " + one_line(line.note)),
        width);
  }
  for (const ProofLine& line : record.lines) {
    if (line.verdict != selftest::Verdict::skipped) continue;
    text += list_item(fmt::format("skipped: {}, {}{}", line.group, line.name,
                                  line.note.empty() ? "" : ": " + one_line(line.note)),
                      width);
  }
  return text;
}

Text counts_of_proofs(const SelftestRecord& record, selftest::Verdict verdict, const std::string& lead,
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
  return parts.empty() ? Text() : wrapped(lead + joined(parts) + ".", width);
}

std::string title(const SelftestRecord& record) {
  return fmt::format("{} ({}), seed {}{}", one_line(record.device.name), record.device.id, record.seed,
                     record.quick ? ", quick" : "");
}

Text body(const SelftestRecord& record, std::size_t width) {
  return verdict_line(record) + ".\n\n" + table(record.lines, width) +
         notes(record.lines, std::min(width, kNotesWidth));
}

Text machine_lines(const SelftestRecord& record) {
  const Environment& environment = record.environment;
  Text text = fmt::format("- command: `{}`\n- date: {}\n- jitterscope {}\n",
                          one_line(environment.command_line), environment.time, environment.tool_version);
  std::vector<std::string> versions;
  for (const Property& property : record.device.properties) {
    if (property.key == "driver_version" || property.key == "cuda_driver") {
      versions.push_back(property.key + ' ' + property.value);
    }
  }
  for (const LibraryInfo& library : record.device.libraries) {
    if (library.problem.empty()) versions.push_back(library.name + ' ' + library.version);
  }
  if (!versions.empty()) text += list_item("versions: " + one_line(joined(versions)), kNotesWidth);
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

Text selftest_summary(const SelftestRecord& record, std::size_t width, bool is_html) {
  Text text =
      wrapped(verdict_line(record) + ".", width) + wrapped("selftest on " + title(record) + '.', width);
  const Text others = not_passed(record, width);
  if (!others.empty()) text += '\n' + others;
  return text + '\n' + counts_of_proofs(record, selftest::Verdict::passed, "Lines that passed: ", width) +
         counts_of_proofs(record, selftest::Verdict::inconclusive,
                          fmt::format("Inconclusive, because there were too few trials to tell{}: ",
                                      record.quick ? " (without --quick there are more)" : ""),
                          width) +
         (is_html ? "" : "Every line: --details, --markdown FILE or --json FILE.\n");
}

Text selftest_table(const SelftestRecord& record, std::size_t width) {
  return "**selftest** on " + title(record) + ".\n\n" + body(record, width);
}

std::string selftest_markdown(const SelftestRecord& record) {
  return fmt::format("## {}\n\n", title(record)) + machine_lines(record) + '\n' + body(record, kUnlimited);
}

Text proofs_table(std::span<const selftest::Proof> proofs, std::size_t width) {
  Text text;
  for (const selftest::Proof& proof : proofs) {
    const char* place = proof.place == selftest::Place::machine ? "any device" : "virtual";
    text += list_item(fmt::format("**{}** ({}): {}", proof.name, place, proof.summary), width);
  }
  return text;
}

}  // namespace jitterscope

// Plots each claim's value with its interval, over the range that its target allows.

namespace jitterscope::report {
namespace {

using selftest::ProofLine;
using selftest::ProofValue;
using selftest::ValueKind;

constexpr int kLongestClaim = 360;  // in pixels

// Lines of one proof with the same kind of value share an axis.
struct ProvedLines {
  std::string proof;
  ValueKind kind;
  std::vector<const ProofLine*> lines;
};

std::vector<ProvedLines> lines_by_proof(const selftest::SelftestRecord& record) {
  std::vector<ProvedLines> groups;
  for (const ProofLine& line : record.lines) {
    if (!line.value || !std::isfinite(line.value->value)) continue;
    const auto same = std::ranges::find_if(groups, [&](const ProvedLines& group) {
      return group.proof == line.group && group.kind == line.value->kind;
    });
    if (same == groups.end()) {
      groups.push_back({line.group, line.value->kind, {&line}});
    } else {
      same->lines.push_back(&line);
    }
  }
  return groups;
}

// Unit for drawing values: the axis' title, and the divisor.
struct ProvedUnit {
  std::string title;
  double one = 1.0;

  double of(double value) const { return rounded(value / one); }
};

ProvedUnit unit_of(const ProvedLines& group) {
  double most = 0.0;
  for (const ProofLine* line : group.lines) {
    for (const std::optional<double>& each :
         {std::optional(line->value->value), line->value->low, line->value->high}) {
      if (each) most = std::max(most, std::abs(*each));
    }
    if (line->value->target) most = std::max(most, std::abs(line->value->target->high));
  }
  switch (group.kind) {
    case ValueKind::share: return {"of trials, %", 0.01};
    case ValueKind::seconds: {
      const TimeUnit unit = unit_for(seconds(most));
      return {unit.name, unit.nanoseconds * 1e-9};
    }
    case ValueKind::bytes_per_second: {
      const RateUnit unit = rate_unit_for(most, "B/s");
      return {unit.name, unit.per_second};
    }
    case ValueKind::ratio: {
      constexpr double kSmall = 0.1;  // distances, not ratios near one
      if (most < kSmall) return {"%", 0.01};
      break;
    }
  }
  return {"ratio", 1.0};
}

std::vector<std::string> claims_of(const ProvedLines& group) {
  std::vector<std::string> names;
  for (const ProofLine* line : group.lines) names.push_back(name_apart(line->name, names));
  return names;
}

Json row_of(const ProofLine& line, const std::string& name, const ProvedUnit& unit) {
  const ProofValue& value = *line.value;
  Json row{{"claim", name},
           {"value", unit.of(value.value)},
           {"low", unit.of(value.low.value_or(value.value))},
           {"high", unit.of(value.high.value_or(value.value))},
           {"target", line.target},
           {"measured", line.measured},
           {"verdict", to_string(line.verdict)}};
  if (value.target) {
    row["from"] = unit.of(value.target->low);
    row["to"] = unit.of(value.target->high);
  }
  return row;
}

Json proof_view(const ProvedLines& group, int width) {
  const ProvedUnit unit = unit_of(group);
  const std::vector<std::string> names = claims_of(group);
  Json rows = Json::array(), targets = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    rows.push_back(row_of(*group.lines[i], names[i], unit));
    if (rows.back().contains("from")) targets.push_back(rows.back());
  }
  const auto x = [&](const char* field) {
    return filled(R"({"field": "$field:Q", "title": "$unit", "scale": {"zero": false}})", "field", field,
                  "unit", unit.title);
  };
  return filled(
      R"({
    "title": "$title", "width": "$width", "height": "$height",
    "layer": [
      {"name": "targets", "data": "$targets", "mark": {"type": "bar", "color": "$green", "opacity": 0.3, "height": 12},
       "encoding": {"y": "$y", "x": "$from", "x2": "to", "tooltip": "$tips"}},
      {"name": "intervals", "data": "$rows", "mark": {"type": "rule", "size": 2},
       "encoding": {"y": "$y", "x": "$low", "x2": "high", "color": "$color"}},
      {"name": "proofs", "data": "$rows", "mark": {"type": "point", "filled": true, "size": 55, "opacity": 1},
       "encoding": {"y": "$y", "x": "$value", "color": "$color", "tooltip": "$tips"}}
    ]
  })",
      "title", one_line(group.proof), "width", width, "height", height_of(names, 18), "targets", targets,
      "rows", rows, "y", names_axis("claim", names, kLongestClaim), "from", x("from"), "low", x("low"),
      "value", x("value"), "color", filled(R"({"field": "verdict:N", "title": null,
           "scale": {"domain": ["passed", "missed", "inconclusive"], "range": ["$blue", "$red", "$orange"]}})"),
      "tips",
      channels(
          R"({"tooltip": [["claim", "claim"], ["target", "must be"], ["measured", "is"], ["verdict", "verdict"]]})")
          ["tooltip"]);
}

std::vector<TableColumn> proved_table(const selftest::SelftestRecord& record) {
  std::vector<TableColumn> table = columns_of({"proof", "of", "must be", "is", "verdict", "note"});
  for (const ProofLine& line : record.lines)
    add_row(table, {line.group, line.name, line.target, line.measured, to_string(line.verdict), line.note});
  return table;
}

}  // namespace

std::vector<Plot> plots_of(const selftest::SelftestRecord& record) {
  const std::vector<ProvedLines> groups = lines_by_proof(record);
  if (groups.empty()) return {};
  std::vector<std::string> names;
  std::size_t drawn = 0;
  for (const ProvedLines& group : groups) {
    drawn += group.lines.size();
    for (const ProofLine* line : group.lines) names.push_back(one_line(line->name));
  }
  Json views = Json::array();
  for (const ProvedLines& group : groups) {
    views.push_back(proof_view(group, width_beside(names, kLongestClaim)));
  }
  std::string caption =
      "Points: measured values with their interval or range. Green: the range that the target allows. "
      "Inconclusive: too few trials to tell.";
  const std::size_t others = record.lines.size() - drawn;
  if (others > 0) {
    caption += fmt::format(" {} without a value {} only in the table.",
                           counted(static_cast<std::int64_t>(others), "line"), others == 1 ? "is" : "are");
  }
  return {Plot{.id = "proofs",
               .title = "What was proved: " + one_line(record.device.name),
               .caption = std::move(caption),
               .spec = stacked_plots(std::move(views)),
               .table = proved_table(record)}};
}

}  // namespace jitterscope::report
