#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "c_api/open_session.hpp"
#include "commands/advise/record.hpp"
#include "commands/records.hpp"
#include "device/judged_chain.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"
#include "judge/keys.hpp"
#include "judge/worker_start.hpp"
#include "record/describe_advice.hpp"
#include "record/describe_measurement.hpp"
#include "record/envelope.hpp"
#include "study/advice.hpp"

// The functions of jitterscope/c.h. For advice about callables the caller makes the remedies, and this
// library judges their times.

struct jitterscope_judged_chain {
  std::unique_ptr<jitterscope::JudgedChain> chain;
};
struct jitterscope_judged_kernel {
  std::unique_ptr<jitterscope::JudgedKernel> kernel;
};

namespace jitterscope::c_api {

/// Returns the record of `advise`. Throws UsageError if what was measured does not fit the request.
std::string advise(const std::string& measured, const std::string& request);

// Every C function runs its work in guarded(): no exception leaves it, and the thread remembers the error.

/// Does the work. Returns 0, or the exit code of what the work throws.
int guarded(const std::function<void()>& work) noexcept;

/// Throws UsageError that names the argument if the pointer is null.
template <class T>
T& require(T* pointer, std::string_view name);

/// Returns a copy that the caller frees.
char* copied(std::string_view text);

const char* last_error() noexcept;

[[noreturn]] void refuse_null(std::string_view name);

template <class T>
T& require(T* pointer, std::string_view name) {
  if (pointer == nullptr) refuse_null(name);
  return *pointer;
}

namespace {

// An input of a judged call, with its number.
struct NamedInput {
  judging::InputDescription description;
  std::uint32_t index = 0;
};
NamedInput named_input(const jitterscope_judged_input& input) {
  NamedInput named{.description = {.dtype = judging::dtype_of(&require(input.dtype, "dtype")),
                                   .shape = {},
                                   .family = judging::family_of(&require(input.family, "family")),
                                   .below = input.below,
                                   .scale = input.scale},
                   .index = input.index};
  if (input.dimensions > 0) {
    named.description.shape.assign(&require(input.shape, "shape"), input.shape + input.dimensions);
  }
  return named;
}

template <class Secret>
Secret secret_of(const unsigned char* bytes, std::string_view name) {
  Secret secret;
  std::copy_n(&require(bytes, name), secret.bytes.size(), secret.bytes.begin());
  return secret;
}

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

int jitterscope_judge_fill(const jitterscope_judged_input* input, const unsigned char* seed, void* memory,
                           size_t bytes) {
  return c_api::guarded([&] {
    const c_api::NamedInput named = c_api::named_input(c_api::require(input, "input"));
    const auto given = c_api::secret_of<jitterscope::judging::Seed>(seed, "seed");
    jitterscope::judging::fill(named.description, named.description.family, given, named.index,
                               {static_cast<std::uint8_t*>(memory), bytes});
  });
}

int jitterscope_judge_first_digest(const unsigned char* key, unsigned char* digest) {
  return c_api::guarded([&] {
    namespace judging = jitterscope::judging;
    const judging::Digest first = judging::first_digest_of(c_api::secret_of<judging::Key>(key, "key"));
    std::ranges::copy(first.bytes, &c_api::require(digest, "digest"));
  });
}

int jitterscope_judge_digest(const unsigned char* key, const unsigned char* before, const void* outputs,
                             size_t bytes, unsigned char* digest) {
  return c_api::guarded([&] {
    namespace judging = jitterscope::judging;
    const judging::Digest found = judging::digest_of(c_api::secret_of<judging::Key>(key, "key"),
                                                     c_api::secret_of<judging::Digest>(before, "before"),
                                                     {static_cast<const std::uint8_t*>(outputs), bytes});
    std::ranges::copy(found.bytes, &c_api::require(digest, "digest"));
  });
}

int jitterscope_judge_hold_back(const jitterscope_judged_place* place, int* has) {
  return c_api::guarded([&] {
    namespace judging = jitterscope::judging;
    using jitterscope::Bytes;
    const jitterscope_judged_place& given = c_api::require(place, "place");
    judging::ProcessLimits limits;
    limits.data = Bytes(given.data);
    limits.file = Bytes(given.file);
    limits.descriptors = given.descriptors;
    limits.core_seconds = given.core_seconds;
    const judging::OwnFiles files{&c_api::require(given.folder, "folder"),
                                  &c_api::require(given.user, "user"), &c_api::require(given.group, "group"),
                                  &c_api::require(given.options, "options")};
    c_api::require(has, "has") =
        judging::become_worker(given.socket, given.errors, given.memory, files, limits);
  });
}

int jitterscope_judge_open_chain(void* mailbox, size_t most_bytes, jitterscope_judged_chain** chain) {
  return c_api::guarded([&] {
    if (mailbox == nullptr) c_api::refuse_null("mailbox");
    auto opened =
        jitterscope::open_judged_chain(static_cast<jitterscope::judging::Mailbox*>(mailbox), most_bytes);
    c_api::require(chain, "chain") = new jitterscope_judged_chain{std::move(opened)};
  });
}

int jitterscope_judge_add_input(jitterscope_judged_chain* chain, const jitterscope_judged_input* input) {
  return c_api::guarded([&] {
    const c_api::NamedInput named = c_api::named_input(c_api::require(input, "input"));
    c_api::require(chain, "chain")
        .chain->add_input({.drawing = jitterscope::judging::drawing_of(named.description,
                                                                       named.description.family, named.index),
                           .dtype = named.description.dtype,
                           .elements = static_cast<std::uint64_t>(named.description.elements())});
  });
}

int jitterscope_judge_release(jitterscope_judged_chain* chain, void* stream, uint32_t ticket) {
  return c_api::guarded([&] { c_api::require(chain, "chain").chain->release(stream, ticket); });
}

int jitterscope_judge_fill_all(jitterscope_judged_chain* chain, void* stream, void* const* memories) {
  return c_api::guarded([&] { c_api::require(chain, "chain").chain->fill(stream, memories); });
}

int jitterscope_judge_evict(jitterscope_judged_chain* chain, void* stream, size_t bytes) {
  return c_api::guarded([&] { c_api::require(chain, "chain").chain->evict(stream, bytes); });
}

int jitterscope_judge_keep(jitterscope_judged_chain* chain, void* stream, const void* const* outputs,
                           const size_t* sizes, size_t count, void* kept, uint32_t ticket) {
  return c_api::guarded([&] {
    std::vector<jitterscope::ChainOutput> all;
    for (size_t i = 0; i < count; ++i) all.push_back({outputs[i], sizes[i]});
    c_api::require(chain, "chain").chain->keep(stream, all, kept, ticket);
  });
}

int jitterscope_judge_open_kernel(const char* text, jitterscope_judged_kernel** kernel, char** buffers) {
  return c_api::guarded([&] {
    using jitterscope::CudaKernel, jitterscope::KernelArgument, jitterscope::UsageError;
    const auto operation = jitterscope::Operation::parse(&c_api::require(text, "text"));
    const auto* asked = std::get_if<CudaKernel>(&operation.parameters());
    if (asked == nullptr)
      throw UsageError(std::string(text) + " is no kernel, cuda:FILE.cu:KERNEL,grid=…,block=…");
    nlohmann::json described = nlohmann::json::array();
    for (const KernelArgument& each : asked->arguments) {
      using enum KernelArgument::Kind;
      if (each.kind == number) continue;
      described.push_back({{"name", each.name},
                           {"kind", each.kind == input    ? "input"
                                    : each.kind == output ? "output"
                                                          : "inout"},
                           {"dtype", to_string(each.dtype)},
                           {"count", each.count}});
    }
    c_api::require(kernel, "kernel") = new jitterscope_judged_kernel{jitterscope::open_judged_kernel(*asked)};
    c_api::require(buffers, "buffers") = c_api::copied(described.dump());
  });
}

int jitterscope_judge_launch(jitterscope_judged_kernel* kernel, void* stream, void* const* buffers) {
  return c_api::guarded([&] { c_api::require(kernel, "kernel").kernel->launch(stream, buffers); });
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

namespace {

thread_local std::string error_of_thread = "{}";

int remember(ExitCode code, const std::string& message) {
  using Text = nlohmann::ordered_json;
  const Text error = {{"exit_code", static_cast<int>(code)}, {"message", message}};
  error_of_thread = error.dump(-1, ' ', false, Text::error_handler_t::replace);
  return static_cast<int>(code);
}

}  // namespace

int guarded(const std::function<void()>& work) noexcept {
  try {
    try {
      work();
      return 0;
    } catch (const Error& error) {
      return remember(error.exit_code(), error.what());
    } catch (const std::bad_alloc&) {
      return remember(ExitCode::failed, "out of memory");
    } catch (const std::exception& error) {
      return remember(ExitCode::failed, error.what());
    }
  } catch (...) {  // no memory even for the message
    return static_cast<int>(ExitCode::failed);
  }
}

void refuse_null(std::string_view name) {
  throw UsageError(fmt::format("{}: a null pointer was given", name));
}

char* copied(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

const char* last_error() noexcept { return error_of_thread.c_str(); }

}  // namespace jitterscope::c_api
