#include "commands/judge/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {

namespace judging {

constexpr auto enumerators(Verdict) {
  using enum Verdict;
  return std::array{faster, slower, same, undecided, wrong, invalid, refused};
}
constexpr auto enumerators(InvalidReason) {
  using enum InvalidReason;
  return std::array{none, link_broken, input_changed, window_used, judge_touched};
}

constexpr auto enumerators(Form) {
  using enum Form;
  return std::array{make, function, kernelbench, kernelbot};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Work>& work) {
  fields.where(work.flops > 0.0, "flops", work.flops);
  fields("bytes", work.bytes);
  fields("bytes_told", work.is_bytes_told);
  fields("dtype", work.dtype);
}

template <class Fields>
void describe_ratio(Fields& fields, auto& ratio) {
  if constexpr (!Fields::kWrites) {
    if (fields.has("time_ratio")) ratio.emplace();
  }
  if (!ratio) return;
  fields("time_ratio", ratio->ratio);
  fields("time_ratio_low", ratio->low);
  fields("time_ratio_high", ratio->high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, PairTimes>& pair) {
  fields("reference_seconds", pair.reference);
  fields("candidate_seconds", pair.candidate);
  fields("chain_seconds", pair.chain);
  fields("process_ratio", pair.process_ratio);
  fields("log_ratios", pair.log_ratios);
  fields("reference_shift", pair.reference_shift);
  fields("reference_calls", pair.reference_calls);
  fields("candidate_calls", pair.candidate_calls);
  fields("candidate_produced_seconds", pair.candidate_produced);
  fields("reference_clock_hertz", pair.reference_clock);
  fields("candidate_clock_hertz", pair.candidate_clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaseJudgement>& each) {
  fields("case", each.values);
  fields("inputs", each.inputs);
  fields("work", each.work);
  fields("verdict", each.verdict);
  fields("reason", each.reason);
  fields("evidence", each.evidence);
  fields("key", each.key);
  fields.where(each.call >= 0, "call", each.call);
  fields.where(each.pair >= 0, "pair", each.pair);
  describe_ratio(fields, each.ratio);
  fields("p_value", each.p_value);
  fields("processes_to_decide", each.pairs_to_decide);
  fields("links_checked", each.links_checked);
  fields("calls_timed", each.calls_timed);
  fields("findings", each.findings);
  fields.where(!each.clock_reasons.empty(), "clock_reasons", each.clock_reasons);
  fields("pairs", each.pairs);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CandidateJudgement>& candidate) {
  fields("candidate", candidate.candidate);
  fields("verdict", candidate.verdict);
  describe_ratio(fields, candidate.ratio);
  fields.where(candidate.rank > 0, "rank", candidate.rank);
  fields("cases", candidate.cases);
}

}  // namespace judging

template <class Fields>
void describe_content(Fields& fields, Described<Fields, JudgeRecord>& record) {
  fields("reference", record.reference);
  fields("form", record.form);
  fields("session_key", record.session_key);
  fields("processes", record.processes);
  fields("margin", record.margin);
  fields("quick", record.is_quick);
  fields("cache", record.cache);
  fields("replayed", record.is_replayed);
  fields("isolation", record.isolation);
  fields("isolation_has", record.has);
  fields("isolation_lacks", record.lacks);
  fields("ceilings", record.ceilings);
  fields("candidates", record.candidates);
}

std::string write_record(const JudgeRecord& record) { return write_envelope("judge", record); }

void read_fields(const Json& document, const std::string& name, JudgeRecord& record) {
  record = read_envelope<JudgeRecord>(document, name);
}

namespace {

using judging::CandidateJudgement;
using judging::CaseJudgement;
using judging::PairTimes;

std::string case_text(const CaseJudgement& each) {
  std::string text;
  for (const Property& value : each.values) text += (text.empty() ? "" : ",") + value.key + '=' + value.value;
  return one_line(text);
}

// Returns "2.31 times faster (2.28 to 2.34)", or the change where it is below a factor of 1.2.
std::string speed_text(const RatioEstimate& ratio) {
  constexpr double kFactor = 1.2;
  if (ratio.ratio > 1.0 / kFactor && ratio.ratio < kFactor) return change_with_interval(ratio);
  if (ratio.ratio < 1.0) {
    return fmt::format("{:.3g} times faster ({:.3g} to {:.3g})", 1.0 / ratio.ratio, 1.0 / ratio.high,
                       1.0 / ratio.low);
  }
  return fmt::format("{:.3g} times slower ({:.3g} to {:.3g})", ratio.ratio, ratio.low, ratio.high);
}

// The first word is the verdict, in bold.
std::string verdict_sentence(const CandidateJudgement& candidate) {
  std::string text = fmt::format("{}: **{}**", one_line(candidate.candidate), to_string(candidate.verdict));
  if (candidate.ratio) text += ", " + speed_text(*candidate.ratio);
  for (const CaseJudgement& each : candidate.cases) {
    if (each.verdict != candidate.verdict || each.evidence.empty()) continue;
    const std::string name = case_text(each);
    text += fmt::format(
        "; {}{}{}", name.empty() || candidate.cases.size() == 1 ? "" : name + ": ",
        each.reason == judging::InvalidReason::none ? "" : std::string(to_string(each.reason)) + ": ",
        one_line(each.evidence));
    break;
  }
  return text + '.';
}

Nanoseconds mean_time(const CaseJudgement& each, Nanoseconds PairTimes::*time) {
  double sum = 0.0;
  std::int64_t count = 0;
  for (const PairTimes& pair : each.pairs) {
    if (!(pair.*time > Nanoseconds(0))) continue;
    sum += (pair.*time).value();
    ++count;
  }
  return Nanoseconds(count == 0 ? 0.0 : sum / static_cast<double>(count));
}

std::string mean_time_text(const CaseJudgement& each, Nanoseconds PairTimes::*time) {
  const Nanoseconds mean = mean_time(each, time);
  return mean > Nanoseconds(0) ? time_text(mean, 0.01) : std::string(kAbsent);
}

// Share of the ceiling that the candidate reaches.
std::string ceiling_text(const CaseJudgement& each, const Ceilings& ceilings) {
  if (!each.ratio) return std::string(kAbsent);
  const auto rate = judging::achieved_rate(each.work, mean_time(each, &PairTimes::candidate), ceilings);
  const std::string share = rate ? share_text(*rate) : std::string();
  return share.empty() ? std::string(kAbsent) : share;
}

Text table_of(const JudgeRecord& record, std::size_t width) {
  TableColumn candidates{"candidate", Align::left, {}}, cases{"case", Align::left, {}},
      references{"reference", Align::right, {}, 3}, times{"candidate's", Align::right, {}, 2},
      chains{"chain", Align::right, {}, 4}, ratios{"time", Align::right, {}},
      links{"links", Align::right, {}, 5}, shares{"of ceiling", Align::right, {}, 3},
      ranks{"rank", Align::right, {}, 1}, verdicts{"verdict", Align::left, {}};
  for (const CandidateJudgement& candidate : record.candidates) {
    for (const CaseJudgement& each : candidate.cases) {
      candidates.cells.push_back(one_line(candidate.candidate));
      cases.cells.push_back(case_text(each));
      references.cells.push_back(mean_time_text(each, &PairTimes::reference));
      times.cells.push_back(mean_time_text(each, &PairTimes::candidate));
      chains.cells.push_back(mean_time_text(each, &PairTimes::chain));
      ratios.cells.push_back(each.ratio ? change_with_interval(*each.ratio) : std::string(kAbsent));
      shares.cells.push_back(ceiling_text(each, record.ceilings));
      links.cells.push_back(std::to_string(each.links_checked));
      ranks.cells.push_back(candidate.rank > 0 ? std::to_string(candidate.rank) : std::string(kAbsent));
      verdicts.cells.emplace_back(to_string(each.verdict));
    }
  }
  std::vector<TableColumn> columns = {candidates};
  const auto is_there = [](const std::string& cell) { return !cell.empty(); };
  if (std::ranges::any_of(cases.cells, is_there)) columns.push_back(cases);
  columns.insert(columns.end(), {references, times, chains, ratios});
  const auto is_known = [](const std::string& cell) { return cell != kAbsent; };
  if (std::ranges::any_of(shares.cells, is_known)) columns.push_back(shares);
  columns.push_back(links);
  if (record.candidates.size() > 1) columns.push_back(ranks);
  columns.push_back(verdicts);
  return fitted_table(std::move(columns), width);
}

// Says what the ceiling is, where a share of it is shown.
std::string ceiling_sentence(const JudgeRecord& record) {
  std::vector<std::string> shares;
  bool is_told = true;
  for (const CandidateJudgement& candidate : record.candidates) {
    for (const CaseJudgement& each : candidate.cases) {
      const std::string share = ceiling_text(each, record.ceilings);
      if (share == kAbsent) continue;
      shares.push_back(share);
      is_told = is_told && (each.work.flops > 0.0 || each.work.is_bytes_told);
    }
  }
  if (shares.empty()) return {};
  std::string sentence =
      " A call's ceiling is its FLOPs at the rate of a large product here or its bytes at that of a copy, "
      "whichever takes longer";
  sentence += is_told ? "." : "; the reference tells no work, so they are the bytes of inputs and outputs.";
  const std::string words = ceiling_words_explained(shares);
  return words.empty() ? sentence : sentence + ' ' + words;
}

constexpr std::string_view kClocksDiffer = "clocks_differ";

// Returns ": the GPU's clock was 1755 MHz beside its calls and 1980 MHz beside the reference's (power_cap)".
std::string clocks_text(const CaseJudgement& each) {
  std::vector<double> candidate, reference;
  for (const PairTimes& pair : each.pairs) {
    if (!pair.candidate_clock || !pair.reference_clock) continue;
    candidate.push_back(pair.candidate_clock->value() / 1e6);
    reference.push_back(pair.reference_clock->value() / 1e6);
  }
  if (candidate.empty()) return "";
  std::vector<std::string> reasons;
  for (const std::string& each_reason : each.clock_reasons) reasons.push_back(one_line(each_reason));
  return fmt::format(": the GPU's clock was {:.0f} MHz in its chains and {:.0f} MHz in the reference's{}",
                     statistics::median(candidate), statistics::median(reference),
                     reasons.empty() ? "" : " (held down by " + joined(reasons) + ")");
}

Text remarks(const JudgeRecord& record, std::size_t width) {
  Text text;
  for (const CandidateJudgement& candidate : record.candidates) {
    for (const CaseJudgement& each : candidate.cases) {
      const std::string name =
          one_line(candidate.candidate) + (each.values.empty() ? "" : ", " + case_text(each));
      for (const std::string& finding : each.findings) {
        const std::string clocks = finding == kClocksDiffer ? clocks_text(each) : "";
        text += list_item(fmt::format("{}: finding {}{}", name, one_line(finding), clocks), width);
      }
    }
  }
  return text;
}

}  // namespace

Text record_text(const JudgeRecord& record, const ShownPage& shown) {
  Text verdicts;
  for (const CandidateJudgement& candidate : record.candidates) {
    verdicts += wrapped(verdict_sentence(candidate), shown.width);
  }
  std::string facts =
      fmt::format("Against {} on {}, {} of processes, margin {}, isolation {}", one_line(record.reference),
                  one_line(record.device.name), counted(record.processes, "pair"),
                  percent_text(record.margin), one_line(record.isolation));
  if (!record.lacks.empty()) facts += ", without " + one_line(joined(record.lacks));
  facts += fmt::format(
      ". Times are on the judge's clock, of inputs {}, less what the chain itself takes; each call's "
      "inputs follow from the last call's outputs.",
      record.cache == CacheState::cold ? "that no cache has" : "just written");
  if (record.is_replayed) {
    facts += " Its keys are those of an earlier record, so whoever knows that could know all inputs.";
  }
  facts += ceiling_sentence(record);
  std::vector<Text> parts = {verdicts, table_of(record, shown.width), remarks(record, shown.width),
                             wrapped(facts, shown.width)};
  if (shown.details) {
    Text details;
    for (const std::string& each : record.has)
      details += list_item("Held back: " + one_line(each), shown.width);
    details += list_item("The session's key, from which all inputs follow: " + one_line(record.session_key),
                         shown.width);
    parts.push_back(details);
  }
  return sections(parts);
}

Headline headline_of(const JudgeRecord& record) {
  Headline headline{
      .subject = counted(std::ssize(record.candidates), "candidate") + " against " + record.reference,
      .marks = {counted(record.processes, "pair"), "isolation " + record.isolation}};
  if (record.candidates.size() != 1) return headline;
  const CandidateJudgement& only = record.candidates.front();
  headline.subject = only.candidate + " against " + record.reference;
  headline.number = std::string(to_string(only.verdict));
  if (only.ratio) headline.error = change_with_interval(*only.ratio);
  return headline;
}

}  // namespace jitterscope

// Draws the ratio of each pair of processes.

namespace jitterscope::report {

std::vector<Plot> plots_of(const JudgeRecord& record) {
  Json rows = Json::array(), intervals = Json::array();
  std::vector<TableColumn> table = report::columns_of({"candidate", ">pair", ">ratio of times"});
  for (const judging::CandidateJudgement& candidate : record.candidates) {
    for (const judging::CaseJudgement& each : candidate.cases) {
      const std::string label =
          each.values.empty() ? candidate.candidate : candidate.candidate + ' ' + case_text(each);
      if (each.ratio) {
        intervals.push_back(Json{{"candidate", label}, {"low", each.ratio->low}, {"high", each.ratio->high}});
      }
      for (std::size_t i = 0; i < each.pairs.size(); ++i) {
        if (each.pairs[i].log_ratios.empty()) continue;
        const double ratio = std::exp(statistics::median(each.pairs[i].log_ratios));
        rows.push_back(Json{{"candidate", label}, {"pair", i + 1}, {"ratio", ratio}});
        add_row(table, {label, std::to_string(i + 1), fmt::format("{:.4f}", ratio)});
      }
    }
  }
  if (rows.empty()) return {};
  const Json view =
      filled(R"({
    "height": "$height",
    "layer": [
      {"name": "margin", "data": "$margin", "mark": {"type": "rect", "color": "$green", "opacity": 0.15},
       "encoding": {"x": "low:Q", "x2": "high"}},
      {"name": "equal", "data": "$equal", "mark": {"type": "rule", "color": "$green", "size": 2},
       "encoding": {"x": "ratio:Q"}},
      {"name": "intervals", "data": "$intervals", "mark": {"type": "rule", "color": "$blue", "size": 10, "opacity": 0.25},
       "encoding": {"y": {"field": "candidate:N", "title": null, "sort": null, "axis": {"labelLimit": 320}},
                    "x": "low:Q", "x2": "high",
                    "tooltip": [["candidate", "candidate"], ["low", "from"], ["high", "to"]]}},
      {"name": "pairs", "data": "$rows", "mark": {"type": "tick", "color": "$blue", "thickness": 2},
       "encoding": {"y": {"field": "candidate:N", "title": null, "sort": null, "axis": {"labelLimit": 320}},
                    "x": {"field": "ratio:Q", "title": "time of the candidate over that of the reference",
                          "scale": {"zero": false}},
                    "tooltip": [["candidate", "candidate"], ["pair", "pair"], ["ratio", "ratio"]]}}
    ]
  })",
             "height", height_of(table[0].cells, 24), "equal", Json::array({Json{{"ratio", 1.0}}}), "margin",
             Json::array({Json{{"low", 1.0 / (1.0 + record.margin)}, {"high", 1.0 + record.margin}}}),
             "intervals", intervals, "rows", rows);
  return {
      Plot{.id = "judge",
           .title = "Candidates against " + record.reference,
           .caption =
               "A tick is one pair of processes, a bar the 95 % interval of the ratio. Green: as long as the "
               "reference, within the margin.",
           .spec = single_plot(view),
           .table = std::move(table)}};
}

}  // namespace jitterscope::report
