#include "output/run_summary.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/names.hpp"
#include "jitterscope/operation.hpp"
#include "output/csv.hpp"
#include "output/estimate_text.hpp"

namespace jitterscope {
namespace {

// "64" is a number; "2x1" and "f16" are words.
Json value_json(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error == std::errc() && end == text.end()) return number;
  return std::string(text);
}

const OperationHelp* help_of(std::string_view kind) {
  const auto& all = operation_help();
  const auto found = std::ranges::find(all, kind, &OperationHelp::kind);
  return found == all.end() ? nullptr : &*found;
}

// Some defaults are the value of another parameter, as w is that of hw.
bool names_parameter(const OperationHelp& help, const std::string& value) {
  return std::ranges::find(help.parameters, value, &ParameterHelp::name) != help.parameters.end();
}

void put_conditions(Json& row, const Measurement& measurement) {
  const Conditions& conditions = measurement.conditions;
  row["cache"] = to_string(conditions.cache);
  row["load"] = to_string(conditions.load);
  row["data"] = to_string(conditions.data);
  row["fresh_data"] = conditions.fresh_data;
  row["queue"] = to_string(conditions.queue);
  row["instrument"] = to_string(measurement.instrument);
}

void put_time(Json& row, const Result& result, const Measurement& measurement) {
  const TimeEstimate& time = measurement.time;
  put(row, "median_seconds", time.median);
  if (has_interval(time)) {
    put(row, "low_seconds", time.low);
    put(row, "high_seconds", time.high);
    put(row, "relative_precision", time.precision());
  }
  put(row, "instrument_error_seconds", instrument_error(measurement));
  row["rounds"] = time.rounds;
  row["settled"] = has_settled(measurement);
  if (measurement.clock) put(row, "clock_hertz", measurement.clock->median);
  put(row, "cycles", measurement.cycles);
  if (!(time.median > Nanoseconds(0))) return;
  const double seconds = to_seconds(time.median);
  if (result.flops > 0) put(row, "flops_per_second", result.flops / seconds);
  if (result.bytes.value() > 0) {
    put(row, "bytes_per_second", static_cast<double>(result.bytes.value()) / seconds);
  }
}

Json operation_row(const RunRecord& record, const Result& result) {
  Json row = Json::object();
  put(row, "operation", result.operation);
  put(row, "layer", joined(result.layers, ";"));
  row["calls"] = result.count;
  const Json parameters = parameters_json(result.operation);
  for (const auto& [name, value] : parameters.items()) row[name] = value;
  put(row, "device", record.device.name);
  put(row, "provider", result.provider);
  put(row, "algorithm", result.algorithm);
  row["stand_in"] = result.stand_in;
  return row;
}

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

Json parameters_json(std::string_view operation) {
  Json parameters = Json::object();
  const std::size_t colon = operation.find(':');
  const OperationHelp* help = colon == std::string_view::npos ? nullptr : help_of(operation.substr(0, colon));
  if (help == nullptr) return parameters;
  std::string_view rest = operation.substr(colon + 1);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return Json::object();
    parameters[std::string(item.substr(0, equals))] = value_json(item.substr(equals + 1));
  }
  for (const ParameterHelp& parameter : help->parameters) {
    const std::string& usual = parameter.default_value;
    if (usual.empty() || names_parameter(*help, usual) || parameters.contains(parameter.name)) continue;
    parameters[parameter.name] = value_json(usual);
  }
  return parameters;
}

Json run_summary_json(const RunRecord& record) {
  Json rows = Json::array();
  for (const Result& result : record.results) {
    const Json operation = operation_row(record, result);
    for (const Measurement& measurement : result.measurements) {
      Json row = operation;
      put_conditions(row, measurement);
      put_time(row, result, measurement);
      rows.push_back(std::move(row));
    }
    if (!result.measurements.empty()) continue;
    Json row = operation;
    put(row, "failure", result.failure);
    rows.push_back(std::move(row));
  }
  return rows;
}

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
