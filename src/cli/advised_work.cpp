#include "cli/advised_work.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/compared_work.hpp"
#include "cli/invocation.hpp"
#include "cli/provider_choice.hpp"
#include "cli/run_request.hpp"
#include "cli/targets.hpp"
#include "commands/advise/record.hpp"
#include "commands/records.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/verify.hpp"
#include "operation/operation.hpp"
#include "output/progress.hpp"
#include "study/advice.hpp"
#include "study/loss_scaling.hpp"
#include "study/study.hpp"

namespace jitterscope::cli {

namespace {

// Remedies are tried on the layers that take this share of the time, not on the many that take little.
constexpr double kShareOfTime = 0.9;
// Share of the budget for the first step, which has the most arms; other steps and the sum come after it.
constexpr double kShareOfFirstStep = 0.45;
// Trial over run, until a comparison was made: a trial shares its idles, but is also prepared and verified.
constexpr double kTrialOverRun = 1.0;

// Excludes wider types: they take memory, and most of a step's time. On an H200 float64 took 128 % longer
// than float32 for six convolutions of ResNet-50 together, though three of them were faster in it.
constexpr double kMostMemory = 1.01;

// Returns the work of one launch relative to the work as it is.
double work_of(std::span<const AppliedArm> arms) {
  double work = 1.0;
  for (const AppliedArm& applied : arms) work *= applied.arm.work;
  return work;
}

// Returns the bytes of all operands.
double memory_of(const WorkList& work) {
  double bytes = 0.0;
  for (const Layer& layer : work.model.layers) {
    bytes +=
        static_cast<double>(operand_memory(layer.operation).value()) * static_cast<double>(layer.calls());
  }
  return bytes;
}

// Returns how many layers, the longest first, fit in the time if every arm tries and verifies each.
std::size_t layers_that_fit(std::span<const study::AdvisedLayer> layers, std::size_t arms,
                            Nanoseconds trials_of_a_layer, Nanoseconds time,
                            const DeviceDescription& device) {
  std::size_t fit = 0;
  Nanoseconds sum(0.0);
  for (const study::AdvisedLayer& layer : layers) {
    sum += trials_of_a_layer;
    if (const Operation* operation = operation_of(layer.subject))
      sum += verification_time(*operation, device) * static_cast<double>(arms);
    if (sum > time) break;
    ++fit;
  }
  return std::max<std::size_t>(1, fit);
}

// Keeps the layers on which remedies are tried.
WorkList tried_of(WorkList work, std::span<const study::AdvisedLayer> layers) {
  std::vector<bool> keep;
  for (const Layer& layer : work.model.layers) {
    keep.push_back(std::ranges::any_of(layers, [&](const study::AdvisedLayer& known) {
      const Operation* operation = operation_of(known.subject);
      return known.is_tried && operation != nullptr && *operation == layer.operation;
    }));
  }
  keep_layers(work, keep);
  return work;
}

bool is_allowed(const std::vector<std::string>& allowed, const study::Study& study) {
  return allowed.empty() || std::ranges::find(allowed, study.id) != allowed.end();
}

// True if the arm also has lines to write.
bool is_remedy(const study::Arm& arm) { return arm.is_remedy && !arm.remedy.lines.empty(); }

// Arms that change what is launched come before arms that change how it is launched.
std::vector<AppliedArm> with_arm(std::vector<AppliedArm> arms, const AppliedArm& arm) {
  auto place = arms.end();
  if (!arm.study->saves_host_time) {
    place = std::ranges::find_if(arms, [](const AppliedArm& known) { return known.study->saves_host_time; });
  }
  arms.insert(place, arm);
  return arms;
}

// Below: the layers of the work before any advice, with times and hardware counters.

// Carries out the plan in one process.
RunRecord carried_out(Plan plan, const Invocation& invocation, study::AdviceRecord& record) {
  plan.ceilings = false;
  RunRecord found;
  found.device = record.device;
  measure_in_processes(plan, 1, invocation, found);
  record.interrupted = found.interrupted;
  return found;
}

// Fills the record's layers and says whether it was interrupted. Throws FailedError if nothing was measured.
void measure_layers(const WorkList& work, const MeasureOptions& options, const Invocation& invocation,
                    study::AdviceRecord& record) {
  Plan plan;
  for (const Layer& layer : work.model.layers) {
    plan.groups.push_back({{layer.operation, options}});
    plan.entries.push_back({.count = layer.count(), .layers = layer.names});
  }
  const RunRecord found = carried_out(std::move(plan), invocation, record);
  std::string failure = "nothing was measured";
  for (const RunEntry& entry : found.entries) {
    if (entry.result.measurements.empty()) {
      failure = entry.result.failure.empty() ? failure : entry.result.failure;
      continue;
    }
    const Measurement& measurement = entry.result.measurements.front();
    record.layers.push_back({.layers = entry.layers,
                             .count = std::max<std::int64_t>(1, entry.count),
                             .subject = entry.result.subject,
                             .time = measurement.time,
                             .findings = entry.result.findings});
  }
  if (record.layers.empty() && !record.interrupted) throw FailedError(failure);
}

// Counts hardware events of the longest layers: they explain times, and no remedy depends on them. Uses a
// separate process, where the counters' hooks change no time. Adds notes if there are no counters.
void count_longest_layers(const MeasureOptions& options, const Invocation& invocation,
                          study::AdviceRecord& record) {
  constexpr std::size_t kMost = 3;
  const std::size_t count = std::min(kMost, record.layers.size());
  MeasureOptions counting = options;
  counting.time_limit = milliseconds(50);  // the times are already known
  counting.counters.emplace();
  Plan plan;
  for (std::size_t i = 0; i < count; ++i) {
    const study::AdvisedLayer& layer = record.layers[i];
    plan.groups.push_back({{std::get<Operation>(layer.subject), counting}});
    plan.entries.push_back({.count = layer.count, .layers = layer.layers});
  }
  RunRecord found;
  try {
    found = carried_out(std::move(plan), invocation, record);
  } catch (const FailedError& error) {
    return add_once(record.notes, fmt::format("Hardware counters were not read: {}.", error.what()));
  }
  for (std::size_t i = 0; i < std::min(count, found.entries.size()); ++i) {
    const Result& result = found.entries[i].result;
    if (!result.counters.empty()) record.layers[i].counters = result.counters.front();
    if (result.without_counters)
      add_once(record.notes, "Hardware counters were not read: " + result.without_counters->reason);
  }
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
  const std::string taken_in_tf32 = take_as_pytorch(work_, record_.device);
  choose_provider(work_, parse_provider(request_.provider), record_.device, true);
  refuse_impossible(work_, record_.device);
  record_.notes.insert(record_.notes.end(), work_.model.notes.begin(), work_.model.notes.end());
  for (const std::string& note : {taken_in_tf32, note_on_f32(work_, record_.device)}) {
    if (!note.empty()) record_.notes.push_back(note);
  }
}

Nanoseconds AdvisedWork::time_left() const { return request_.budget - (host_time_now() - began_); }

Nanoseconds AdvisedWork::duration_of(std::size_t trials) const {
  return time_of_trial_ * static_cast<double>(trials) * static_cast<double>(request_.processes);
}

Nanoseconds AdvisedWork::verification_of(const WorkList& work, std::size_t alternatives) const {
  Nanoseconds sum(0.0);
  for (const Layer& layer : work.model.layers) sum += verification_time(layer.operation, record_.device);
  return sum * (verification_factor_ * static_cast<double>(alternatives));
}

ComparedAlternative AdvisedWork::applied(const std::string& label, std::span<const AppliedArm> arms,
                                         const WorkList& work, const MeasureOptions& options) const {
  return apply_arms(label, arms, work, options, request_.provider, record_.device);
}

// Returns all arms of the studies that are left, for the work as it is now. Closes the device at once, so
// that the workers can use its memory.
std::vector<AppliedArm> AdvisedWork::arms_to_try(const WorkList& work) {
  const std::unique_ptr<Device> device = open_device(request_.device, request_.options.seed);
  const double most_memory = memory_of(work) * kMostMemory;
  record_.untried.clear();
  std::vector<AppliedArm> found;
  for (const study::Study& study : study::all_studies()) {
    if (!study.is_remedy || std::ranges::find(taken_, &study, &AppliedArm::study) != taken_.end()) continue;
    const auto leave_out = [&](std::string reason) {
      record_.untried.push_back({study.id, std::move(reason)});
    };
    if (!is_allowed(request_.allowed, study)) {
      leave_out("not among --allow");
      continue;
    }
    if (study.changes_amount && record_.goal != study::Goal::throughput) {
      leave_out("a larger batch does not make a launch shorter (it may with --goal throughput)");
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
    // A simulated GPU only models how these kernels move data: a gain there says nothing about a real GPU.
    std::erase_if(context.operations,
                  [&](const Operation& each) { return is_only_moved(each, record_.device); });
    if (context.operations.empty()) {
      leave_out("a simulated GPU does not look at what a kernel does (--device cuda)");
      continue;
    }
    try {
      const std::vector<study::Arm> arms = study.arms(context);
      for (std::size_t i = 1; i < arms.size(); ++i) {
        AppliedArm arm{&study, arms[i]};
        if (!is_remedy(arm.arm)) continue;
        const WorkList changed = applied("", {&arm, 1}, work, request_.options).work;
        if (memory_of(changed) <= most_memory * arm.arm.work) found.push_back(std::move(arm));
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
             "Each step compares the remaining remedies in {} fresh processes, on the layers that take "
             "{} of the time. In the end all that were taken are measured together. At most {}.\n",
             request_.processes, percent_text(kShareOfTime), duration_text(request_.budget));
}

std::string AdvisedWork::unlike_the_program() const {
  constexpr double kUnlike = 1.25;
  if (record_.layers.size() != work_.model.layers.size()) return {};  // some have no time here
  Nanoseconds here;
  for (const study::AdvisedLayer& layer : record_.layers)
    here += layer.time.median * static_cast<double>(layer.count);
  std::optional<Nanoseconds> recorded = Nanoseconds(0);
  for (const Layer& layer : work_.model.layers) recorded = sum_if_known(recorded, layer.recorded_time());
  if (here <= Nanoseconds(0) || !recorded || *recorded <= Nanoseconds(0) ||
      std::max(here / *recorded, *recorded / here) < kUnlike)
    return {};
  const std::string device = work_.model.recorded_device;
  return fmt::format(
      "**These gains are of this device, not of the program**: there these calls take {}{}, and here {}.",
      time_text(*recorded, 0.01), device.empty() ? "" : fmt::format(" ({})", device), time_text(here, 0.01));
}

void AdvisedWork::advise() {
  observe();
  if (!record_.interrupted && !record_.device.capabilities.is_host)
    count_longest_layers(request_.options, invocation_, record_);
  while (!record_.interrupted && step()) {
  }
  if (!taken_.empty() && !record_.interrupted) measure_together();
  note_verified();
}

// Prints a line above the live line, to show the progress.
void AdvisedWork::say(const std::string& stage) const {
  fmt::print(stderr, "jitterscope: {}, {} of {} left\n", stage,
             duration_text(std::max(Nanoseconds(0), time_left())), duration_text(request_.budget));
}

void AdvisedWork::observe() {
  say("measuring the work as it is");
  const Nanoseconds start = host_time_now();
  measure_layers(work_, request_.options, invocation_, record_);
  const auto measured = static_cast<double>(std::max<std::size_t>(1, work_.model.layers.size()));
  time_of_trial_ = (host_time_now() - start) / measured * kTrialOverRun;
  study::choose_layers(record_.layers, kShareOfTime, record_.layers.size());
  const std::size_t arms = arms_to_try(tried_of(work_, record_.layers)).size() + 1;
  study::choose_layers(record_.layers, kShareOfTime,
                       layers_that_fit(record_.layers, arms, duration_of(arms),
                                       request_.budget * kShareOfFirstStep, record_.device));
}

ComparisonRecord AdvisedWork::compare(const std::vector<std::vector<AppliedArm>>& alternatives,
                                      const WorkList& work, const std::vector<std::string>& names,
                                      const MeasureOptions& options, bool verify) {
  ComparisonRecord record;
  record.device = record_.device;
  record.margin = record_.margin;
  record.processes_asked = request_.processes;
  record.alternatives = names;
  std::vector<ComparedAlternative> compared;
  std::vector<double> works;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    compared.push_back(applied(names[i], alternatives[i], work, options));
    works.push_back(work_of(alternatives[i]));
  }
  record.works = recorded_works(std::move(works));
  ComparedWork plan = pair_alternatives(compared, options, record_.device);
  const std::size_t verified = leave_out_verified(plan, verify);
  plan.plan.verify = verified > 0;
  const std::vector<Nanoseconds> durations = compare_in_processes(plan, invocation_, record, time_left());
  learn_durations(durations, work, alternatives.size(),
                  verification_of(work, 1) *
                      (static_cast<double>(verified) / static_cast<double>(work.model.layers.size())));
  remember_verified(record);
  if (!record.interrupted && std::ssize(durations) < record.processes_asked) {
    add_once(record_.notes,
             fmt::format(
                 "A comparison ended after {} instead of {} because the budget of {} was used up (--budget).",
                 counted(std::ssize(durations), "process"), record.processes_asked,
                 duration_text(request_.budget)));
  }
  for (const std::string& note : plan.notes) add_once(record_.notes, note);
  for (const std::string& lost : record.lost_processes) add_once(record_.notes, "Lost: " + lost + '.');
  record_.interrupted = record_.interrupted || record.interrupted;
  return record;
}

// Leaves out the results that are known from earlier comparisons. Returns how many trials are verified.
std::size_t AdvisedWork::leave_out_verified(ComparedWork& work, bool verify) const {
  std::size_t verified = 0;
  for (std::vector<Trial>& group : work.plan.groups) {
    for (Trial& trial : group) {
      trial.verify = verify && !verified_.contains(trial.operation()->text());
      verified += trial.verify ? 1 : 0;
    }
  }
  return verified;
}

void AdvisedWork::remember_verified(ComparisonRecord& record) {
  for (Comparison& comparison : record.comparisons) {
    for (ComparedSide* side : {&comparison.first, &comparison.second}) {
      const Operation* operation = operation_of(side->subject);
      if (operation == nullptr) continue;
      if (side->verification) {
        verified_.emplace(operation->text(), *side->verification);
      } else if (const auto known = verified_.find(operation->text()); known != verified_.end()) {
        side->verification = known->second;
      }
    }
  }
}

void AdvisedWork::note_verified() {
  std::int64_t checked = 0, total = 0;
  for (const auto& [operation, verification] : verified_) {
    checked += verification.checked;
    total += verification.total;
  }
  if (total == 0) return;
  record_.notes.push_back(fmt::format(
      "The results of {} were compared with float64 at {} of {} elements{}.",
      counted(std::ssize(verified_), "operation"), checked, total,
      record_.device.capabilities.is_simulated ? ", which are the reference's own here, rounded" : ""));
}

// Only the first process verifies.
void AdvisedWork::learn_durations(std::span<const Nanoseconds> durations, const WorkList& work,
                                  std::size_t alternatives, Nanoseconds foreseen) {
  if (durations.empty()) return;
  const auto trials = static_cast<double>(work.model.layers.size() * alternatives);
  Nanoseconds without(0.0);
  if (durations.size() > 1) {
    for (const Nanoseconds duration : durations.subspan(1)) without += duration;
    without = without / static_cast<double>(durations.size() - 1);
  } else {
    without = std::max(durations.front() - foreseen, durations.front() * 0.1);
  }
  time_of_trial_ = without / trials;
  if (foreseen <= Nanoseconds(0.0) || durations.size() < 2) return;
  verification_factor_ *= std::max(0.0, (durations.front() - without) / foreseen);
}

// True if a remedy was taken.
bool AdvisedWork::step() {
  const WorkList work = tried_of(work_, record_.layers);
  const WorkList now = applied("", taken_, work, request_.options).work;
  std::vector<std::vector<AppliedArm>> alternatives = {taken_};
  std::vector<std::string> names = {"before"};
  std::vector<study::Candidate> candidates;
  std::vector<AppliedArm> tried;
  const double memory = memory_of(now);
  for (const AppliedArm& arm : arms_to_try(now)) {
    std::vector<AppliedArm> arms = with_arm(taken_, arm);
    const std::string name = study::remedy_name(arm.study->id, arm.arm.name);
    const WorkList changed = applied("", arms, work, request_.options).work;
    if (const std::string problem = problem_of(changed, record_.device); !problem.empty()) {
      add_once(record_.notes, fmt::format("{} is left out: {}.", name, problem));
      continue;
    }
    candidates.push_back({arm.study->id, arm.arm.name, memory_of(changed) / memory / arm.arm.work});
    names.push_back(name);
    alternatives.push_back(std::move(arms));
    tried.push_back(arm);
  }
  if (candidates.empty()) return false;
  const Nanoseconds needed =
      duration_of(work.model.layers.size() * names.size()) + verification_of(work, names.size());
  // The sum of all remedies that were taken is measured at the end.
  const Nanoseconds together = duration_of(work.model.layers.size() * 2);
  const bool fits = needed + together <= time_left();
  if (!record_.steps.empty() && !fits) {
    add_once(record_.notes, fmt::format("The budget of {} was not enough for another step (--budget).",
                                        duration_text(request_.budget)));
    return false;
  }
  say(fmt::format("step {}: {} on {}", record_.steps.size() + 1, counted(std::ssize(candidates), "arm"),
                  counted(std::ssize(work.model.layers), "operation")));
  const study::TriedRemedy* taken =
      study::add_step(record_, compare(alternatives, work, names, request_.options, true), candidates);
  if (record_.interrupted || taken == nullptr) return false;
  const std::size_t alternative = study::alternative_of(record_.steps.back(), *taken);
  taken_ = alternatives[alternative];
  recommend(tried[alternative - 1]);
  return true;
}

// Lines on what is launched come before lines on how: a graph holds the model as it was captured.
void AdvisedWork::recommend(const AppliedArm& taken) {
  const study::Study& study = *taken.study;
  std::vector<Operation> operations;
  for (const Layer& layer : work_.model.layers) {
    if (study.can_be_asked_of(layer.operation)) operations.push_back(layer.operation);
  }
  const study::Remedy& remedy = study::remedy_of(taken.arm, operations);
  const auto is_launching = [](const study::Recommendation& known) {
    return study::find_study(known.study).saves_host_time;
  };
  auto place = record_.recommendations.end();
  if (!study.saves_host_time) place = std::ranges::find_if(record_.recommendations, is_launching);
  record_.recommendations.insert(place, {study.id, taken.arm.name, remedy.place, remedy.lines, remedy.price});
}

void AdvisedWork::measure_together() {
  const std::vector<std::vector<AppliedArm>> alternatives = {{}, taken_};
  const std::vector<std::string> names = {"as it is", "with all that was taken"};
  const WorkList tried = tried_of(work_, record_.layers);
  if (time_of_trial_ * static_cast<double>(tried.model.layers.size() * names.size()) > time_left()) {
    add_once(record_.notes,
             fmt::format("What was taken is not measured together: the budget of {} was used up: --budget.",
                         duration_text(request_.budget)));
    return;
  }
  // Measures all layers if there is time, and compares with float64 if there is time for that, too.
  const bool all_fit = duration_of(work_.model.layers.size() * names.size()) <= time_left();
  const WorkList& whole = all_fit ? work_ : tried;
  const Nanoseconds verified =
      duration_of(whole.model.layers.size() * names.size()) + verification_of(whole, names.size());
  const bool verify = verified <= time_left();
  if (!all_fit) {
    add_once(
        record_.notes,
        fmt::format("All together means the {} on which remedies were tried: the others did not fit into the "
                    "budget of {}.",
                    counted(std::ssize(tried.model.layers), "operation"), duration_text(request_.budget)));
  }
  say("measuring what was taken together");
  record_.together = compare(alternatives, whole, names, request_.options, verify);
  if (record_.interrupted) return;
  // A sustained measurement lasts until time and clock have settled: some seconds each.
  constexpr double kSustained = 2.0;  // in seconds
  MeasureOptions options = request_.options;
  options.loads = {Load::sustained};
  options.sustained_time_limit = seconds(kSustained);
  const Nanoseconds each = seconds(kSustained) * 2.0 * static_cast<double>(request_.processes);
  const auto fit = static_cast<std::size_t>(std::max(0.0, time_left() / each));
  if (fit == 0) {
    add_once(record_.notes,
             "There was no time left to measure all together under a sustained load (--budget).");
    return;
  }
  std::vector<study::AdvisedLayer> layers = record_.layers;
  study::choose_layers(layers, kShareOfTime, std::min(fit, tried.model.layers.size()));
  say("and without pauses");
  record_.sustained = compare(alternatives, tried_of(work_, layers), names, options, false);
}

}  // namespace jitterscope::cli
