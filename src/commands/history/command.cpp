#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "cli/python.hpp"
#include "commands/history/plots.hpp"
#include "commands/records.hpp"
#include "experiment/gate.hpp"
#include "output/cells.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"
#include "report/page.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kHistoryExamples = R"(Examples:
  jitterscope history list
  jitterscope history list main
  jitterscope history show main
  jitterscope history plot main -o main.html
  jitterscope history plot main --plot main.svg
  jitterscope history rm main --all

Exit codes: 0 done, 2 the record does not exist, 3 the drawing library is missing, 5 a record cannot be removed.)";

struct HistoryCommandFlags {
  HistoryFlags history;
  std::string name, margin = "2%";
  DrawingFlags drawn;
  std::vector<std::string> names;
  PageFlags page;
  bool all = false;
};

// Returns the time of the first case that a gate would judge; for a network its total.
std::string first_time(const RunRecord& record) {
  ComparisonRecord beside_itself;
  beside_itself.title = record.title;
  beside_itself.alternatives = {record.title, record.title};
  compare_records(record, {&record, 1}, beside_itself);
  const std::vector<GateCase> cases = gate_cases(beside_itself);
  const auto first = std::ranges::find_if(cases, [](const GateCase& each) { return each.failure.empty(); });
  if (first == cases.end()) return std::string(kAbsent);
  const std::string text = estimate_text(first->now);
  return cases.size() == 1 ? text : fmt::format("{} and {} more", text, cases.size() - 1);
}

// Returns the ID for `history show` and `rm`, without the fingerprint if the time alone is unique.
std::string shortest_id(const HistoryEntry& entry, const std::vector<HistoryEntry>& all) {
  std::string moment = entry.id.substr(0, entry.id.rfind('-'));
  const auto alike =
      std::ranges::count_if(all, [&](const HistoryEntry& each) { return each.id.starts_with(moment); });
  return alike == 1 ? moment : entry.id;
}

void list_names(const History& history) {
  const std::vector<std::string> names = history.names();
  if (names.empty()) {
    print_result(wrapped(fmt::format("{} has no records. `jitterscope run … --save NAME` makes one.",
                                     one_line(history.folder().string())),
                         page_width()));
    return;
  }
  TableColumn name{"name", Align::left, {}}, records{"records", Align::right, {}, 1},
      newest{"newest", Align::left, {}};
  for (const std::string& each : names) {
    const std::vector<HistoryEntry> entries = history.entries(each);
    name.cells.push_back(each);
    records.cells.push_back(std::to_string(entries.size()));
    newest.cells.push_back(shortest_id(entries.back(), entries));
  }
  print_result(fmt::format("Records in {}:\n\n", one_line(history.folder().string())) +
               fitted_table({name, records, newest}, page_width(), AllColumns::wider_terminal));
}

void list_records(const History& history, const std::string& name) {
  TableColumn id{"record", Align::left, {}}, what{"of", Align::left, {}}, time{"time", Align::right, {}},
      device{"device", Align::left, {}, 2}, version{"jitterscope", Align::left, {}, 1};
  const std::vector<HistoryEntry> entries = history.entries(name);
  for (const HistoryEntry& entry : entries) {
    id.cells.push_back(shortest_id(entry, entries));
    try {
      const RunRecord record = read_entry(entry);
      what.cells.push_back(one_line(record.title));
      time.cells.push_back(first_time(record));
      device.cells.push_back(one_line(record.device.name));
      version.cells.push_back(one_line(record.environment.tool_version));
    } catch (const UsageError&) {
      what.cells.emplace_back("cannot be read");
      for (TableColumn* column : {&time, &device, &version}) column->cells.emplace_back(kAbsent);
    }
  }
  print_result(fitted_table({id, what, time, device, version}, page_width(), AllColumns::wider_terminal));
}

void list(const HistoryCommandFlags& flags) {
  const History history = flags.history.history();
  if (flags.name.empty()) {
    list_names(history);
  } else {
    list_records(history, flags.name);
  }
}

void show(const HistoryCommandFlags& flags) {
  const HistoryEntry entry = flags.history.history().find(flags.name);
  print_result(record_text(read_entry(entry), flags.page.shown()));
}

void plot(const HistoryCommandFlags& flags) {
  flags.drawn.check();
  const double margin = read_margin(flags.margin);
  std::vector<DatedRecord> records;
  for (const HistoryEntry& entry : flags.history.history().entries(flags.name)) {
    try {
      records.push_back({entry.id, read_entry(entry)});
    } catch (const UsageError& error) {
      fmt::print(stderr, "jitterscope: left out: {}\n", error.what());
    }
  }
  ReportSection section;
  section.command = "jitterscope history plot " + flags.name;
  section.plots = history_plots(flags.name, records, margin);
  main_plot(section.plots);  // refuses a history without times
  const RunRecord& newest = records.back().record;
  section.head = headline_of(newest);
  section.head.subject = fmt::format("{}, the newest record: {}", flags.name, section.head.subject);
  section.head.marks.insert(section.head.marks.end(), {counted(std::ssize(records), "record"),
                                                       newest.device.name, newest.environment.time});
  section.text = record_text(newest, {.width = kSectionWidth, .is_html = true});
  flags.drawn.write({&section, 1});
}

void remove(const HistoryCommandFlags& flags) {
  const History history = flags.history.history();
  std::vector<HistoryEntry> entries;
  for (const std::string& name : flags.names) {
    if (name.find('/') != std::string::npos) {
      entries.push_back(history.find(name));
      continue;
    }
    const std::vector<HistoryEntry> all = history.entries(name);
    if (!flags.all) {
      throw UsageError(fmt::format("{} has {}: name one, as {}, or add --all to remove them all", name,
                                   counted(std::ssize(all), "record"), all.back().text()));
    }
    entries.insert(entries.end(), all.begin(), all.end());
  }
  for (const HistoryEntry& entry : entries) {
    history.remove(entry);
    fmt::print(stderr, "jitterscope: removed {}\n", entry.text());
  }
}

}  // namespace

void add_history_command(CLI::App& app) {
  auto flags = std::make_shared<HistoryCommandFlags>();
  CLI::App* command =
      app.add_subcommand("history", "list, show, plot or remove records saved by `run --save`");
  command->require_subcommand(1);
  command->footer(kHistoryExamples);
  const auto add = [&](const char* name, const char* description, const char* example,
                       void (*action)(const HistoryCommandFlags&)) {
    CLI::App* verb = command->add_subcommand(name, description)->fallthrough();
    verb->footer(std::string("Examples:\n  jitterscope history ") + example);
    flags->history.add_to(*verb);
    verb->callback([flags, action] { action(*flags); });
    return verb;
  };
  add("list", "list the names, or the records of one name", "list main", list)
      ->add_option("name", flags->name, "name whose records to list (default: all names)");
  CLI::App* shown = add("show", "print a record as `run` printed it", "show main", show);
  shown->add_option("name", flags->name, "NAME for its newest record, or NAME/ID")->required();
  flags->page.add_to(*shown);
  CLI::App* plotted = add("plot", "plot the times of a name over its records, with changes marked",
                          "plot main -o main.html", plot);
  plotted->add_option("name", flags->name, "name whose records to plot")->required();
  flags->drawn.add_to(*plotted,
                      "write a page with plots to PATH or - (stdout): a single file that needs no network",
                      "write the main plot to PATH.png or PATH.svg (needs vl-convert-python)");
  plotted->add_option("--margin", flags->margin, "largest difference that counts as the same")
      ->capture_default_str();
  CLI::App* removed = add("rm", "remove records", "rm main --all", remove);
  removed->add_option("names", flags->names, "NAME/ID, or NAME with --all")->required();
  removed->add_flag("--all", flags->all, "all records of a NAME");
}

}  // namespace jitterscope::cli
