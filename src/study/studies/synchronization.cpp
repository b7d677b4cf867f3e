// Synchronization. Varies how often and how the host waits within eight steps of eight launches each: once at
// the end, after each step, after each launch; by stream, event, device; asleep, asking over and over, giving
// up the core; or to read one value back. Reports the host's time from the first launch to the end of the
// work. Can go wrong: a host that does nothing else hides what a sleeping wait leaves to others.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "study/answers.hpp"
#include "study/studies/chain_arms.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
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
    // What waits cannot stand behind a gate, and what is compared runs alike.
    arm.apply = [apply = std::move(arm.apply)](Trial& trial) {
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
  return fmt::format("{}: {} more for each of {:.0f} waits ({:.2f} times as long).", name,
                     time_text(added_time(comparison) / waits), waits, comparison.time.ratio);
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
    sentences.push_back(fmt::format("Of the waits after each step {} costs least: {}.", name_of(*least),
                                    speed_against(least->time, kWaitAtEnd)));
  }
  for (const Waiting& waiting : kWaitings) {
    const Comparison* comparison = comparison_with(record, waiting.name);
    if (comparison == nullptr || is_wrong(*comparison)) continue;
    const bool each_step = waiting.after == WaitAfter::lane;
    // The last wait stands where the work ends, which all wait for.
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
          .question = "What does it cost that the host waits for the device after each step or launch?",
          .concerns = "everything that computes, but kernels of your own, chains and operators of PyTorch",
          .is_remedy = false,
          .subject = synchronization_subject,
          .can_be_asked_of = can_be_waited_for,
          .arms = synchronization_arms,
          .remedy = synchronization_remedy,
          .answer = synchronization_answer};
}

}  // namespace jitterscope::study::studies
