// Batch study. It varies how many samples one launch takes. It reports the time of a launch (latency), the
// time for each sample (the inverse of throughput), the memory of operands and workspaces, where throughput
// stops growing and where memory ends. Limit: a layer whose weights outweigh its samples gains longer than
// the network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/quantity_text.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "operation/samples.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

Arm batch_arm(std::int64_t factor) {
  Arm arm = arm_of(fmt::format("×{}", factor),
                   [factor](const Operation& operation) { return with_larger_batch(operation, factor); },
                   {{fmt::format("batch_size *= {}  # of the DataLoader", factor)},
                    "A launch takes longer, and memory for the activations grows with the batch."});
  arm.work = static_cast<double>(factor);
  return arm;
}

// All arms' operands are in memory at once. Work beyond what keeps the whole device busy shows nothing new;
// of a network that is its layers' mean, since the first layers are many times as large as the last.
bool is_worth_while(const StudyContext& context, std::int64_t factor) {
  constexpr double kShareOfMemory = 0.25;
  const LargeWork& large = context.description.large_work;
  const auto layers = static_cast<double>(context.operations.size());
  const double most_flops = 2.0 * std::pow(static_cast<double>(large.product), 3) * layers;
  const double most_bytes = static_cast<double>(large.copy.value()) * 2.0 * layers;
  const double most_memory = kShareOfMemory * static_cast<double>(context.description.memory_free.value());
  double flops = 0.0, bytes = 0.0;
  try {
    for (const Operation& operation : context.operations) {
      const Operation scaled = with_larger_batch(operation, factor);
      check_can_run(scaled, context.description);
      if (static_cast<double>(operand_memory(scaled).value()) > most_memory) return false;
      flops += scaled.flops();
      bytes += static_cast<double>(scaled.bytes().value());
    }
  } catch (const UsageError&) {
    return false;
  }
  return flops <= most_flops && bytes <= most_bytes;
}

std::vector<Arm> batch_arms(const StudyContext& context) {
  constexpr std::int64_t kFine = 256, kMost = 65'536;  // after the first, in larger steps
  std::vector<Arm> arms = {batch_arm(1)};
  for (std::int64_t factor = 2; factor <= kMost && is_worth_while(context, factor);
       factor *= factor < kFine ? 2 : 4) {
    arms.push_back(batch_arm(factor));
  }
  if (arms.size() < 2) {
    throw UsageError("a launch of twice as many samples is too large for this device; name a smaller batch");
  }
  return arms;
}

// A batch beyond the knee gains less than this for each sample.
constexpr double kOfBest = 1.05;

struct Knee {
  const ArmOutcome* arm = nullptr;  // null if no batch is shown to be faster
  bool is_last = false;             // throughput grows up to the largest batch tried
  bool may_grow = false;            // undecided whether a larger batch gains more
};

// `outcomes` are the correct ones, the smallest batch first.
Knee knee_of(const std::vector<ArmOutcome>& outcomes) {
  double best = 1.0;
  for (const ArmOutcome& outcome : outcomes) {
    if (is_faster(outcome)) best = std::min(best, outcome.time.ratio);
  }
  const auto knee = std::ranges::find_if(outcomes, [&](const ArmOutcome& outcome) {
    return is_faster(outcome) && outcome.time.ratio <= best * kOfBest;
  });
  if (knee == outcomes.end()) return {};
  const bool may_grow = std::any_of(knee + 1, outcomes.end(), [&](const ArmOutcome& outcome) {
    return outcome.verdict == statistics::EffectVerdict::undecided &&
           outcome.time.low * kOfBest < knee->time.ratio;
  });
  return {&*knee, knee + 1 == outcomes.end(), may_grow};
}

// Returns the memory that a side's operands and workspace take with so many times the samples. A workspace is
// taken to grow with them.
Bytes memory_of(const ComparedSide& side, std::int64_t factor) {
  return operand_memory(with_larger_batch(*operation_of(side.subject), factor)) +
         Bytes(side.workspace.value() * factor);
}

bool is_known_to_grow(const Comparison& comparison) {
  const Operation* operation = operation_of(comparison.first.subject);
  return operation != nullptr && has_batch(*operation);
}

// Returns the largest factor by which the layer fits into the device's memory alone; 0 if not even once.
std::int64_t times_that_fit(const ComparedSide& side, Bytes memory) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t fits = 0;
  try {
    for (std::int64_t factor = 1; factor < kMost && memory_of(side, factor) <= memory; factor *= 2) {
      fits = factor;
    }
  } catch (const UsageError&) {  // too large for an operation
  }
  return fits;
}

// Says how many times the batch fits into the device's memory, if nothing but one layer is there. Which layer
// that is shows at many samples: at one, weights may take more than they.
std::string memory_sentence(const ComparisonRecord& record) {
  if (record.device.memory_total <= Bytes(0)) return {};
  const Comparison* largest = nullptr;
  std::int64_t fits = 0;
  for (const Comparison& each : record.comparisons) {
    if (!is_known_to_grow(each)) return {};
    const std::int64_t own = times_that_fit(each.first, record.device.memory_total);
    if (largest != nullptr && own >= fits) continue;
    largest = &each;
    fits = own;
  }
  if (largest == nullptr) return {};
  if (fits == 0) return "Memory does not hold its operands even once.";
  if (largest->layers.empty()) {
    return fmt::format(
        "Memory ends between ×{} and ×{}, by the operands and the workspace of this layer alone.", fits,
        fits * 2);
  }
  return fmt::format(
      "Memory ends between ×{} and ×{} at the latest: there the operands and the workspace of {} alone fill "
      "it, and a network keeps more than one layer's.",
      fits, fits * 2, largest->layers.front());
}

// Returns ", with 40 MiB of operands and workspace in place of 4 MiB"; empty for a network, whose layers each
// have their own.
std::string memory_words(const ComparisonRecord& record, double work) {
  const Comparison& first = record.comparisons.front();
  if (!first.layers.empty() || !is_known_to_grow(first)) return {};
  return fmt::format(", with {} of operands and workspace in place of {}",
                     bytes_text(memory_of(first.first, std::llround(work))),
                     bytes_text(memory_of(first.first, 1)));
}

// Returns " (128 samples)", as many as a launch of this alternative takes; empty if they are not counted.
std::string samples_text(const ComparisonRecord& record, std::size_t alternative) {
  std::vector<std::pair<const Operation*, const Operation*>> pairs;
  for (const Comparison& each : record.comparisons) {
    if (each.alternative != alternative) continue;
    pairs.emplace_back(operation_of(each.first.subject), operation_of(each.second.subject));
    if (pairs.back().first == nullptr || pairs.back().second == nullptr) return {};
  }
  const std::optional<SampleChange> change = sample_change(pairs);
  if (!change || change->of_first == 0) return {};
  return fmt::format(" ({} samples)", std::llround(static_cast<double>(change->of_first) * change->times));
}

Sentences batch_answer(const StudyResult& result) {
  const ComparisonRecord& record = result.record;
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  std::vector<std::string> sentences;
  const auto of_first =
      outcomes.empty() ? 0
                       : std::ranges::count(outcomes, outcomes.front().alternative, &ArmOutcome::alternative);
  if (of_first > 1) {
    sentences.emplace_back("Each operation has its own answer: the table has the time for the same work.");
  } else if (outcomes.empty()) {
    sentences.emplace_back("No larger batch has a time.");
  } else if (const Knee knee = knee_of(outcomes); knee.arm == nullptr && any_undecided(outcomes)) {
    sentences.push_back(not_decided("whether a larger batch makes a sample faster"));
  } else if (knee.arm == nullptr) {
    sentences.emplace_back("**A larger batch makes no sample faster**: it only takes longer.");
  } else {
    const double work = work_of(record, knee.arm->alternative);
    sentences.push_back(fmt::format(
        "**At {} the batch{} a sample is {}**; a launch takes {:.1f} times as long{}.", knee.arm->name,
        samples_text(record, knee.arm->alternative), speed_against(knee.arm->time, "at ×1"),
        work * knee.arm->time.ratio, memory_words(record, work)));
    if (knee.may_grow) {
      sentences.push_back(not_decided("whether a larger batch gains 5 % more"));
    } else {
      sentences.emplace_back(knee.is_last
                                 ? "That is the largest batch tried: a larger one may gain more."
                                 : "A larger batch gains less than 5 % more, and has a longer latency.");
    }
    add(sentences, memory_sentence(record));
  }
  add(sentences, wrong_results(result));
  return sentences;
}

}  // namespace

Study batch() {
  return {.id = "batch",
          .question = "Up to which size does a larger batch pay?",
          .concerns = "layers that take a batch",
          .changes_amount = true,
          .subject = "conv2d:n=1,c=256,hw=14,k=256,rs=3,pad=1,dtype=f16,layout=nhwc",
          .host_subject = "conv2d:n=1,c=64,hw=28,k=64,rs=3,pad=1",
          .can_be_asked_of = has_batch,
          .arms = batch_arms,
          .answer = batch_answer};
}

}  // namespace jitterscope::study::studies
