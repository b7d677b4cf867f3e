#include "cli/advised_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/commands.hpp"
#include "cli/compared_processes.hpp"
#include "cli/interruption.hpp"
#include "cli/process_run.hpp"
#include "cli/provider_choice.hpp"
#include "jitterscope/error.hpp"
#include "output/progress.hpp"
#include "output/standard_output.hpp"

namespace jitterscope::cli {
namespace {

// Where remedies are tried: most of the time, and not the many layers that hold none of it.
constexpr double kShareOfTime = 0.9;
// Of the budget, for the first step: it has the most arms, and the others and the sum come after it.
constexpr double kShareOfFirstStep = 0.45;
// A trial of a comparison, before one was made: it shares its idles, but is prepared and verified as well.
constexpr double kTrialOverRun = 1.0;

std::size_t trials_of_work(const WorkList& work, std::size_t alternatives) {
  return work.model.layers.size() * alternatives;
}

constexpr double kLarger = 1.01;

bool is_allowed(const std::vector<std::string>& allowed, const study::Study& study) {
  return allowed.empty() || std::ranges::find(allowed, study.id) != allowed.end();
}

// A remedy is one where there is something to write.
bool can_be_written(const study::Study& study, const study::Arm& arm) {
  return !study.remedy(arm.name).lines.empty();
}

}  // namespace

AdvisedWork::AdvisedWork(AdviceRequest request, const Invocation& invocation, study::AdviceRecord& record)
    : request_(std::move(request)), invocation_(invocation), record_(record), began_(host_time_now()) {
  work_ = read_targets(request_.targets, request_.only);
  record_.title = work_.title;
  const std::unique_ptr<Device> device = open_device(request_.device, request_.options.seed);
  record_.device = device->describe();
  if (!record_.device.capabilities.launches_return_early) request_.options.queue = QueueMode::saturated;
  fit_to_device(work_, record_.device);
  choose_provider(work_, parse_provider(request_.provider), record_.device, true);
  refuse_impossible(work_, record_.device);
  record_.notes.insert(record_.notes.end(), work_.model.notes.begin(), work_.model.notes.end());
}

Nanoseconds AdvisedWork::time_left() const { return request_.budget - (host_time_now() - began_); }

void AdvisedWork::note_once(std::string note) {
  if (std::ranges::find(record_.notes, note) == record_.notes.end()) record_.notes.push_back(std::move(note));
}

// All arms of all studies that are left, as the work is now.
std::vector<AppliedArm> AdvisedWork::arms_to_try(const WorkList& work) {
  const std::unique_ptr<Device> device = open_device(request_.device, request_.options.seed);
  record_.untried.clear();
  std::vector<AppliedArm> found;
  for (const study::Study& study : study::all_studies()) {
    if (std::ranges::find(taken_, &study, &AppliedArm::study) != taken_.end()) continue;
    const auto leave_out = [&](std::string reason) {
      record_.untried.push_back({study.id, std::move(reason)});
    };
    if (!is_allowed(request_.allowed, study)) {
      leave_out("not among --allow");
      continue;
    }
    if (study.changes_amount && record_.goal != study::Goal::throughput) {
      leave_out("a larger batch makes no launch shorter (--goal throughput)");
      continue;
    }
    if (study.saves_host_time && request_.options.queue != QueueMode::eager) {
      leave_out("only launches that wait for the host gain from it (--queue eager)");
      continue;
    }
    study::StudyContext context{*device, record_.device, {}};
    for (const Layer& layer : work.model.layers) {
      if (study.can_be_asked_of(layer.operation)) context.operations.push_back(layer.operation);
    }
    if (context.operations.empty()) {
      leave_out("it is about " + study.concerns);
      continue;
    }
    try {
      const std::vector<study::Arm> arms = study.arms(context);
      for (std::size_t i = 1; i < arms.size(); ++i) {
        AppliedArm arm{&study, arms[i]};
        // Wider types only take longer, the widest by far.
        const bool is_larger = memory_of({arm}, work) > memory_of({}, work) * kLarger;
        if (can_be_written(study, arm.arm) && !is_larger) found.push_back(std::move(arm));
      }
    } catch (const UsageError& error) {
      leave_out(error.what());
    }
  }
  return found;
}

std::string AdvisedWork::plan_text() {
  std::string text = fmt::format("What would make {} faster on {}?\n\n", work_.title, record_.device.name);
  text += fmt::format("measured as it is: {}\n", counted(std::ssize(work_.model.layers), "operation"));
  for (const AppliedArm& arm : arms_to_try(work_)) {
    text += fmt::format("tried: {}\n", study::remedy_name(arm.study->id, arm.arm.name));
  }
  for (const study::UntriedStudy& untried : record_.untried) {
    text += fmt::format("not tried: {}: {}\n", untried.study, untried.reason);
  }
  return text +
         fmt::format(
             "Each step compares what is left in {} fresh processes, on the layers that hold {} of the time, "
             "and the sum of what was taken is measured in the end; {} at most.\n",
             request_.processes, percent_text(kShareOfTime), duration_text(request_.budget));
}

void AdvisedWork::advise() {
  observe();
  while (!record_.interrupted && step()) {
  }
  if (!taken_.empty() && !record_.interrupted) measure_together();
}

// Above the live line, so that one sees how far it is.
void AdvisedWork::say(const std::string& stage) const {
  fmt::print(stderr, "jitterscope: {}, {} of {} left\n", stage,
             duration_text(std::max(Nanoseconds(0), time_left())), duration_text(request_.budget));
}

void AdvisedWork::observe() {
  say("measuring the work as it is");
  const Nanoseconds start = host_time_now();
  Plan plan;
  for (const Layer& layer : work_.model.layers) {
    plan.groups.push_back({{layer.operation, request_.options}});
    plan.entries.push_back({.count = layer.count(), .layers = layer.names});
  }
  plan.ceilings = false;
  RunRecord found;
  found.device = record_.device;
  measure_in_processes(plan, 1, invocation_, found);
  record_.interrupted = found.interrupted;
  std::string failure = "nothing was measured";
  for (const RunEntry& entry : found.entries) {
    if (entry.result.measurements.empty()) {
      failure = entry.result.failure.empty() ? failure : entry.result.failure;
      continue;
    }
    const Measurement& measurement = entry.result.measurements.front();
    record_.layers.push_back({.layers = entry.layers,
                              .count = std::max<std::int64_t>(1, entry.count),
                              .subject = entry.result.subject,
                              .time = measurement.time,
                              .findings = entry.result.findings});
  }
  if (record_.layers.empty() && !record_.interrupted) throw FailedError(failure);
  const auto measured = static_cast<double>(std::max<std::size_t>(1, plan.groups.size()));
  time_of_trial_ = (host_time_now() - start) / measured * kTrialOverRun;
  study::choose_layers(record_.layers, kShareOfTime, record_.layers.size());
  const std::size_t arms = arms_to_try(tried_work()).size() + 1;
  const Nanoseconds each =
      time_of_trial_ * static_cast<double>(arms) * static_cast<double>(request_.processes);
  const double fit = each > Nanoseconds(0) ? request_.budget * kShareOfFirstStep / each : 1.0;
  study::choose_layers(record_.layers, kShareOfTime, std::max<std::size_t>(1, static_cast<std::size_t>(fit)));
}

// What remedies are tried on.
WorkList AdvisedWork::tried_work() const {
  WorkList work = work_;
  std::vector<bool> keep;
  for (const Layer& layer : work.model.layers) {
    const auto known = std::ranges::find_if(record_.layers, [&](const study::AdvisedLayer& each) {
      const Operation* operation = operation_of(each.subject);
      return each.is_tried && operation != nullptr && *operation == layer.operation;
    });
    keep.push_back(known != record_.layers.end());
  }
  keep_layers(work, keep);
  return work;
}

// Of all operands, for as much work as the first arm does.
double AdvisedWork::memory_of(const std::vector<AppliedArm>& arms, const WorkList& work) const {
  const ComparedAlternative alternative =
      apply_arms("", arms, work, request_.options, request_.provider, record_.device);
  double bytes = 0.0, samples = 1.0;
  for (const AppliedArm& applied : arms) samples *= applied.arm.work;
  for (const Layer& layer : alternative.work.model.layers) {
    bytes += static_cast<double>(layer.operation.bytes().value()) *
             static_cast<double>(std::max<std::int64_t>(1, layer.count()));
  }
  return bytes / samples;
}

// Nothing where an alternative has nothing in common with the first.
std::optional<ComparisonRecord> AdvisedWork::compare(const std::vector<std::vector<AppliedArm>>& alternatives,
                                                     const WorkList& work,
                                                     const std::vector<std::string>& names,
                                                     const MeasureOptions& options, bool verify) {
  ComparisonRecord record;
  record.device = record_.device;
  record.margin = record_.margin;
  record.processes_asked = request_.processes;
  record.alternatives = names;
  std::vector<ComparedAlternative> compared;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    compared.push_back(
        apply_arms(names[i], alternatives[i], work, options, request_.provider, record_.device));
    double samples = 1.0;
    for (const AppliedArm& applied : alternatives[i]) samples *= applied.arm.work;
    record.works.push_back(samples);
  }
  const double first = record.works.front();
  for (double& samples : record.works) samples /= first;
  if (std::ranges::all_of(record.works, [](double each) { return each == 1.0; })) record.works.clear();
  ComparedWork plan = pair_alternatives(compared, options, record_.device);
  plan.plan.verify = verify;
  plan.items.have_total = plan.items.items.size() > 1;
  const Nanoseconds start = host_time_now();
  compare_in_processes(plan, invocation_, record);
  const auto trials = static_cast<double>(trials_of_work(work, alternatives.size()) *
                                          static_cast<std::size_t>(request_.processes));
  time_of_trial_ = (host_time_now() - start) / std::max(1.0, trials);
  for (const std::string& note : plan.notes) note_once(note);
  for (const std::string& lost : record.lost_processes) note_once("Lost: " + lost + '.');
  record_.interrupted = record_.interrupted || record.interrupted;
  return record;
}

// Whether one was taken.
bool AdvisedWork::step() {
  const WorkList work = tried_work();
  const WorkList now = apply_arms("", taken_, work, request_.options, request_.provider, record_.device).work;
  std::vector<std::vector<AppliedArm>> alternatives = {taken_};
  std::vector<std::string> names = {"before"};
  std::vector<study::Candidate> candidates;
  const double memory = memory_of(taken_, work);
  for (const AppliedArm& arm : arms_to_try(now)) {
    std::vector<AppliedArm> arms = taken_;
    arms.push_back(arm);
    const std::string problem = problem_of(
        apply_arms("", arms, work, request_.options, request_.provider, record_.device).work, record_.device);
    if (!problem.empty()) {
      note_once(fmt::format("{} is left out: {}.", study::remedy_name(arm.study->id, arm.arm.name), problem));
      continue;
    }
    candidates.push_back({arm.study->id, arm.arm.name, memory_of(arms, work) / memory});
    names.push_back(study::remedy_name(arm.study->id, arm.arm.name));
    alternatives.push_back(std::move(arms));
  }
  if (candidates.empty()) return false;
  const Nanoseconds needed = time_of_trial_ * static_cast<double>(trials_of_work(work, names.size())) *
                             static_cast<double>(request_.processes);
  if (!record_.steps.empty() && needed > time_left()) {
    note_once(fmt::format("The budget of {} did not suffice for a further step: --budget.",
                          duration_text(request_.budget)));
    return false;
  }
  say(fmt::format("step {}: {} on {}", record_.steps.size() + 1, counted(std::ssize(candidates), "arm"),
                  counted(std::ssize(work.model.layers), "operation")));
  const auto comparison = compare(alternatives, work, names, request_.options, true);
  study::AdviceStep& done = record_.steps.emplace_back();
  done.comparison = *comparison;
  done.remedies =
      study::judge(done.comparison, candidates,
                   {.goal = record_.goal, .margin = record_.margin, .tolerance = record_.tolerance});
  if (record_.interrupted) return false;
  const auto taken = std::ranges::find(done.remedies, study::Trying::taken, &study::TriedRemedy::outcome);
  if (taken == done.remedies.end()) return false;
  const study::Study& study = study::find_study(taken->study);
  const auto own = static_cast<std::size_t>(std::ranges::find_if(candidates,
                                                                 [&](const study::Candidate& each) {
                                                                   return each.study == taken->study &&
                                                                          each.arm == taken->arm;
                                                                 }) -
                                            candidates.begin());
  taken_ = alternatives[own + 1];
  recommend(study, taken->arm);
  return true;
}

// What is launched is written before how it is launched: a graph holds the model as it was captured.
void AdvisedWork::recommend(const study::Study& study, const std::string& arm) {
  const study::Remedy remedy = study.remedy(arm);
  const auto is_launching = [](const study::Recommendation& known) {
    return study::find_study(known.study).saves_host_time;
  };
  auto place = record_.recommendations.end();
  if (!study.saves_host_time) place = std::ranges::find_if(record_.recommendations, is_launching);
  record_.recommendations.insert(place, {study.id, arm, remedy.place, remedy.lines, remedy.price});
}

void AdvisedWork::measure_together() {
  const std::vector<std::vector<AppliedArm>> alternatives = {{}, taken_};
  const std::vector<std::string> names = {"as it is", "with all that was taken"};
  const auto duration = [&](const WorkList& work) {
    return time_of_trial_ * static_cast<double>(trials_of_work(work, 2)) *
           static_cast<double>(request_.processes);
  };
  const WorkList tried = tried_work();
  // All layers, if there is time for them.
  const bool all_fit = duration(work_) <= time_left();
  const WorkList& whole = all_fit ? work_ : tried;
  if (!all_fit) {
    note_once(fmt::format(
        "The sum is that of the {} on which remedies were tried: all do not fit into the budget of {}.",
        counted(std::ssize(tried.model.layers), "layer"), duration_text(request_.budget)));
  }
  say("measuring what was taken together");
  record_.together = compare(alternatives, whole, names, request_.options, true);
  if (record_.interrupted) return;
  // A sustained measurement lasts until time and clock have settled: some seconds each.
  constexpr double kSustained = 2.0;  // seconds
  MeasureOptions options = request_.options;
  options.loads = {Load::sustained};
  options.sustained_time_limit = seconds(kSustained);
  const Nanoseconds each = seconds(kSustained) * 2.0 * static_cast<double>(request_.processes);
  const auto fit = static_cast<std::size_t>(std::max(0.0, time_left() / each));
  if (fit == 0) {
    note_once("There was no time left to measure the sum under a sustained load: --budget.");
    return;
  }
  std::vector<study::AdvisedLayer> layers = record_.layers;
  study::choose_layers(layers, kShareOfTime, std::min(fit, tried.model.layers.size()));
  WorkList longest = tried;
  std::vector<bool> keep;
  for (const Layer& layer : longest.model.layers) {
    keep.push_back(std::ranges::any_of(layers, [&](const study::AdvisedLayer& known) {
      const Operation* operation = operation_of(known.subject);
      return known.is_tried && operation != nullptr && *operation == layer.operation;
    }));
  }
  keep_layers(longest, keep);
  say("and without pauses");
  record_.sustained = compare(alternatives, longest, names, options, false);
}

}  // namespace jitterscope::cli
