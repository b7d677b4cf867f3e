#include "commands/compare/record.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/gate/table.hpp"
#include "commands/run/files.hpp"
#include "experiment/gate.hpp"
#include "output/cells.hpp"
#include "output/comparison_rows.hpp"
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

Text record_text(const ComparisonRecord& record, const ShownPage& shown) {
  if (record.baseline) {
    const GateOutcome outcome{record, {}};
    return gate_text({&outcome, 1}, shown.width);
  }
  return comparison_table(record, page_of(shown, has_several_items(record)));
}

namespace {

// An effect that may stand for the whole comparison.
struct Candidate {
  std::string what;
  const RatioEstimate* ratio;
  statistics::EffectVerdict verdict;
};

std::vector<Candidate> candidates(const ComparisonRecord& record) {
  std::vector<Candidate> found;
  for (const TotalComparison& total : record.totals) {
    if (is_whole(record, total))
      found.push_back({record.alternatives[total.alternative], &total.time, total.verdict});
  }
  if (!found.empty()) return found;
  for (const Comparison& each : record.comparisons) {
    if (each.failure.empty() && !is_wrong(each))
      found.push_back({record.alternatives[each.alternative], &each.time, each.verdict});
  }
  return found;
}

}  // namespace

Headline headline_of(const ComparisonRecord& record) {
  const std::string first = record.alternatives.empty() ? record.title : record.alternatives.front();
  Headline headline{.subject = record.study ? record.study->question : "against " + first};
  if (record.baseline) {
    headline.subject = fmt::format("now against {}", record.baseline->record);
    headline.number = std::string(to_string(gate_verdict(record)));
  }
  const std::vector<Candidate> found = candidates(record);
  const bool is_gate_of_several = record.baseline && found.size() > 1;
  if (!found.empty() && !is_gate_of_several && !has_unlike_amounts(record)) {
    const auto ratio = [](const Candidate& each) { return each.ratio->ratio; };
    const Candidate& best = *std::ranges::min_element(found, {}, ratio);
    headline.number = change_of(*best.ratio);
    if (!record.baseline && !record.study) headline.subject = fmt::format("{} against {}", best.what, first);
    if (record.study) headline.error = fmt::format("{} against {}", best.what, first);
    headline.marks.emplace_back(to_string(best.verdict));
    if (found.size() > 1) headline.marks.push_back(fmt::format("the fastest of {}", found.size()));
  }
  const auto has_first_conditions = [&](const Comparison& each) {
    const std::string first_conditions = cache_and_load(record.comparisons.front().first.conditions);
    return cache_and_load(each.first.conditions) == first_conditions &&
           cache_and_load(each.second.conditions) == first_conditions;
  };
  if (!record.comparisons.empty() && std::ranges::all_of(record.comparisons, has_first_conditions))
    headline.marks.push_back(cache_and_load(record.comparisons.front().first.conditions));
  if (record.processes_asked > 0)
    headline.marks.push_back(
        fmt::format("{} process{}", record.processes_asked, record.processes_asked == 1 ? "" : "es"));
  headline.marks.push_back("margin " + percent_text(record.margin));
  return headline;
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
