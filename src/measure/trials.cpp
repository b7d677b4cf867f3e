#include "measure/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <span>
#include <utility>

#include "device/cpu/reference.hpp"
#include "jitterscope/error.hpp"
#include "measure/callable.hpp"
#include "measure/engine_choice.hpp"
#include "measure/launch_details.hpp"
#include "measure/operand_sets.hpp"
#include "measure/schedule.hpp"
#include "measure/verify.hpp"

namespace jitterscope {

/// What was found about results, by the operation, its algorithm and the operation that gave the inputs: all
/// trials of a plan draw from one seed, so the same launch has the same results.
using KnownVerifications = std::map<std::string, Verification>;

namespace {

/// A trial that can be launched.
class PreparedTrial {
 public:
  explicit PreparedTrial(const Trial& trial) : name_(trial.subject.text()), options_(trial.options) {}
  virtual ~PreparedTrial() = default;

  virtual Workload& workload() = 0;
  const std::string& name() const { return name_; }
  const MeasureOptions& options() const { return options_; }

  /// True if it can be measured in another way after this error.
  virtual bool can_go_on_after(const Error&) { return false; }
  /// True if the results show that it must be measured again in another way.
  virtual bool is_to_be_timed_anew(Session&, const Result&) { return false; }
  /// Adds to the result everything beside the times, and what can only be asked after them. `group` holds the
  /// trials that it is compared with. Returns why it could not be verified, or an empty string.
  /// `known` is null if results are not to be verified.
  virtual std::string complete(Session& session, std::span<const std::unique_ptr<PreparedTrial>> group,
                               KnownVerifications* known, Outcome& outcome) = 0;

 protected:
  std::string name_;
  MeasureOptions options_;
};
using PreparedGroup = std::vector<std::unique_ptr<PreparedTrial>>;

class OperationTrial final : public PreparedTrial {
 public:
  OperationTrial(Session& session, const Trial& trial)
      : PreparedTrial(trial),
        operation_(*trial.operation()),
        is_to_be_verified_(trial.verify),
        resolved_(resolve_engine(session, operation_, options_)),
        // First of all, so that the loop's first launch is this operation's first in the process.
        iterations_(run_iterations(session, resolved_, options_)),
        began_(session.device().host_time()),
        workload_(prepare_sets(session.device(), resolved_, options_, kAnyNumberOfLaunches)),
        prepare_time_(session.device().host_time() - began_) {}

  Workload& workload() override { return workload_; }
  PreparedOperation& prepared() { return workload_.first(); }
  const Operation& operation() const { return operation_; }

  std::string complete(Session& session, std::span<const std::unique_ptr<PreparedTrial>> group,
                       KnownVerifications* known, Outcome& outcome) override {
    Result& result = outcome.result;
    result.subject = operation_;
    result.iterations = std::move(iterations_);
    result.prepare_time = prepare_time_;
    result.provider = prepared().provider();
    result.algorithm = prepared().algorithm();
    result.stand_in = prepared().is_stand_in();
    result.workspace = prepared().workspace();
    result.held_memory = prepared().held_memory();
    result.flops = operation_.flops();
    result.bytes = operation_.bytes();
    // After the times: no operand is read back before the first call.
    add_launch_details(session, workload_, options_, result);
    prepared().check_launches();
    if (known == nullptr || !is_to_be_verified_ || operation_.operands().empty()) return {};
    try {
      result.verification = verify_beside(session, group, *known);
      return {};
    } catch (const std::bad_alloc&) {
      // On the host, operands and expected values are numbers of 8 bytes.
      return "the host has too little memory for its operands and what they should be; take a smaller one";
    }
  }

 private:
  // Returns the same work in the finest data type: its inputs are those that all others stand for.
  PreparedOperation& finest_of(std::span<const std::unique_ptr<PreparedTrial>> group) {
    PreparedOperation* finest = &prepared();
    for (const auto& each : group) {
      auto* other = dynamic_cast<OperationTrial*>(each.get());
      if (other == nullptr || !is_same_work(prepared().operation(), other->prepared().operation())) continue;
      if (verification_tolerance(other->prepared().operation().dtype()) <
          verification_tolerance(finest->operation().dtype())) {
        finest = &other->prepared();
      }
    }
    return *finest;
  }

  const Operation& first_operation(std::span<const std::unique_ptr<PreparedTrial>> group) const {
    const auto* first = group.empty() ? nullptr : dynamic_cast<const OperationTrial*>(group.front().get());
    return first == nullptr ? operation_ : first->operation();
  }

  std::optional<Verification> verify_beside(Session& session,
                                            std::span<const std::unique_ptr<PreparedTrial>> group,
                                            KnownVerifications& known) {
    if (const auto* kernel = std::get_if<CudaKernel>(&operation_.parameters())) {
      const InputData data = drawn_data();
      return kernel->reference.empty()
                 ? verify_by_first(session.device(), session.queue(), operation_, first_operation(group),
                                   data)
                 : verify_by_reference(session.device(), session.queue(), operation_, data);
    }
    if (std::holds_alternative<Chain>(operation_.parameters()) && !has_reference(operation_))
      return std::nullopt;
    PreparedOperation& finest = finest_of(group);
    if (prepared().runs_reference_loops() && session.device().describe().capabilities.is_simulated) {
      const bool beside_chains = std::ranges::any_of(group, [](const auto& each) {
        const auto* other = dynamic_cast<const OperationTrial*>(each.get());
        return other != nullptr && std::holds_alternative<Chain>(other->operation().parameters());
      });
      return verify_parts(session, verified_parts(prepared().operation(), finest.operation(), beside_chains),
                          known);
    }
    return once(known, key_of(prepared().operation(), finest.operation()),
                [&] { return verify(session.queue(), prepared(), finest); });
  }

  // Nothing is known of a verification that fails.
  template <class Verify>
  static Verification once(KnownVerifications& known, const std::string& key, const Verify& verify_anew) {
    const auto found = known.find(key);
    return found != known.end() ? found->second : known.emplace(key, verify_anew()).first->second;
  }

  Verification verify_parts(Session& session, const VerifiedParts& parts, KnownVerifications& known) {
    Verification verification = once(known, key_of(parts.own, parts.inputs), [&] {
      const auto own = session.device().prepare(parts.own, drawn_data());
      if (parts.own == parts.inputs) return verify(session.queue(), *own);
      return verify(session.queue(), *own, *session.device().prepare(parts.inputs, drawn_data()));
    });
    // A collective in place leaves its results in its input.
    const auto* collective = std::get_if<Collective>(&operation_.parameters());
    const bool is_in_place = collective != nullptr && collective->in_place;
    verification.total = 0;
    for (const Operand& operand : operation_.operands()) {
      if (operand.role == OperandRole::output || is_in_place) verification.total += operand.count;
    }
    return verification;
  }

  std::string key_of(const Operation& own, const Operation& inputs) {
    return fmt::format("{} of {} by {} {} with {}", own.text(), inputs.text(), prepared().provider(),
                       prepared().algorithm(), to_string(options_.data));
  }
  InputData drawn_data() const { return {.kind = options_.data, .seed = options_.seed}; }

  Operation operation_;
  bool is_to_be_verified_;
  Operation resolved_;
  std::vector<IterationRun> iterations_;
  Nanoseconds began_;
  RotatingWorkload workload_;
  Nanoseconds prepare_time_;
};

class FunctionTrial final : public PreparedTrial {
 public:
  FunctionTrial(Session& session, const Trial& trial)
      : PreparedTrial(trial),
        launches_early_(real_capabilities(session.device()).launches_return_early),
        workload_(session.device(), *trial.subject.callable()) {
    refuse_loops(options_);
  }

  Workload& workload() override { return workload_; }

  // Only a requested recording can be given up; any other error would come again.
  bool can_go_on_after(const Error& error) override {
    if (error.exit_code() == ExitCode::interrupted || options_.queue != QueueMode::graph) return false;
    options_.queue = QueueMode::saturated;
    workload_.not_recorded(error.what());
    return true;
  }

  bool is_to_be_timed_anew(Session& session, const Result& result) override {
    if (!launches_early_ || is_interrupted(options_)) return false;
    if (leaves_work_elsewhere(session, workload_)) {
      workload_.set_place(WorkPlace::elsewhere);
    } else if (may_have_launched_nothing(result) && launches_nothing(session, workload_)) {
      workload_.set_place(WorkPlace::nowhere);
    }
    return workload_.place() != WorkPlace::queue;
  }

  std::string complete(Session& session, std::span<const std::unique_ptr<PreparedTrial>>, KnownVerifications*,
                       Outcome& outcome) override {
    forget_operands(outcome.result);
    if (!is_interrupted(options_)) add_launch_details(session, workload_, options_, outcome.result);
    if (!workload_.why_not_recorded().empty()) {
      outcome.notes.push_back(
          fmt::format("{} was launched in each round instead of replayed, because it cannot be recorded: {}.",
                      name_, workload_.why_not_recorded()));
    }
    if (workload_.place() != WorkPlace::queue) outcome.notes.push_back(sentence_of_place(workload_.work()));
    return {};
  }

 private:
  // A recording holds something for each launch, even if empty: that may take a microsecond.
  static bool may_have_launched_nothing(const Result& result) {
    const auto is_short = [](const Measurement& measurement) {
      return measurement.time.median < microseconds(2);
    };
    return !result.waits_for_device && std::ranges::any_of(result.measurements, is_short);
  }

  bool launches_early_;
  CallableWorkload workload_;
};

/// A rank's part of a parallel step.
class StepTrial final : public PreparedTrial {
 public:
  StepTrial(Session& session, const Trial& trial)
      : PreparedTrial(trial),
        subject_(
            trial.subject.prepare(session.device(), {.kind = options_.data, .seed = options_.seed}, {})) {
    refuse_loops(options_);
  }

  Workload& workload() override { return *subject_.workload; }

  std::string complete(Session& session, std::span<const std::unique_ptr<PreparedTrial>>, KnownVerifications*,
                       Outcome& outcome) override {
    forget_operands(outcome.result);
    if (!is_interrupted(options_)) add_launch_details(session, workload(), options_, outcome.result);
    return {};
  }

 private:
  PreparedSubject subject_;
};

std::unique_ptr<PreparedTrial> prepare(Session& session, const Trial& trial) {
  check_options(trial.options);
  if (trial.operation() != nullptr) return std::make_unique<OperationTrial>(session, trial);
  if (trial.subject.callable() != nullptr) return std::make_unique<FunctionTrial>(session, trial);
  if (trial.subject.step() != nullptr) return std::make_unique<StepTrial>(session, trial);
  throw UsageError(trial.subject.text() + ": the calls of a network are timed one by one, or in sequence");
}

TrialGroup timed_group(const PreparedGroup& prepared) {
  TrialGroup group;
  for (const auto& trial : prepared) group.push_back({trial->workload(), trial->name(), trial->options()});
  return group;
}

bool can_go_on_after(const Error& error, PreparedGroup& group) {
  bool any = false;
  for (const auto& trial : group) any = trial->can_go_on_after(error) || any;
  return any;
}

bool is_to_be_timed_anew(Session& session, const std::vector<Result>& results, std::size_t first,
                         PreparedGroup& group) {
  bool any = false;
  for (std::size_t i = 0; i < group.size(); ++i) {
    any = group[i]->is_to_be_timed_anew(session, results[first + i]) || any;
  }
  return any;
}

std::vector<Result> measure_once(Session& session, const std::vector<PreparedGroup*>& groups) {
  std::vector<TrialGroup> timed;
  for (const PreparedGroup* group : groups) timed.push_back(timed_group(*group));
  return session.measure(timed);
}

// If the groups fail and can go on in another way, they are measured in that way.
std::vector<Result> measure_all(Session& session, const std::vector<PreparedGroup*>& groups) {
  try {
    return measure_once(session, groups);
  } catch (const Error& error) {
    bool any = false;
    for (PreparedGroup* group : groups) any = can_go_on_after(error, *group) || any;
    if (!any) throw;
  }
  return measure_once(session, groups);
}

// Measures all groups at once, and again if the times show that one has to be measured in another way.
std::vector<Result> measure_prepared(Session& session, const std::vector<PreparedGroup*>& groups) {
  std::vector<Result> results = measure_all(session, groups);
  bool any = false;
  std::size_t first = 0;
  for (PreparedGroup* group : groups) {
    any = is_to_be_timed_anew(session, results, first, *group) || any;
    first += group->size();
  }
  return any ? measure_all(session, groups) : results;
}

template <class Step>
bool succeeds(const Step& step, Outcome& outcome) {
  try {
    step();
    return true;
  } catch (const Error& error) {
    outcome = {Result(), error};
    return false;
  }
}

struct GroupInWork {
  std::size_t first_outcome = 0;          // outcome of the group's first trial; the others follow
  std::vector<std::size_t> members = {};  // indices of its prepared trials
  PreparedGroup prepared = {};            // the trials themselves
};

// Returns false if another group's operands may be the obstacle.
bool prepare_group(Session& session, const std::vector<Trial>& trials, bool others_are_there,
                   GroupInWork& group, std::vector<Outcome>& outcomes) {
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto prepare_trial = [&] { group.prepared.push_back(prepare(session, trials[i])); };
    if (succeeds(prepare_trial, outcomes[group.first_outcome + i])) {
      group.members.push_back(i);
    } else if (others_are_there) {
      return false;
    }
  }
  return true;
}

// Returns the groups that must be measured alone: those that do not fit beside the others, and all of them if
// measuring fails, since it is unknown which one failed.
std::vector<std::size_t> measure_at_once(Session& session, const std::vector<std::vector<Trial>>& groups,
                                         const std::vector<std::size_t>& chosen,
                                         const std::vector<std::size_t>& first_outcomes,
                                         KnownVerifications* known, std::vector<Outcome>& outcomes) {
  std::vector<std::size_t> alone;
  std::vector<std::pair<std::size_t, GroupInWork>> prepared;
  for (const std::size_t number : chosen) {
    if (is_interrupted(groups[number].front().options)) break;
    GroupInWork group{first_outcomes[number]};
    if (!prepare_group(session, groups[number], !prepared.empty(), group, outcomes)) {
      alone.push_back(number);
    } else if (!group.members.empty()) {
      prepared.emplace_back(number, std::move(group));
    }
  }
  if (prepared.empty()) return alone;
  std::vector<PreparedGroup*> measured;
  for (auto& [number, group] : prepared) measured.push_back(&group.prepared);
  std::vector<Result> results;
  Outcome together;
  if (!succeeds([&] { results = measure_prepared(session, measured); }, together)) {
    if (prepared.size() > 1) {
      for (const auto& [number, group] : prepared) alone.push_back(number);
    } else {
      const GroupInWork& group = prepared.front().second;
      for (const std::size_t member : group.members) outcomes[group.first_outcome + member] = together;
    }
    return alone;
  }
  std::size_t next = 0;
  for (auto& entry : prepared) {
    GroupInWork& group = entry.second;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      Outcome& outcome = outcomes[group.first_outcome + group.members[i]];
      outcome.result = std::move(results[next++]);
      const auto say_the_rest = [&] {
        outcome.not_verified = group.prepared[i]->complete(session, group.prepared, known, outcome);
      };
      if (!succeeds(say_the_rest, outcome) && outcome.error->kind() == ErrorKind::interrupted) return alone;
    }
  }
  return alone;
}

}  // namespace

Result measure_operation(Session& session, const Operation& operation, const MeasureOptions& options,
                         bool with_verification) {
  PreparedGroup group;
  group.push_back(prepare(session, {operation, options}));
  Outcome outcome{std::move(measure_prepared(session, {&group}).front())};
  KnownVerifications none;
  const std::string problem =
      group.front()->complete(session, group, with_verification ? &none : nullptr, outcome);
  if (!problem.empty()) throw FailedError(operation.text() + " is not verified: " + problem);
  return std::move(outcome.result);
}

std::size_t measured_at_once(const MeasureOptions& options) {
  // ResNet-50's 117 operations idle for 68 of 106 s one by one, and for 40 s in threes (H200). Sustained
  // loads have no idle, and a loop's first launch must be the process's first.
  const bool shares = options.loads == std::vector{Load::burst} && options.iterations.empty();
  return shares ? 3 : 1;
}

namespace {

std::vector<Outcome> measured_trials(Session& session, const std::vector<std::vector<Trial>>& groups,
                                     KnownVerifications* known) {
  std::vector<std::size_t> all, first_outcomes;
  std::size_t trials = 0;
  for (const std::vector<Trial>& group : groups) {
    all.push_back(all.size());
    first_outcomes.push_back(trials);
    trials += group.size();
  }
  std::vector<Outcome> outcomes(trials);
  for (const std::size_t number : measure_at_once(session, groups, all, first_outcomes, known, outcomes)) {
    for (std::size_t i = 0; i < groups[number].size(); ++i) outcomes[first_outcomes[number] + i] = {};
    if (is_interrupted(groups[number].front().options)) break;
    measure_at_once(session, groups, {number}, first_outcomes, known, outcomes);
  }
  return outcomes;
}

}  // namespace

std::vector<Outcome> measure_trials(Session& session, const std::vector<std::vector<Trial>>& groups,
                                    bool with_verification) {
  KnownVerifications known;
  return measured_trials(session, groups, with_verification ? &known : nullptr);
}

void measure_in_turn(Session& session, const std::vector<std::vector<Trial>>& groups, bool with_verification,
                     const std::function<bool(std::size_t group)>& begin,
                     const std::function<void(std::size_t first_group, std::vector<Outcome>)>& done) {
  if (groups.empty()) return;
  const bool is_alone = session.decisions().are_shared();  // the others must be at the same group
  const std::size_t at_once = is_alone ? 1 : measured_at_once(groups.front().front().options);
  KnownVerifications known;
  for (std::size_t i = 0; i < groups.size() && begin(i); i += at_once) {
    const auto first = groups.begin() + static_cast<std::ptrdiff_t>(i);
    const auto count = static_cast<std::ptrdiff_t>(std::min(at_once, groups.size() - i));
    done(i, measured_trials(session, {first, first + count}, with_verification ? &known : nullptr));
  }
}

std::vector<std::vector<Trial>> trials_of(const std::vector<Operation>& operations,
                                          const MeasureOptions& options) {
  std::vector<std::vector<Trial>> groups;
  for (const Operation& operation : operations) groups.push_back({{operation, options}});
  return groups;
}

}  // namespace jitterscope
