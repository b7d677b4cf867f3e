#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "c_api/guarded.hpp"
#include "c_api/open_session.hpp"
#include "commands/advise/record.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"
#include "record/describe_advice.hpp"
#include "record/describe_measurement.hpp"
#include "record/envelope.hpp"
#include "study/advice.hpp"

// The functions of jitterscope/c.h. For advice about callables the caller makes the remedies, and this
// library judges their times. judge.cpp has the judge's.

namespace jitterscope::c_api {

/// Returns the record of `advise`. Throws UsageError if what was measured does not fit the request.
std::string advise(const std::string& measured, const std::string& request);

namespace {

using Reason = std::array<char, JITTERSCOPE_REASON_SIZE>;

[[noreturn]] void fail(const std::string& name, const char* what, Reason& reason) {
  reason.back() = '\0';
  throw FailedError(reason.front() == '\0' ? fmt::format("{} {}", name, what)
                                           : fmt::format("{} {} ({})", name, what, reason.data()));
}

CallableWork work_of(const jitterscope_callable& callable) {
  require(callable.name, "callable.name");
  if (callable.launch == nullptr) refuse_null("callable.launch");
  CallableWork work{.name = callable.name, .launch = {}};
  work.launch = [callable, name = work.name](NativeQueue queue) {
    Reason reason{};
    if (callable.launch(queue, reason.data(), callable.context) != 0) fail(name, "failed", reason);
  };
  if (callable.repeat != nullptr) {
    work.repeat = [callable, name = work.name](NativeQueue queue, std::int64_t launches) {
      Reason reason{};
      if (callable.repeat(queue, launches, reason.data(), callable.context) != 0)
        fail(name, "failed", reason);
    };
  }
  if (callable.record == nullptr) return work;
  work.record = [callable, name = work.name](NativeQueue queue) {
    Reason reason{};
    NativeGraph graph = nullptr;
    if (callable.record(queue, &graph, reason.data(), callable.context) != 0) {
      fail(name, "cannot be recorded", reason);
    }
    return graph;
  };
  return work;
}

std::string progress_json(const Progress& progress) {
  Json json = {{"operation", progress.operation},
               {"cache", to_string(progress.conditions.cache)},
               {"load", to_string(progress.conditions.load)},
               {"rounds", progress.rounds},
               {"median_seconds", to_seconds(progress.median)},
               {"time_left_seconds", to_seconds(progress.time_left)}};
  if (std::isfinite(progress.precision)) json["precision"] = progress.precision;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Calls the caller's progress function. Once it has asked to stop, it is not called again.
class Listener {
 public:
  Listener(jitterscope_progress progress, void* context) : progress_(progress), context_(context) {}

  void tell(const std::string& json) { ask(json.c_str()); }
  bool stops() { return ask(nullptr); }

 private:
  bool ask(const char* json) {
    if (!is_stopped_) is_stopped_ = progress_(json, context_) != 0;
    return is_stopped_;
  }

  jitterscope_progress progress_;
  void* context_;
  bool is_stopped_ = false;
};

MeasureOptions listeners_of(jitterscope_progress progress, void* context) {
  MeasureOptions options;
  if (progress == nullptr) return options;
  const auto listener = std::make_shared<Listener>(progress, context);
  options.progress = [listener](const Progress& now) { listener->tell(progress_json(now)); };
  options.interrupted = [listener] { return listener->stops(); };
  return options;
}

explain::ExplainOptions study_listeners_of(jitterscope_progress progress, void* context) {
  explain::ExplainOptions options;
  if (progress == nullptr) return options;
  const auto listener = std::make_shared<Listener>(progress, context);
  options.progress = [listener](const std::string& stage, double share) {
    listener->tell(Json{{"stage", stage}, {"share", share}}.dump());
  };
  options.interrupted = [listener] { return listener->stops(); };
  return options;
}

ShownPage read_page(const char* text) {
  ShownPage shown;
  if (text == nullptr) return shown;
  const Json document = parse_document(text, "page");
  const Place place{nullptr, "page"};
  Reader fields(document, place);
  std::int64_t width = static_cast<std::int64_t>(kPageWidth), top = 0;
  std::string findings;
  fields("width", width);
  fields("top", top);
  fields("details", shown.details);
  fields("findings", findings);
  fields.check(width >= 20 && width <= 10'000, "width", "columns from 20 to 10000");
  fields.check(top >= 0, "top", "a number of operations");
  fields.check(findings.empty() || findings == "none" || findings == "top" || findings == "all", "findings",
               "none, top or all");
  shown.width = static_cast<std::size_t>(width);
  if (top > 0) shown.top = static_cast<std::size_t>(top);
  if (findings == "none") shown.findings = FindingsShown::none;
  if (findings == "top") shown.findings = FindingsShown::top;
  if (findings == "all") shown.findings = FindingsShown::all;
  return shown;
}

std::string devices_json() {
  Json list = Json::array();
  for (const DeviceListing& device : list_devices()) {
    list.push_back({{"id", device.id}, {"name", device.name}, {"problem", device.problem}});
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string plots_json(const AnyRecord& record) {
  Json list = Json::array();
  for (const Plot& plot : plots_of(record)) {
    list.push_back({{"id", plot.id}, {"title", plot.title}, {"caption", plot.caption}, {"spec", plot.spec}});
  }
  return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace
}  // namespace jitterscope::c_api

namespace c_api = jitterscope::c_api;

const char* jitterscope_version() {
  static const std::string text(jitterscope::version());
  return text.c_str();
}

const char* jitterscope_last_error() { return c_api::last_error(); }

void jitterscope_free(char* text) { std::free(text); }

int jitterscope_list_devices(char** json) {
  return c_api::guarded([&] { c_api::require(json, "json") = c_api::copied(c_api::devices_json()); });
}

int jitterscope_open(const char* name, jitterscope_device** device) {
  return c_api::guarded([&] {
    c_api::require(name, "name");
    c_api::require(device, "device") = nullptr;
    *device = new jitterscope_device{c_api::OpenSession(jitterscope::open_device(name))};
  });
}

void jitterscope_close(jitterscope_device* device) {
  // After a fork the device belongs to the parent process: this process can neither wait for it nor free it.
  if (device == nullptr || !device->session.is_own()) return;
  c_api::guarded([&] { delete device; });
}

int jitterscope_describe(jitterscope_device* device, char** json) {
  return c_api::guarded([&] {
    const jitterscope::DeviceDescription description = c_api::require(device, "device").session.describe();
    c_api::require(json, "json") = c_api::copied(jitterscope::write_value(description).dump());
  });
}

int jitterscope_stream(jitterscope_device* device, void** stream) {
  return c_api::guarded(
      [&] { c_api::require(stream, "stream") = c_api::require(device, "device").session.stream(); });
}

int jitterscope_measure(jitterscope_device* device, const char* request,
                        const jitterscope_callable* callables, size_t count, jitterscope_progress progress,
                        void* progress_context, char** record) {
  return c_api::guarded([&] {
    c_api::require(record, "record") = nullptr;
    c_api::require(request, "request");
    c_api::require(callables, "callables");
    if (count == 0) throw jitterscope::UsageError("count: there is nothing to time");
    std::vector<jitterscope::CallableWork> works;
    for (size_t i = 0; i < count; ++i) works.push_back(c_api::work_of(callables[i]));
    *record =
        c_api::copied(c_api::require(device, "device")
                          .session.measure(request, works, c_api::listeners_of(progress, progress_context)));
  });
}

int jitterscope_explain(jitterscope_device* device, const char* request, const jitterscope_callable* callable,
                        jitterscope_progress progress, void* progress_context, char** record) {
  return c_api::guarded([&] {
    c_api::require(record, "record") = nullptr;
    c_api::require(request, "request");
    const jitterscope::CallableWork work = c_api::work_of(c_api::require(callable, "callable"));
    *record = c_api::copied(
        c_api::require(device, "device")
            .session.explain(request, work, c_api::study_listeners_of(progress, progress_context)));
  });
}

int jitterscope_advise(const char* measured, const char* request, char** record) {
  return c_api::guarded([&] {
    c_api::require(measured, "measured");
    c_api::require(request, "request");
    c_api::require(record, "record") = c_api::copied(c_api::advise(measured, request));
  });
}

int jitterscope_plots(const char* record, char** json) {
  return c_api::guarded([&] {
    c_api::require(record, "record");
    c_api::require(json, "json") =
        c_api::copied(c_api::plots_json(jitterscope::read_record(record, "record")));
  });
}

int jitterscope_show(const char* record, const char* page, char** text) {
  return c_api::guarded([&] {
    c_api::require(record, "record");
    c_api::require(text, "text") = c_api::copied(
        jitterscope::record_text(jitterscope::read_record(record, "record"), c_api::read_page(page)).lines());
  });
}

namespace jitterscope::c_api {
namespace {

struct AskedRemedy {
  study::Recommendation words;
  double work = 1.0;
  std::optional<double> error, memory;
  std::optional<std::string> goes_before;  ///< study before whose lines its own are inserted, such as graph
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
  std::string stage = "step";  ///< or together: the first is the work as it was, the second has all remedies
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

// Enters how far each alternative's result is off, where a comparison of operations has its verification.
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
