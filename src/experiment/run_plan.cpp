#include "experiment/run_plan.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "measure/engine_choice.hpp"
#include "measure/launch_details.hpp"
#include "measure/machine.hpp"
#include "measure/run_record.hpp"
#include "measure/schedule.hpp"
#include "measure/sequence.hpp"
#include "measure/trials.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope {
namespace {

constexpr int kFailuresInARow = 3;

/// Collects other processes seen on the device: one that comes during a run must be named, too.
class SeenProcesses {
 public:
  void look(Device& device) {
    const std::optional<std::vector<std::string>> now = device.other_processes();
    if (!now) return;
    if (!all_) all_.emplace();
    for (const std::string& name : *now) {
      if (std::ranges::find(*all_, name) == all_->end()) all_->push_back(name);
    }
  }
  const std::optional<std::vector<std::string>>& all() const { return all_; }

 private:
  std::optional<std::vector<std::string>> all_;
};

// Leaves out the operation that an error is about: its row names it.
std::string reason_of(const Error& error, const std::string& operation) {
  const std::string reason = error.what();
  const std::string name = operation + ": ";
  return reason.starts_with(name) ? reason.substr(name.size()) : reason;
}

template <class Visitor>
void visit_trials(const Plan& plan, const Visitor& visitor) {
  for (const std::vector<Trial>& group : plan.groups) {
    for (const Trial& trial : group) visitor(trial);
  }
}

std::vector<DataType> multiplied_types(const Plan& plan) {
  std::set<DataType> types;
  visit_trials(plan, [&](const Trial& trial) {
    if (trial.operation() == nullptr) return;
    const auto& parameters = trial.operation()->parameters();
    const bool multiplies =
        std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
        std::holds_alternative<Linear>(parameters) || std::holds_alternative<Attention>(parameters);
    if (multiplies) types.insert(trial.operation()->dtype());
  });
  return {types.begin(), types.end()};
}

bool asks_for_cold(const Plan& plan) {
  bool any = false;
  visit_trials(plan, [&](const Trial& trial) {
    any = any || std::ranges::any_of(trial.options.caches,
                                     [](CacheState state) { return state != CacheState::warm; });
  });
  return any;
}

bool is_imprecise(const Result& result) {
  return std::any_of(result.measurements.begin(), result.measurements.end(),
                     [](const Measurement& measurement) {
                       return !has_settled(measurement) || !reached_precision(measurement);
                     });
}

class PlanRunner {
 public:
  PlanRunner(Session& session, const Plan& plan, RunRecord& record, const PlanListeners& listeners)
      : session_(session), plan_(plan), record_(record), listeners_(listeners), total_(trials_in(plan)) {}

  ExitCode run() {
    // This run may continue an earlier one that has left results.
    const bool any_failed = std::ranges::any_of(
        record_.entries, [](const RunEntry& entry) { return !entry.result.failure.empty(); });
    if (any_failed) failure_ = ExitCode::failed;
    const std::size_t done = groups_done();
    if (done < plan_.groups.size()) prepare_context();
    look_for_others();
    const FindingContext context = finding_context();
    measure_in_turn(
        session_, {plan_.groups.begin() + static_cast<std::ptrdiff_t>(done), plan_.groups.end()},
        plan_.verify,
        [&](std::size_t group) {
          if (!may_go_on()) return false;
          stage(plan_.groups[done + group].front().subject.text(), record_.entries.size() + 1);
          return true;
        },
        [&](std::size_t first_group, const std::vector<Outcome>& outcomes) {
          take(done + first_group, outcomes, context);
          look_for_others();
          if (listeners_.saved) listeners_.saved(record_);
        });
    if (plan_.arrivals && listeners_.ranks != nullptr && !is_interrupted()) {
      stage("who arrives last", total_);
      record_.arrivals = measure_arrivals(session_, *listeners_.ranks, *plan_.arrivals);
    }
    if (plan_.links && listeners_.ranks != nullptr && !is_interrupted()) take_links();
    if (plan_.in_sequence && !record_.sequence && !is_interrupted()) measure_in_sequence();
    if (plan_.trace_kernels) trace_kernels();
    look_for_others();
    record_.interrupted = is_interrupted();
    return exit_code();
  }

 private:
  // Collectives have been timed by then, and some run over links that copies cannot use.
  void take_links() {
    stage("the links between ranks", total_);
    try {
      record_.links = measure_links(session_, *listeners_.ranks);
    } catch (const UsageError& error) {  // on every rank
      record_.notes.push_back(fmt::format("links between ranks were not measured: {}", error.what()));
    }
  }
  bool is_interrupted() const { return jitterscope::is_interrupted(shared_options(plan_)); }
  void stage(const std::string& text, std::size_t number) const {
    if (listeners_.stage) listeners_.stage(text, number, total_);
  }
  bool may_go_on() const { return !is_interrupted() && failures_in_a_row_ < kFailuresInARow; }

  // Returns the number of groups whose trials all have a result.
  std::size_t groups_done() const {
    std::size_t group = 0, trials = 0;
    while (group < plan_.groups.size() && trials + plan_.groups[group].size() <= record_.entries.size()) {
      trials += plan_.groups[group++].size();
    }
    return group;
  }

  void prepare_context() {
    if (asks_for_cold(plan_) && !is_interrupted()) {
      stage("proving that eviction evicts", 0);
      cache_proof_ = session_.cache_proof();
    }
    const bool has_ceilings = record_.ceilings.bytes_per_second || !record_.ceilings.compute.empty();
    if (plan_.ceilings && !has_ceilings && !is_interrupted()) {
      stage("measuring this device's ceilings", 0);
      record_.ceilings = measure_ceilings(session_, multiplied_types(plan_));
    }
  }

  void look_for_others() {
    seen_processes_.look(session_.device());
    record_.findings = machine_findings(finding_context());
  }

  FindingContext finding_context() const {
    return {record_.device,       record_.calibration,
            record_.ceilings,     seen_processes_.all(),
            cache_proof_,         !record_.device.capabilities.is_host,
            plan_.recorded_cudnn, plan_.precision_was_asked};
  }

  void measure_in_sequence() {
    Model model = *plan_.in_sequence;
    // Beside steps between ranks no entry is a layer that a call could name.
    const bool names_layers = std::ranges::all_of(
        record_.entries, [](const RunEntry& entry) { return operation_of(entry.result.subject) != nullptr; });
    // The calls use the engines that the single times were measured with.
    for (std::size_t i = 0; names_layers && i < record_.entries.size(); ++i)
      model.layers[i].operation = as_measured(model.layers[i].operation, record_.entries[i].result);
    try {
      record_.sequence = measure_sequence(session_, model, shared_options(plan_), listeners_.stage);
      if (!names_layers) {
        for (SequenceCall& call : record_.sequence->calls) call.layer = 0;
      }
      const bool any_failed = std::ranges::any_of(
          record_.sequence->calls, [](const SequenceCall& call) { return !call.failure.empty(); });
      if (any_failed && failure_ == ExitCode::done) failure_ = ExitCode::failed;
    } catch (const FailedError& error) {
      record_.notes.push_back(fmt::format("In sequence: {}.", error.what()));
      if (failure_ == ExitCode::done) failure_ = error.exit_code();
    }
  }

  void trace_kernels() {
    std::size_t number = 0;
    visit_trials(plan_, [&](const Trial& trial) {
      if (number >= record_.entries.size() || is_interrupted()) return;
      Result& result = record_.entries[number++].result;
      if (result.measurements.empty() || trial.operation() == nullptr) return;
      stage("tracing kernels of " + trial.subject.text(), number);
      add_kernels(session_, as_measured(*trial.operation(), result), trial.options, result);
    });
  }

  void take(std::size_t group, const std::vector<Outcome>& outcomes, const FindingContext& context) {
    std::size_t trial = 0;
    for (std::size_t i = 0; i < outcomes.size(); ++i, ++trial) {
      for (; trial == plan_.groups[group].size(); ++group) trial = 0;
      if (failures_in_a_row_ >= kFailuresInARow) return;
      RunEntry entry = entry_of(plan_.groups[group][trial], outcomes[i]);
      Result& result = entry.result;
      // It was interrupted before its first round: treat it as not started.
      if (i > 0 && is_interrupted() && result.failure.empty() && result.measurements.empty()) return;
      if (result.failure.empty()) result.findings = find_all(result, context);
      record_.entries.push_back(std::move(entry));
    }
  }

  RunEntry entry_of(const Trial& trial, const Outcome& outcome) {
    RunEntry entry;
    if (!plan_.entries.empty()) entry = plan_.entries[record_.entries.size()];
    entry.result = outcome.result;
    Result& result = entry.result;
    if (outcome.error) {
      if (listeners_.failed) listeners_.failed(*outcome.error);
      result.failure = reason_of(*outcome.error, trial.subject.text());
      if (failure_ == ExitCode::done) failure_ = outcome.error->exit_code();
      failures_in_a_row_ = outcome.error->kind() == ErrorKind::failed ? failures_in_a_row_ + 1 : 0;
    } else {
      failures_in_a_row_ = 0;
    }
    result.subject = trial.subject.described();
    record_.notes.insert(record_.notes.end(), outcome.notes.begin(), outcome.notes.end());
    if (!outcome.not_verified.empty()) {
      record_.notes.push_back(
          fmt::format("Not verified: {}: {}.", trial.subject.text(), outcome.not_verified));
      if (failure_ == ExitCode::done) failure_ = ExitCode::failed;
    }
    return entry;
  }

  ExitCode exit_code() const {
    const ExitCode code = exit_code_of(plan_, record_);
    const bool has_failed = failure_ != ExitCode::done && code != ExitCode::interrupted;
    return has_failed ? failure_ : code;
  }

  Session& session_;
  const Plan& plan_;
  RunRecord& record_;
  const PlanListeners& listeners_;
  std::size_t total_;
  std::optional<CacheProof> cache_proof_;
  SeenProcesses seen_processes_;
  ExitCode failure_ = ExitCode::done;
  int failures_in_a_row_ = 0;
};

}  // namespace

std::size_t trials_in(const Plan& plan) {
  std::size_t count = 0;
  for (const std::vector<Trial>& group : plan.groups) count += group.size();
  return count;
}

bool has_collective(const Plan& plan) {
  return std::ranges::any_of(plan.groups, [](const std::vector<Trial>& group) {
    return std::ranges::any_of(group, [](const Trial& trial) { return trial.subject.has_collective(); });
  });
}

const MeasureOptions& shared_options(const Plan& plan) {
  if (trials_in(plan) == 0) throw UsageError("there is nothing to time: no operation is left");
  return plan.groups.front().front().options;
}

ExitCode exit_code_of(const Plan& plan, const RunRecord& record) {
  const auto results = results_of(record);
  if (record.interrupted) return ExitCode::interrupted;
  const bool failed =
      std::ranges::any_of(results, [](const Result& result) { return !result.failure.empty(); });
  if (failed || plan.is_incomplete) return ExitCode::failed;
  const bool wrong = std::ranges::any_of(
      results, [](const Result& result) { return result.verification && !result.verification->passed; });
  if (wrong) return ExitCode::check_failed;
  for (const Result& result : results) {
    for (const auto* shortfall : {&result.without_kernels, &result.without_counters}) {
      if (*shortfall) return (*shortfall)->exit_code;
    }
  }
  if (!plan.precision_was_asked) return ExitCode::done;
  const bool sequence_is_imprecise = record.sequence && !reached_precision(*record.sequence);
  const bool imprecise = sequence_is_imprecise || std::ranges::any_of(results, is_imprecise);
  return imprecise ? ExitCode::imprecise : ExitCode::done;
}

ExitCode run_plan(Session& session, const Plan& plan, RunRecord& record, const PlanListeners& listeners) {
  return PlanRunner(session, plan, record, listeners).run();
}

}  // namespace jitterscope
