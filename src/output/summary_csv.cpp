#include "output/summary_csv.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "output/csv.hpp"
#include "record/run_summary.hpp"

namespace jitterscope {
namespace {

std::string cell(const Json& row, const std::string& key) {
  const auto value = row.find(key);
  if (value == row.end()) return {};
  if (value->is_string()) return csv_quoted(value->get_ref<const std::string&>());
  if (value->is_boolean()) return value->get<bool>() ? "1" : "0";
  if (value->is_number_float()) return csv_number(value->get<double>());
  return value->dump();
}

// Of what only some operations have, a column stands where it stands in the first row that has it.
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

std::string run_summary_csv(const RunRecord& record) {
  const Json rows = run_summary_json(record);
  std::vector<std::string> columns = columns_of(rows);
  if (columns.empty()) columns.emplace_back("operation");
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

}  // namespace jitterscope
