#include <algorithm>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "operation/chain.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Dependencies study. It varies how 16 dependent steps are ordered: on one stream; alternating between two
// streams with an event in between; with a join of all streams after each step; and without order. It reports
// the time and the cost of a wait. Limit: without the wait a step reads what is not yet written; that arm
// shows this, and its result is wrong.

namespace jitterscope::study::studies {
namespace {

constexpr std::int64_t kSteps = 16;
constexpr const char* kOneStream = "one stream";
constexpr const char* kEvents = "an event between two streams";
constexpr const char* kJoinsOfTwo = "a join of 2 streams";
constexpr const char* kJoinsOfFour = "a join of 4 streams";
constexpr const char* kNoWait = "two streams, no wait";

Chain steps_of(const Operation& operation, std::int64_t streams, ChainOrder order) {
  return {.steps = std::vector<Operation>(kSteps, operation),
          .streams = streams,
          .spread = streams > 1 ? ChainSpread::steps : ChainSpread::lanes,
          .order = order};
}

// True if its output fits its own input.
bool can_follow_itself(const Operation& operation) {
  if (!can_be_step(operation) || std::holds_alternative<CudaKernel>(operation.parameters())) return false;
  const std::vector<Operand> operands = operation.operands();
  const Operand* output = first_operand(operands, OperandRole::output);
  return output != nullptr && output != operands.data() && output->dtype == operands.front().dtype &&
         output->count == operands.front().count;
}

std::vector<Arm> dependencies_arms(const StudyContext& context) {
  require_streams(context);
  const auto arm = [](const char* name, std::int64_t streams, ChainOrder order) {
    return chain_arm(name, Instrument::events,
                     [=](const Operation& operation) { return steps_of(operation, streams, order); });
  };
  std::vector<Arm> arms = {arm(kOneStream, 1, ChainOrder::events), arm(kEvents, 2, ChainOrder::events),
                           arm(kJoinsOfTwo, 2, ChainOrder::joins), arm(kJoinsOfFour, 4, ChainOrder::joins),
                           arm(kNoWait, 2, ChainOrder::none)};
  arms.back().is_to_be_wrong = true;
  return arms;
}

// Long enough that a step that does not wait starts while the one before it runs.
std::string dependencies_subject(const DeviceDescription&) { return "gelu:count=1Mi"; }

Remedy dependencies_remedy(const std::string&) {
  return {{"stream.wait_stream(other)  # before the work that needs it"}, ""};
}

std::string cost_sentence(const ComparisonRecord& record, const char* arm) {
  const Comparison* comparison = comparison_with(record, arm);
  if (comparison == nullptr || is_wrong(*comparison)) return {};
  // Sixteen steps have fifteen waits between them.
  constexpr double kWaits = kSteps - 1;
  const Nanoseconds one_stream = comparison->first.time.median;
  const auto each = [&](double ratio) { return one_stream * ((ratio - 1.0) / kWaits); };
  const RatioEstimate& time = comparison->time;
  if (comparison->verdict == statistics::EffectVerdict::undecided) {
    return fmt::format("Whether {} costs time is not decided: between {} and {} each (--processes).", arm,
                       time_text(each(time.low)), time_text(each(time.high)));
  }
  if (time.low <= 1.0 && time.high >= 1.0) {
    return fmt::format("{} has no visible cost: between {} and {} each.", arm, time_text(each(time.low)),
                       time_text(each(time.high)));
  }
  return fmt::format("**{} costs {}** each ({} to {}), compared with one stream.", arm,
                     time_text(each(time.ratio)), time_text(each(time.low)), time_text(each(time.high)));
}

std::string without_wait_sentence(const ComparisonRecord& record) {
  const Comparison* comparison = comparison_with(record, kNoWait);
  if (comparison == nullptr || !comparison->second.verification) return {};
  const Verification& verification = *comparison->second.verification;
  if (verification.passed) {
    return "Without the wait the result was right this time, by luck.";
  }
  const std::string how = verification.unwritten > 0
                              ? fmt::format("{} of {} elements come from values that were not yet written",
                                            verification.unwritten, verification.total)
                              : fmt::format("its relative error is {:.1e}", verification.relative_error);
  return fmt::format("Without the wait the result is wrong, as expected: {}. Its time does not count.", how);
}

std::vector<std::string> dependencies_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  };
  for (const char* arm : {kEvents, kJoinsOfTwo, kJoinsOfFour}) add(cost_sentence(record, arm));
  add(without_wait_sentence(record));
  for (const ArmOutcome& outcome : arm_outcomes(record)) {
    if (outcome.is_wrong && outcome.name != kNoWait)
      add(outcome.name + " gives a wrong result, so its time does not count.");
  }
  if (sentences.empty()) add("Nothing was compared with one stream.");
  add(remedy_sentence(dependencies_remedy(kEvents)));
  return sentences;
}

}  // namespace

Study dependencies() {
  return {
      .id = "dependencies",
      .question = "What does it cost if work on one stream waits for work on another?",
      .concerns = "operations whose first output can be their first input, such as relu or a square layer",
      .is_remedy = false,
      .subject = dependencies_subject,
      .can_be_asked_of = can_follow_itself,
      .arms = dependencies_arms,
      .remedy = dependencies_remedy,
      .answer = dependencies_answer};
}

// Synchronization study. It varies how often and how the host waits within eight steps of eight launches:
// once at the end, after each step, after each launch; by stream, event or device; asleep, polling, yielding
// the core; or by reading one value back. It reports the host's time from the first launch to the end of the
// work. Limit: the host does nothing else, so the benefit of a sleeping wait to other work is hidden.

namespace {

constexpr std::int64_t kProgramSteps = 8, kLaunchesOfStep = 8;
constexpr const char* kWaitAtEnd = "wait at the end";

struct Waiting {
  const char* name;
  HostWait wait;
  WaitAfter after;
};
constexpr Waiting kWaitings[] = {
    {kWaitAtEnd, HostWait::none, WaitAfter::lane},
    {"stream, each step", HostWait::stream, WaitAfter::lane},
    {"event, each step", HostWait::event, WaitAfter::lane},
    {"device, each step", HostWait::device, WaitAfter::lane},
    {"asleep, each step", HostWait::blocking, WaitAfter::lane},
    {"polling, each step", HostWait::polling, WaitAfter::lane},
    {"yielding, each step", HostWait::yielding, WaitAfter::lane},
    {"a value, each step", HostWait::value, WaitAfter::lane},
    {"stream, each launch", HostWait::stream, WaitAfter::step},
    {"a value, each launch", HostWait::value, WaitAfter::step},
};

bool can_be_waited_for(const Operation& operation) {
  return can_be_step(operation) && !operation.operands().empty() &&
         !std::holds_alternative<CudaKernel>(operation.parameters()) &&
         !std::holds_alternative<Copy>(operation.parameters());
}

std::vector<Arm> synchronization_arms(const StudyContext& context) {
  require_streams(context);
  std::vector<Arm> arms;
  for (const Waiting& waiting : kWaitings) {
    Arm arm = chain_arm(waiting.name, Instrument::host, [waiting](const Operation& operation) {
      return Chain{.steps = std::vector<Operation>(kLaunchesOfStep, operation),
                   .lanes = kProgramSteps,
                   .wait = waiting.wait,
                   .wait_after = waiting.after};
    });
    // Launches that wait cannot be held, and all arms must run alike.
    arm.apply = [apply = std::move(arm.apply)](OperationTrial& trial) {
      apply(trial);
      trial.options.queue = QueueMode::eager;
    };
    arms.push_back(std::move(arm));
  }
  return arms;
}

std::string synchronization_subject(const DeviceDescription&) { return "relu:count=2Mi"; }

Remedy synchronization_remedy(const std::string&) {
  return {
      {"loss.item(), print(loss) and torch.cuda.synchronize() out of the loop; keep sums on the GPU and read "
       "them once"},
      "",
      "In the training loop"};
}

bool is_decided(const Comparison& comparison) {
  return comparison.verdict != statistics::EffectVerdict::undecided;
}

std::string cost_of_waits(const Comparison& comparison, double waits, const std::string& name) {
  if (!is_decided(comparison)) {
    const auto each = [&](double ratio) { return comparison.first.time.median * ((ratio - 1.0) / waits); };
    return fmt::format("{}: not decided, between {} and {} more for each of {:.0f} waits.", name,
                       time_text(each(comparison.time.low)), time_text(each(comparison.time.high)), waits);
  }
  return fmt::format("{}: {} more for each of {:.0f} waits ({}).", name,
                     time_text(added_time(comparison) / waits), waits,
                     time_change_text(comparison.time.ratio - 1.0));
}

std::vector<std::string> synchronization_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences;
  const Comparison *least = nullptr, *most = nullptr;
  for (const Waiting& waiting : kWaitings) {
    const Comparison* comparison = comparison_with(record, waiting.name);
    if (comparison == nullptr || is_wrong(*comparison) || !is_decided(*comparison)) continue;
    if (waiting.after == WaitAfter::lane) {
      if (least == nullptr || comparison->time.ratio < least->time.ratio) least = comparison;
    } else if (most == nullptr || comparison->time.ratio > most->time.ratio) {
      most = comparison;
    }
  }
  const auto name_of = [&](const Comparison& comparison) {
    return record.alternatives[comparison.alternative];
  };
  if (most != nullptr) {
    sentences.push_back(fmt::format("**{} is {}**.", name_of(*most), speed_against(most->time, kWaitAtEnd)));
  }
  if (least != nullptr) {
    sentences.push_back(fmt::format("{} costs least of the waits after each step: it is {}.", name_of(*least),
                                    speed_against(least->time, kWaitAtEnd)));
  }
  for (const Waiting& waiting : kWaitings) {
    const Comparison* comparison = comparison_with(record, waiting.name);
    if (comparison == nullptr || is_wrong(*comparison)) continue;
    const bool each_step = waiting.after == WaitAfter::lane;
    // The last wait is at the end of the work, for which all arms wait.
    const double waits =
        static_cast<double>(each_step ? kProgramSteps : kProgramSteps * kLaunchesOfStep) - 1.0;
    sentences.push_back(cost_of_waits(*comparison, waits, waiting.name));
  }
  for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  if (sentences.empty()) return {"Nothing was compared with one wait at the end."};
  sentences.push_back(remedy_sentence(synchronization_remedy({})));
  return sentences;
}

}  // namespace

Study synchronization() {
  return {.id = "synchronization",
          .question = "What does it cost if the host waits for the device after each step or launch?",
          .concerns = "all operations that compute, except your own kernels, chains and operators of PyTorch",
          .is_remedy = false,
          .subject = synchronization_subject,
          .can_be_asked_of = can_be_waited_for,
          .arms = synchronization_arms,
          .remedy = synchronization_remedy,
          .answer = synchronization_answer};
}

}  // namespace jitterscope::study::studies
