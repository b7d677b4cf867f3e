#include "c_api/open_session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "commands/explain/record.hpp"
#include "experiment/run_plan.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"
#include "record/run_file.hpp"
#include "worker/neighbour_process.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope::c_api {
namespace {

struct Request {
  MeasureOptions options;
  std::string title, command_line;
};

// Sustained loads (half a minute) and two cache states are measured only on request.
MeasureOptions usual_options() {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.time_limit = milliseconds(1500);
  return options;
}

// Returns every option that a request may contain. Optional ones need a value here, or they are not written.
Json known_options() {
  MeasureOptions all;
  all.instrument = Instrument::events;
  all.reference_clock = all.locked_clock = Hertz(1);
  all.launches_per_round = all.placement = 1;
  all.counters.emplace();
  all.process_variation.emplace();
  return write_value(all);
}

Request read_request(const std::string& text) {
  Request request;
  request.options = usual_options();
  const Json document = parse_document(text, "request");
  const Place place{nullptr, "request"};
  Reader fields(document, place);
  if (const auto options = document.find("options"); options != document.end()) {
    // One by one over the usual options: a whole value would reset the others to the defaults.
    Json all = write_value(request.options);
    const Json known = known_options();
    if (!options->is_object()) fields.inside("options").refuse("an object");
    for (const auto& [key, value] : options->items()) {
      if (!known.contains(key)) fields.inside("options").fail(fmt::format("there is no option '{}'", key));
      all[key] = value;
    }
    request.options = read_value<MeasureOptions>(all, "options");
  }
  fields("title", request.title);
  fields("command_line", request.command_line);
  return request;
}

// Reads the options and the process times of a study; returns its command line.
std::string read_study(const std::string& text, const std::string& device, explain::ExplainOptions& options) {
  const Json document = parse_document(text, "request");
  const Place place{nullptr, "request"};
  Reader fields(document, place);
  double time_limit = to_seconds(options.time_limit);
  std::string command_line, program;
  fields("program", program);
  fields("factors", options.factors);
  fields("time_limit_seconds", time_limit);
  fields("seed", options.seed);
  fields("command_line", command_line);
  fields.check(time_limit >= 1.0 && time_limit <= 3600.0, "time_limit_seconds", "seconds from 1 to 3600");
  options.time_limit = seconds(time_limit);
  if (!program.empty()) {
    options.start_neighbour = [program, device, interrupted = options.interrupted] {
      return start_neighbour_process(program, device, interrupted);
    };
  }
  if (const auto processes = document.find("processes"); processes != document.end()) {
    if (!processes->is_array()) fields.inside("processes").refuse("records");
    for (const Json& process : *processes) {
      const auto own = explain::times_of(read_run_record(process.dump(), "processes"));
      options.process_times.insert(options.process_times.end(), own.begin(), own.end());
    }
  }
  return command_line;
}

// A session lives as long as its process, so a calibration that another program disturbed would spoil all of
// its times. One far coarser than on any machine at rest is repeated, and the best is kept.
std::unique_ptr<Session> calibrated(Device& device) {
  constexpr Nanoseconds kCoarse = microseconds(1);
  constexpr int kTries = 3;
  std::unique_ptr<Session> best;
  for (int i = 0; i < kTries && (!best || best->calibration().events.uncertainty > kCoarse); ++i) {
    auto session = std::make_unique<Session>(device);
    if (best && best->calibration().events.uncertainty < session->calibration().events.uncertainty) continue;
    best = std::move(session);
  }
  return best;
}

}  // namespace

class OpenSession::Use {
 public:
  explicit Use(OpenSession& session) : session_(session) {
    if (!session.is_own()) {
      throw UsageError(
          "this device was opened by the process that this one was forked from; open it anew, which on a GPU needs a "
          "process that is spawned and not forked");
    }
    if (session.is_used_.exchange(true)) {
      throw UsageError(
          "this device is measuring already, for another thread or for a callable that measures; measure one after "
          "the other");
    }
  }
  ~Use() { session_.is_used_ = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  OpenSession& session_;
};

OpenSession::OpenSession(std::unique_ptr<Device> device)
    : device_(std::move(device)),
      description_(device_->describe()),
      session_(calibrated(*device_)),
      owner_(::getpid()) {}

bool OpenSession::is_own() const { return owner_ == ::getpid(); }

DeviceDescription OpenSession::describe() {
  const Use use(*this);
  return device_->describe();
}

NativeQueue OpenSession::stream() {
  const Use use(*this);
  return session_->queue().native();
}

std::string OpenSession::measure(const std::string& text, const std::vector<CallableWork>& callables,
                                 MeasureOptions listeners) {
  const Use use(*this);
  Request request = read_request(text);
  MeasureOptions& options = request.options;
  options.progress = std::move(listeners.progress);
  options.interrupted = std::move(listeners.interrupted);
  Plan plan{.groups = {{}}, .ceilings = false};
  for (const CallableWork& callable : callables)
    plan.groups.front().push_back({TrialSubject(callable), options});
  RunRecord record;
  record.title = request.title.empty() ? callables.front().name : request.title;
  record.environment = read_environment(request.command_line);
  record.device = description_;  // as described when it was opened: asking takes longer than a round
  record.calibration = session_->calibration();
  // If the caller's own function failed, or the device, there is nothing to go on with.
  run_plan(*session_, plan, record, {.failed = throw_as_kind});
  if (record.entries.size() < callables.size()) throw InterruptedError();
  return write_record(record);
}

std::string OpenSession::explain(const std::string& request, const CallableWork& callable,
                                 explain::ExplainOptions listeners) {
  const Use use(*this);
  real_capabilities(*device_);
  ExplainRecord record;
  record.environment = read_environment(read_study(request, description_.id, listeners));
  record.device = description_;
  run_study(*session_, TrialSubject(callable), listeners, record);
  return write_record(record);
}

}  // namespace jitterscope::c_api
