#include "c_api/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "jitterscope/error.hpp"
#include "record/describe_advice.hpp"
#include "record/envelope.hpp"
#include "record/record.hpp"
#include "study/advice.hpp"

namespace jitterscope::c_api {
namespace {

struct AskedRemedy {
  study::Recommendation words;
  double work = 1.0;
  std::optional<double> error, memory;
  std::optional<std::string> goes_before;  ///< the study whose lines are written behind its own: graph
  bool is_wrong = false;                   ///< its result has other numbers or another shape
};

template <class Fields>
void describe(Fields& fields, Described<Fields, AskedRemedy>& remedy) {
  jitterscope::describe(fields, remedy.words);
  fields("work", remedy.work);
  fields("relative_error", remedy.error);
  fields("memory_ratio", remedy.memory);
  fields("goes_before", remedy.goes_before);
  fields("is_wrong", remedy.is_wrong);
}

struct AskedStep {
  study::AdviceRecord advice;
  std::vector<AskedRemedy> remedies;
  std::string stage = "step";  ///< or together: of the first as it was and the second with all
};

AskedStep read_step(const std::string& text) {
  AskedStep asked;
  const Json document = parse_document(text, "request");
  const Place place{nullptr, "request"};
  Reader fields(document, place);
  if (const auto before = document.find("advice"); before != document.end()) {
    asked.advice = read_envelope<study::AdviceRecord>(*before, "request.advice");
  }
  study::AdviceRecord& advice = asked.advice;
  fields("title", advice.title);
  fields("goal", advice.goal);
  fields("margin", advice.margin);
  fields("tolerance", advice.tolerance);
  fields("untried", advice.untried);
  fields("notes", advice.notes);
  fields("remedies", asked.remedies);
  fields("stage", asked.stage);
  fields.check(asked.stage == "step" || asked.stage == "together", "stage", "step or together");
  fields.check(!asked.remedies.empty(), "remedies", "one at least");
  return asked;
}

// What the results of an alternative are off by, where a comparison of operations has its verification.
void set_errors(const std::vector<AskedRemedy>& remedies, ComparisonRecord& record) {
  for (Comparison& comparison : record.comparisons) {
    const AskedRemedy& remedy = remedies.at(comparison.alternative - 1);
    if (!remedy.error && !remedy.is_wrong) continue;
    comparison.second.verification = Verification{
        .relative_error = remedy.error.value_or(std::numeric_limits<double>::max()),
        .tolerance = std::numeric_limits<double>::max(),
        .passed = !remedy.is_wrong,
    };
  }
}

ComparisonRecord comparison_of(const RunRecord& run, const AskedStep& asked) {
  if (run.entries.size() != asked.remedies.size() + 1) {
    throw UsageError(fmt::format("request.remedies: {} of {} that were measured beside the work as it is",
                                 asked.remedies.size(), run.entries.size()));
  }
  ComparisonRecord record;
  record.margin = asked.advice.margin;
  record.processes_asked = 1;
  record.alternatives = {asked.stage == "step" ? "before" : "as it is"};
  std::vector<double> works = {1.0};
  for (const AskedRemedy& remedy : asked.remedies) {
    record.alternatives.push_back(study::remedy_name(remedy.words.study, remedy.words.arm));
    works.push_back(remedy.work);
  }
  record.works = recorded_works(std::move(works));
  const ComparisonItems items{.items = {RunEntry{}}, .alternatives = run.entries.size(), .have_total = false};
  compare_processes(items, {&run, 1}, record);
  set_errors(asked.remedies, record);
  return record;
}

void add_step(const AskedStep& asked, ComparisonRecord comparison, study::AdviceRecord& advice) {
  std::vector<study::Candidate> candidates;
  for (const AskedRemedy& remedy : asked.remedies) {
    candidates.push_back({remedy.words.study, remedy.words.arm, remedy.memory});
  }
  const study::TriedRemedy* taken = study::add_step(advice, std::move(comparison), candidates);
  if (taken == nullptr) return;
  const AskedRemedy& remedy = asked.remedies.at(study::alternative_of(advice.steps.back(), *taken) - 1);
  auto place = advice.recommendations.end();
  if (remedy.goes_before) {
    place = std::ranges::find(advice.recommendations, *remedy.goes_before, &study::Recommendation::study);
  }
  advice.recommendations.insert(place, remedy.words);
}

}  // namespace

std::string advise(const std::string& measured, const std::string& request) {
  AskedStep asked = read_step(request);
  const RunRecord run = read_run_record(measured, "measured");
  ComparisonRecord comparison = comparison_of(run, asked);
  study::AdviceRecord& advice = asked.advice;
  advice.environment = run.environment;
  advice.device = run.device;
  if (advice.layers.empty() && !run.entries.front().result.measurements.empty()) {
    const Result& first = run.entries.front().result;
    study::AdvisedLayer& layer = advice.layers.emplace_back();
    layer.subject = first.subject;
    layer.time = first.measurements.front().time;
    layer.share = 1.0;
    layer.is_tried = true;
    layer.findings = first.findings;
  }
  if (asked.stage == "together") {
    advice.together = std::move(comparison);
  } else {
    add_step(asked, std::move(comparison), advice);
  }
  advice.interrupted = run.interrupted;
  advice.conclusions = study::conclusions_of(advice);
  return write_record(advice);
}

}  // namespace jitterscope::c_api
