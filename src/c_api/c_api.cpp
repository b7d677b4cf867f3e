// The functions of jitterscope/c.h.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "c_api/advise.hpp"
#include "c_api/calls.hpp"
#include "c_api/open_session.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"
#include "output/record_text.hpp"
#include "record/describe_device.hpp"
#include "record/envelope.hpp"
#include "record/record.hpp"
#include "report/plots.hpp"

namespace jitterscope::c_api {
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

// A caller's progress function. Once it said stop, nothing is asked any more.
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
  // After a fork the device is the parent's: what would be waited for and freed is not here.
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
        jitterscope::record_text(jitterscope::read_record(record, "record"), c_api::read_page(page)));
  });
}
