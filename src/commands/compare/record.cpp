#include "commands/compare/record.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/gate/table.hpp"
#include "commands/run/files.hpp"
#include "experiment/gate.hpp"
#include "model/named_models.hpp"
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
  std::size_t alternative;
  const RatioEstimate* ratio;
  statistics::EffectVerdict verdict;
};

std::string first_conditions(const ComparisonRecord& record) {
  return cache_and_load(record.comparisons.front().first.conditions);
}

// Returns the totals of whole networks, or what was compared without a total, in the first conditions.
std::vector<Candidate> candidates(const ComparisonRecord& record) {
  std::vector<Candidate> found;
  for (const TotalComparison& total : record.totals) {
    const bool is_there =
        is_whole(record, total) &&
        fmt::format("{} {}", to_string(total.cache), to_string(total.load)) == first_conditions(record);
    if (is_there) found.push_back({total.alternative, &total.time, total.verdict});
  }
  for (const Comparison& each : record.comparisons) {
    const bool is_there = record.totals.empty() && each.failure.empty() && !is_wrong(each) &&
                          cache_and_load(each.first.conditions) == first_conditions(record);
    if (is_there) found.push_back({each.alternative, &each.time, each.verdict});
  }
  return found;
}

// Returns true if one number of the best would be taken for one of all.
bool has_no_best(const ComparisonRecord& record, std::size_t found) {
  if (found == 0 || has_unlike_amounts(record)) return true;
  const std::size_t compared = record.alternatives.size() - 1;
  return found > compared || !record.left_out.empty() || (record.baseline && record.comparisons.size() > 1);
}

}  // namespace

Headline headline_of(const ComparisonRecord& record) {
  const std::string first = record.alternatives.empty() ? record.title : record.alternatives.front();
  const std::vector<Candidate> found =
      record.comparisons.empty() ? std::vector<Candidate>() : candidates(record);
  Headline headline{.subject = "against " + first};
  if (!has_no_best(record, found.size())) {
    // Of arms a person asks which is best, of files what changed.
    const bool of_files = is_of_files(record);
    const auto order = [&](const Candidate& each) {
      return of_files ? -std::abs(std::log(each.ratio->ratio)) : each.ratio->ratio;
    };
    const Candidate& one = *std::ranges::min_element(found, {}, order);
    const std::string pair = fmt::format("{} against {}", record.alternatives[one.alternative], first);
    headline = headline_of(pair, *one.ratio);
    if (record.study) headline.error = pair + ' ' + headline.error;
    headline.marks.emplace_back(to_string(one.verdict));
    if (found.size() > 1)
      headline.marks.push_back(
          fmt::format("{} of {}", of_files ? "the most different" : "the fastest", found.size()));
  } else if (record.baseline) {
    headline.number = std::string(to_string(gate_verdict(record)));
  } else if (!record.totals.empty() || !record.left_out.empty()) {
    headline.number = "no verdict on the whole";
  }
  if (record.study) headline.subject = record.study->question;
  if (record.baseline) headline.subject = fmt::format("now against {}", record.baseline->record);
  if (!found.empty()) {
    const std::string second = cache_and_load(record.comparisons.front().second.conditions);
    if (second == first_conditions(record)) headline.marks.push_back(second);
  }
  if (!record.samples.empty()) headline.marks.emplace_back("per sample");
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
  // Layers of two networks may have the same names.
  const std::optional<std::string> network = network_of(records.front());
  for (std::size_t i = records.size(); i-- > 1;) {
    const std::optional<std::string> other = network_of(records[i]);
    if (network && other && *network != *other)
      compared.differences.insert(compared.differences.begin(), {"network", *network, *other, false, {}, i});
  }
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
