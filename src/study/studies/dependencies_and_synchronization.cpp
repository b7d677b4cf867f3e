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

Remedy remedy_of_waits() { return {{"stream.wait_stream(other)  # before the work that needs it"}}; }

std::vector<Arm> dependencies_arms(const StudyContext& context) {
  require_streams(context);
  const auto arm = [](const char* name, std::int64_t streams, ChainOrder order) {
    return chain_arm(
        name, Instrument::events,
        [=](const Operation& operation) { return steps_of(operation, streams, order); }, remedy_of_waits());
  };
  std::vector<Arm> arms = {
      arm("one stream", 1, ChainOrder::events), arm("an event between two streams", 2, ChainOrder::events),
      arm("a join of 2 streams", 2, ChainOrder::joins), arm("a join of 4 streams", 4, ChainOrder::joins),
      arm("two streams, no wait", 2, ChainOrder::none)};
  arms.back().is_to_be_wrong = true;
  return arms;
}

std::string cost_sentence(const Comparison& comparison, const std::string& arm) {
  if (is_wrong(comparison)) return {};
  // Sixteen steps have fifteen waits between them.
  constexpr double kWaits = kSteps - 1;
  const Nanoseconds one_stream = comparison.first.time.median;
  const auto each = [&](double ratio) { return one_stream * ((ratio - 1.0) / kWaits); };
  const RatioEstimate& time = comparison.time;
  if (is_undecided(comparison)) {
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

std::string without_wait_sentence(const Comparison& comparison) {
  if (!comparison.second.verification) return {};
  const Verification& verification = *comparison.second.verification;
  if (verification.passed) {
    return "Without the wait the result was right this time, by luck.";
  }
  const std::string how = verification.unwritten > 0
                              ? fmt::format("{} of {} elements come from values that were not yet written",
                                            verification.unwritten, verification.total)
                              : fmt::format("its relative error is {:.1e}", verification.relative_error);
  return fmt::format("Without the wait the result is wrong, as expected: {}. Its time does not count.", how);
}

Sentences dependencies_answer(const StudyResult& result) {
  Sentences sentences;
  for (std::size_t i = 1; i < result.arms.size(); ++i) {
    const Comparison* comparison = comparison_with(result.record, i);
    if (comparison == nullptr) continue;
    add(sentences, result.arms[i].is_to_be_wrong ? without_wait_sentence(*comparison)
                                                 : cost_sentence(*comparison, result.arms[i].name));
  }
  for (const ArmOutcome& outcome : arm_outcomes(result.record)) {
    if (outcome.is_wrong && !result.arms[outcome.alternative].is_to_be_wrong)
      add(sentences, outcome.name + " gives a wrong result, so its time does not count.");
  }
  if (sentences.empty()) add(sentences, "Nothing was compared with one stream.");
  add(sentences, remedy_sentence(remedy_of_waits()));
  return sentences;
}

}  // namespace

Study dependencies() {
  return {
      .id = "dependencies",
      .question = "What does it cost if work on one stream waits for work on another?",
      .concerns = "operations whose first output can be their first input, such as relu or a square layer",
      .is_remedy = false,
      // Long enough that a step that does not wait starts while the one before it runs.
      .subject = "gelu:count=1Mi",
      .can_be_asked_of = can_follow_itself,
      .arms = dependencies_arms,
      .answer = dependencies_answer};
}

// Synchronization study. It varies how often and how the host waits within eight steps of eight launches:
// once at the end, after each step, after each launch; by stream, event or device; asleep, polling, yielding
// the core; or by reading one value back. It reports the host's time from the first launch to the end of the
// work. Limit: the host does nothing else, so the benefit of a sleeping wait to other work is hidden.

namespace {

constexpr std::int64_t kProgramSteps = 8, kLaunchesOfStep = 8;

bool can_be_waited_for(const Operation& operation) {
  return can_be_step(operation) && !operation.operands().empty() &&
         !std::holds_alternative<CudaKernel>(operation.parameters()) &&
         !std::holds_alternative<Copy>(operation.parameters());
}

Remedy remedy_without_waits() {
  return {
      {"loss.item(), print(loss) and torch.cuda.synchronize() out of the loop; keep sums on the GPU and read "
       "them once"},
      "",
      "In the training loop"};
}

std::vector<Arm> synchronization_arms(const StudyContext& context) {
  require_streams(context);
  // Launches that wait cannot be held, and all arms must run alike.
  const auto arm = [](const char* name, HostWait wait, WaitAfter after) {
    const auto chain = [=](const Operation& operation) {
      return Chain{.steps = std::vector<Operation>(kLaunchesOfStep, operation),
                   .lanes = kProgramSteps,
                   .wait = wait,
                   .wait_after = after};
    };
    Arm made = in_queue(chain_arm(name, Instrument::host, chain, remedy_without_waits()), QueueMode::eager);
    made.value = after;
    return made;
  };
  return {arm("wait at the end", HostWait::none, WaitAfter::lane),
          arm("stream, each step", HostWait::stream, WaitAfter::lane),
          arm("event, each step", HostWait::event, WaitAfter::lane),
          arm("device, each step", HostWait::device, WaitAfter::lane),
          arm("asleep, each step", HostWait::blocking, WaitAfter::lane),
          arm("polling, each step", HostWait::polling, WaitAfter::lane),
          arm("yielding, each step", HostWait::yielding, WaitAfter::lane),
          arm("a value, each step", HostWait::value, WaitAfter::lane),
          arm("stream, each launch", HostWait::stream, WaitAfter::step),
          arm("a value, each launch", HostWait::value, WaitAfter::step)};
}

std::string cost_of_waits(const Comparison& comparison, double waits, const std::string& name) {
  if (is_undecided(comparison)) {
    const auto each = [&](double ratio) { return comparison.first.time.median * ((ratio - 1.0) / waits); };
    return fmt::format("{}: not decided, between {} and {} more for each of {:.0f} waits.", name,
                       time_text(each(comparison.time.low)), time_text(each(comparison.time.high)), waits);
  }
  return fmt::format("{}: {} more for each of {:.0f} waits ({}).", name,
                     time_text(added_time(comparison) / waits), waits,
                     time_change_text(comparison.time.ratio - 1.0));
}

Sentences synchronization_answer(const StudyResult& result) {
  const ComparisonRecord& record = result.record;
  const auto is_after = [&](const Comparison& each, WaitAfter after) {
    const auto* own = value_of<WaitAfter>(result, each.alternative);
    return own != nullptr && *own == after;
  };
  const auto is_first = [&](const Comparison& each) {
    return comparison_with(record, each.alternative) == &each && !is_wrong(each);
  };
  const Comparison* most = slowest_of(record.comparisons, [&](const Comparison& each) {
    return is_first(each) && !is_undecided(each) && is_after(each, WaitAfter::step);
  });
  const Comparison* least = fastest_of(record.comparisons, [&](const Comparison& each) {
    return is_first(each) && !is_undecided(each) && is_after(each, WaitAfter::lane);
  });
  const std::string& at_end = record.alternatives.front();
  Sentences sentences;
  if (most != nullptr) {
    add(sentences, fmt::format("**{} is {}**.", record.alternatives[most->alternative],
                               speed_against(most->time, at_end)));
  }
  if (least != nullptr) {
    add(sentences, fmt::format("{} costs least of the waits after each step: it is {}.",
                               record.alternatives[least->alternative], speed_against(least->time, at_end)));
  }
  for (const Comparison& each : record.comparisons) {
    if (!is_first(each)) continue;
    const bool each_step = is_after(each, WaitAfter::lane);
    // The last wait is at the end of the work, for which all arms wait.
    const double waits =
        static_cast<double>(each_step ? kProgramSteps : kProgramSteps * kLaunchesOfStep) - 1.0;
    add(sentences, cost_of_waits(each, waits, record.alternatives[each.alternative]));
  }
  add(sentences, wrong_results(result));
  if (sentences.empty()) return {"Nothing was compared with one wait at the end."};
  add(sentences, remedy_sentence(remedy_without_waits()));
  return sentences;
}

}  // namespace

Study synchronization() {
  return {.id = "synchronization",
          .question = "What does it cost if the host waits for the device after each step or launch?",
          .concerns = "all operations that compute, except your own kernels, chains and operators of PyTorch",
          .is_remedy = false,
          .subject = "relu:count=2Mi",
          .can_be_asked_of = can_be_waited_for,
          .arms = synchronization_arms,
          .answer = synchronization_answer};
}

}  // namespace jitterscope::study::studies
