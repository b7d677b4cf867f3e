#include "commands/run/files.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "output/cells.hpp"
#include "output/output_file.hpp"
#include "record/run_file.hpp"
#include "record/run_summary.hpp"
#include "record/words.hpp"

namespace jitterscope {

std::string csv_quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

namespace {

void append_round(std::string& text, const std::string& prefix, const Measurement& measurement,
                  std::size_t index) {
  const Round& round = measurement.rounds[index];
  const bool settled = !measurement.steadiness || index >= measurement.steadiness->settled_round;
  const std::string clock = round.clock ? csv_number(round.clock->value()) : std::string();
  for (std::size_t value = 0; value < round.launches.size(); ++value) {
    const std::int64_t launch = static_cast<std::int64_t>(value) * round.launches_per_value;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}\r\n", prefix, index, launch,
                   csv_number(round.launches[value].value() / 1e9), clock,
                   csv_number(round.started.value() / 1e9), settled ? 1 : 0);
  }
}

}  // namespace

std::string launches_csv(const RunRecord& record) {
  std::string text =
      "operation,layer,cache,load,data,fresh_data,queue,instrument,round,launch,seconds,clock_hertz,"
      "round_start_seconds,settled\r\n";
  for (const RunEntry& entry : record.entries) {
    const std::string name =
        csv_quoted(to_string(entry.result.subject)) + ',' + csv_quoted(joined(entry.layers, ";"));
    for (const Measurement& measurement : entry.result.measurements) {
      const Conditions& conditions = measurement.conditions;
      const std::string prefix =
          fmt::format("{},{},{},{},{},{},{}", name, to_string(conditions.cache), to_string(conditions.load),
                      data_word(conditions), conditions.fresh_data ? 1 : 0, to_string(conditions.queue),
                      to_string(measurement.instrument));
      for (std::size_t index = 0; index < measurement.rounds.size(); ++index) {
        append_round(text, prefix, measurement, index);
      }
    }
  }
  return text;
}

namespace {

std::string cell(const Json& row, const std::string& key) {
  const auto value = row.find(key);
  if (value == row.end()) return {};
  if (value->is_string()) return csv_quoted(value->get_ref<const std::string&>());
  if (value->is_boolean()) return value->get<bool>() ? "1" : "0";
  if (value->is_number_float()) return csv_number(value->get<double>());
  return value->dump();
}

// Puts a column that only some operations have where it stands in the first row that has it.
std::vector<std::string> columns_of(const Json& rows) {
  std::vector<std::string> columns;
  for (const Json& row : rows) {
    auto place = columns.begin();
    for (const auto& [key, value] : row.items()) {
      const auto known = std::ranges::find(columns, key);
      place = (known == columns.end() ? columns.insert(place, key) : known) + 1;
    }
  }
  return columns;
}

}  // namespace

std::string rows_csv(const Json& rows, std::string_view first) {
  std::vector<std::string> columns = columns_of(rows);
  if (columns.empty()) columns.emplace_back(first);
  std::string text;
  const auto append = [&](auto&& cell_of) {
    for (const std::string& column : columns)
      text += (&column == &columns.front() ? "" : ",") + cell_of(column);
    text += "\r\n";
  };
  append([](const std::string& column) { return column; });
  for (const Json& row : rows) append([&](const std::string& column) { return cell(row, column); });
  return text;
}

std::string run_summary_csv(const RunRecord& record) {
  return rows_csv(run_summary_json(record), "operation");
}

std::string journal_path(const std::string& file) { return file + ".part"; }

RunJournal::RunJournal(const std::string& file) : path_(journal_path(file)) {}

RunJournal::~RunJournal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RunJournal::begin(const std::string& text) {
  OutputFile(path_).commit(text);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor_ < 0)
    throw FailedError("'" + path_ + "' was removed while it was being written; run it again");
}

void RunJournal::save(const RunRecord& record) {
  const bool is_first = descriptor_ < 0;
  std::string text = is_first ? journal_head(record) : std::string();
  for (; saved_ < record.entries.size(); ++saved_) text += journal_line(record.entries[saved_]);
  if (is_first) {
    begin(text);
  } else {
    write_whole(descriptor_, text, path_);
  }
}

void RunJournal::remove() { ::unlink(path_.c_str()); }

}  // namespace jitterscope
