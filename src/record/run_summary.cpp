#include "record/run_summary.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "jitterscope/operation.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/where_to_work.hpp"
#include "operation/chain.hpp"
#include "operation/parse.hpp"
#include "record/json_text.hpp"
#include "record/words.hpp"

namespace jitterscope {
namespace {

// Returns "64" as a number, but "2x1" and "f16" as text.
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

// True if the default value is another parameter's name: w defaults to hw.
bool names_parameter(const OperationHelp& help, const std::string& value) {
  return std::ranges::find(help.parameters, value, &ParameterHelp::name) != help.parameters.end();
}

void put_conditions(Json& row, const Measurement& measurement) {
  const Conditions& conditions = measurement.conditions;
  row["cache"] = to_string(conditions.cache);
  row["load"] = to_string(conditions.load);
  row["data"] = data_word(conditions);
  row["fresh_data"] = conditions.fresh_data;
  row["queue"] = to_string(conditions.queue);
  row["instrument"] = to_string(measurement.instrument);
}

void put_rates(Json& row, const Result& result, Nanoseconds time, const RunRecord& record) {
  const std::optional<AchievedRate> rate = achieved_rate(result, time, record);
  if (!rate) return;
  const double seconds = to_seconds(time);
  if (result.flops > 0) put(row, "flops_per_second", six_digits(result.flops / seconds));
  if (result.bytes.value() > 0) {
    put(row, "bytes_per_second", six_digits(static_cast<double>(result.bytes.value()) / seconds));
  }
  row["bound_by"] = rate->compute_bound ? "compute" : "memory";
  if (rate->ceiling_share) put(row, "ceiling_share", six_digits(*rate->ceiling_share));
}

void put_time(Json& row, const Measurement& measurement) {
  const TimeEstimate& time = measurement.time;
  put(row, "median_seconds", time.median);
  if (has_interval(time)) {
    put(row, "low_seconds", time.low);
    put(row, "high_seconds", time.high);
    put(row, "relative_precision", six_digits(time.precision()));
  }
  put(row, "instrument_error_seconds", six_digits(in_seconds(instrument_error(measurement))));
  row["rounds"] = time.rounds;
  row["settled"] = has_settled(measurement);
  if (measurement.clock) put(row, "clock_hertz", measurement.clock->median);
  put(row, "cycles", measurement.cycles);
}

// Holds each operation's share of the network's total for each set of conditions.
class SharesOfTotal {
 public:
  explicit SharesOfTotal(const RunRecord& record) : record_(&record) {
    if (!is_network(record)) return;
    for (const Conditions& conditions : distinct_conditions(record)) {
      shares_.emplace_back(conditions, shares_of_total(record, conditions));
    }
  }

  /// Also puts the time of all calls of the operation, which is its part of the total.
  void put_share(Json& row, std::size_t number, const RunEntry& entry, const Measurement& measurement) const {
    for (const auto& [conditions, shares] : shares_) {
      if (find_measurement(entry.result, conditions) != &measurement || !shares[number]) continue;
      put(row, "all_calls_seconds",
          six_digits(in_seconds(static_cast<double>(entry.count) * measurement.time.median)));
      put(row, "share", six_digits(*shares[number]));
      const std::optional<double> reached =
          reached_of_ceiling(entry.result, measurement.time.median, *record_);
      if (reached) put(row, "could_save", six_digits(*shares[number] * (1.0 - *reached)));
      return;
    }
  }

 private:
  const RunRecord* record_;
  std::vector<std::pair<Conditions, std::vector<std::optional<double>>>> shares_;
};

Json operation_row(const RunRecord& record, const RunEntry& entry) {
  const Result& result = entry.result;
  Json row = Json::object();
  put(row, "operation", to_string(result.subject));
  put(row, "layer", joined(entry.layers, ";"));
  row["calls"] = entry.count;
  const Json parameters = parameters_json(result.subject);
  for (const auto& [name, value] : parameters.items()) {
    if (!row.contains(name)) row[name] = value;  // a callable's parameter may have the name of a column
  }
  put(row, "device", record.device.name);
  put(row, "provider", result.provider);
  put(row, "algorithm", result.algorithm);
  row["stand_in"] = result.stand_in;
  return row;
}

}  // namespace

Json parameters_json(const Subject& subject) {
  Json parameters = Json::object();
  if (const auto* callable = std::get_if<Callable>(&subject)) {
    for (const Property& parameter : callable->parameters)
      parameters[parameter.key] = value_json(parameter.value);
  }
  const Operation* operation = operation_of(subject);
  if (operation == nullptr || std::holds_alternative<Aten>(operation->parameters())) return parameters;
  const OperationHelp* help = help_of(operation->kind());
  if (help == nullptr) return parameters;
  const std::string text = operation->text();
  std::string_view rest = std::string_view(text).substr(help->kind.size() + 1);
  if (const std::size_t end = subject_end(help->kind, rest); end > 0) {
    parameters[help->kind == kChainKind ? "steps" : "kernel"] = std::string(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, parameter_end(help->kind, rest));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
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
  const SharesOfTotal shares(record);
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const RunEntry& entry = record.entries[i];
    const Result& result = entry.result;
    const Json operation = operation_row(record, entry);
    for (const Measurement& measurement : result.measurements) {
      Json row = operation;
      put_conditions(row, measurement);
      put_time(row, measurement);
      put_rates(row, result, measurement.time.median, record);
      shares.put_share(row, i, entry, measurement);
      rows.push_back(std::move(row));
    }
    if (!result.measurements.empty()) continue;
    Json row = operation;
    put(row, "failure", result.failure);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace jitterscope
