#include "commands/compare/record.hpp"

#include <algorithm>
#include <span>

#include "base/names.hpp"
#include "commands/gate/table.hpp"
#include "commands/run/files.hpp"
#include "output/comparison_table.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/run_summary.hpp"
#include "record/words.hpp"

namespace jitterscope {

std::string write_record(const ComparisonRecord& record) { return write_envelope("compare", record); }

void read_fields(const Json& document, const std::string& name, ComparisonRecord& record) {
  record = read_envelope<ComparisonRecord>(document, name);
}

std::string record_text(const ComparisonRecord& record, const ShownPage& shown) {
  if (record.baseline) {
    const GateOutcome outcome{record, {}};
    return gate_text({&outcome, 1}, shown.width);
  }
  return comparison_table(record, page_of(shown, has_several_items(record)));
}

void compare_files_of(const std::vector<RunRecord>& records, const std::vector<std::string>& files,
                      ComparisonRecord& compared) {
  compared.alternatives = files;
  compared.title = joined(files, files.size() > 2 ? ", " : " and ");
  for (const RunRecord& record : records) compared.measured.push_back(record.environment.time);
  compared.device = records.back().device;
  compare_records(records.front(), std::span(records).subspan(1), compared);
}

namespace {

// The interval of a ratio that nothing is known of is left out.
void put_ratio(Json& row, const std::string& key, const RatioEstimate& ratio) {
  put(row, key, six_digits(ratio.ratio));
  put(row, key + "_low", six_digits(ratio.low));
  put(row, key + "_high", six_digits(ratio.high));
}

template <class Compared>
void put_compared(Json& row, const ComparisonRecord& record, const Compared& compared,
                  const TimeEstimate& first, const TimeEstimate& second) {
  row["first"] = record.alternatives.front();
  row["alternative"] = record.alternatives[compared.alternative];
  put(row, "first_seconds", first.median);
  put(row, "seconds", second.median);
  put_ratio(row, "ratio", compared.time);
  if (compared.cycles) put_ratio(row, "cycles_ratio", *compared.cycles);
  row["verdict"] = to_string(compared.verdict);
  row["processes"] = compared.processes;
}

}  // namespace

std::string summary_csv(const ComparisonRecord& record) {
  Json rows = Json::array();
  for (const TotalComparison& total : record.totals) {
    Json row{{"operation", "all"},
             {"layer", ""},
             {"cache", to_string(total.cache)},
             {"load", to_string(total.load)}};
    put_compared(row, record, total, total.first, total.second);
    rows.push_back(std::move(row));
  }
  for (const Comparison& each : record.comparisons) {
    Json row{{"operation", to_string(each.first.subject)}, {"layer", joined(each.layers, ";")}};
    row["calls"] = each.count;
    if (each.failure.empty()) {
      row["cache"] = to_string(each.first.conditions.cache);
      row["load"] = to_string(each.first.conditions.load);
      put_compared(row, record, each, each.first.time, each.second.time);
    } else {
      row["first"] = record.alternatives.front();
      row["alternative"] = record.alternatives[each.alternative];
      row["failure"] = each.failure;
    }
    rows.push_back(std::move(row));
  }
  return rows_csv(rows, "operation");
}

}  // namespace jitterscope
