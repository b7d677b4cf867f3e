#include "measure/callable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"
#include "measure/schedule.hpp"

namespace jitterscope {
namespace {

// Loops are timed by operations that are prepared for them; a program times one of its own by a callable that
// launches so many times.
void refuse_loops(const MeasureOptions& options) {
  if (options.iterations.empty()) return;
  throw UsageError(
      "MeasureOptions: iterations are for operations: give a callable that launches so many times");
}

// Nothing is known of what a callable launches on, and nothing of it was placed here.
void forget_operands(Result& result) {
  for (Measurement& measurement : result.measurements) {
    measurement.conditions.data.reset();
    measurement.conditions.placement.reset();
  }
}

class CallableMeasurer {
 public:
  CallableMeasurer(Session& session, const std::vector<CallableWork>& callables,
                   const MeasureOptions& options)
      : session_(session),
        options_(options),
        launches_early_(real_capabilities(session.device()).launches_return_early) {
    for (const CallableWork& callable : callables) workloads_.emplace_back(session.device(), callable);
  }

  std::vector<CallableOutcome> measure() {
    std::vector<Result> results = measure_all();
    if (launches_early_ && find_work_elsewhere(results)) results = measure_all();
    std::vector<CallableOutcome> outcomes;
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      Result& result = results[i];
      forget_operands(result);
      if (!is_interrupted()) add_launch_details(session_, workloads_[i], options_, result);
      std::vector<std::string> notes = notes_on(workloads_[i]);
      outcomes.push_back({std::move(result), std::move(notes)});
    }
    return outcomes;
  }

 private:
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }

  std::vector<Result> measure_all() {
    try {
      return session_.measure({group()});
    } catch (const InterruptedError&) {
      throw;
    } catch (const Error& error) {
      // Only the recording that was asked for can be done without; whatever else is wrong is wrong again.
      if (options_.queue != QueueMode::graph) throw;
      options_.queue = QueueMode::saturated;
      for (CallableWorkload& workload : workloads_) workload.not_recorded(error.what());
      return session_.measure({group()});
    }
  }

  TrialGroup group() {
    TrialGroup trials;
    for (CallableWorkload& workload : workloads_) trials.push_back({workload, workload.name(), options_});
    return trials;
  }

  bool find_work_elsewhere(const std::vector<Result>& results) {
    bool any = false;
    for (std::size_t i = 0; i < workloads_.size() && !is_interrupted(); ++i) {
      CallableWorkload& workload = workloads_[i];
      if (leaves_work_elsewhere(session_, workload)) {
        workload.set_place(WorkPlace::elsewhere);
      } else if (may_have_launched_nothing(results[i]) && launches_nothing(session_, workload)) {
        workload.set_place(WorkPlace::nowhere);
      }
      any = any || workload.place() != WorkPlace::queue;
    }
    return any;
  }

  // A recording holds something for each launch, and be it empty: that may take a microsecond.
  static bool may_have_launched_nothing(const Result& result) {
    const auto is_short = [](const Measurement& measurement) {
      return measurement.time.median < microseconds(2);
    };
    return !result.waits_for_device && std::ranges::any_of(result.measurements, is_short);
  }

  std::vector<std::string> notes_on(const CallableWorkload& workload) {
    std::vector<std::string> notes;
    if (!workload.why_not_recorded().empty()) {
      notes.push_back(
          fmt::format("{} was launched in each round and not replayed, since it cannot be recorded: {}.",
                      workload.name(), workload.why_not_recorded()));
    }
    if (workload.place() != WorkPlace::queue) notes.push_back(sentence_of_place(workload.work()));
    return notes;
  }

  Session& session_;
  MeasureOptions options_;
  bool launches_early_;
  std::deque<CallableWorkload> workloads_;
};

Result measure_one(Session& session, const Launch& launch, const MeasureOptions& options) {
  refuse_loops(options);
  const CallableWork work{.name = "callable", .launch = launch};
  CallableWorkload workload(session.device(), work);
  Result result = session.measure(workload, work.name, options);
  forget_operands(result);
  if (!is_interrupted(options)) add_launch_details(session, workload, options, result);
  return result;
}

}  // namespace

std::vector<CallableOutcome> measure_callables(Session& session, const std::vector<CallableWork>& callables,
                                               const MeasureOptions& options) {
  refuse_loops(options);
  return CallableMeasurer(session, callables, options).measure();
}

Result measure(Device& device, const Launch& launch, const MeasureOptions& options) {
  real_capabilities(device);
  Session session(device);
  return measure_one(session, launch, options);
}

Result measure(Device& device, NativeQueue stream, const Launch& launch, const MeasureOptions& options) {
  real_capabilities(device);
  Session session(device, stream);
  return measure_one(session, launch, options);
}

}  // namespace jitterscope
