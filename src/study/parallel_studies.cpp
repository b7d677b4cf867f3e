#include "study/parallel_studies.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/processes.hpp"

namespace jitterscope::study {
namespace {

using plan::DataParallel;
using plan::GradientExchange;
using plan::kMebi;
using plan::NetworkCosts;

ParallelArm arm_of(std::string name, std::int64_t ranks, const DataParallel& way,
                   std::vector<std::string> lines = {}, std::string price = {}) {
  ParallelArm arm{.name = std::move(name), .arrangement = {.grid = {.data = ranks}, .way = way}};
  arm.remedy.lines = std::move(lines);
  arm.remedy.price = std::move(price);
  return arm;
}

ParallelArm without_exchange(std::int64_t ranks) {
  return arm_of("no exchange", ranks, {.exchange = GradientExchange::none});
}

ParallelArm in_buckets(std::int64_t mebibytes, std::int64_t ranks) {
  return arm_of(fmt::format("buckets of {} MiB", mebibytes), ranks,
                {.exchange = GradientExchange::buckets, .bucket = Bytes(mebibytes * kMebi)},
                {fmt::format("DistributedDataParallel(model, bucket_cap_mb={}, gradient_as_bucket_view=True)",
                             mebibytes)});
}

bool same_buckets(const std::vector<plan::Bucket>& one, const std::vector<plan::Bucket>& other) {
  return std::ranges::equal(one, other, [](const plan::Bucket& a, const plan::Bucket& b) {
    return a.bytes == b.bytes && a.last_layer == b.last_layer;
  });
}

std::vector<ParallelArm> data_parallel_arms(const NetworkCosts& network, std::int64_t ranks) {
  std::vector<ParallelArm> arms = {
      without_exchange(ranks),
      arm_of("after backward", ranks, {.exchange = GradientExchange::after_backward},
             {"torch.distributed.all_reduce(flat_gradients)  # once, behind loss.backward()"})};
  std::vector<std::vector<plan::Bucket>> known;
  for (const std::int64_t mebibytes : {1, 5, 25, 100, 400}) {
    std::vector<plan::Bucket> buckets =
        plan::gradient_buckets(network, Bytes(mebibytes * kMebi), plan::kFirstBucket);
    const bool is_known =
        std::ranges::any_of(known, [&](const auto& other) { return same_buckets(buckets, other); });
    if (is_known) continue;  // a network smaller than the bucket
    known.push_back(std::move(buckets));
    arms.push_back(in_buckets(mebibytes, ranks));
  }
  arms.push_back(arm_of("reduce-scatter, all-gather", ranks, {.exchange = GradientExchange::scatter_gather},
                        {"torch.distributed.reduce_scatter_tensor(part, flat_gradients)",
                         "torch.distributed.all_gather_into_tensor(flat_gradients, part)"}));
  arms.push_back(
      arm_of("after every 4th step", ranks, {.exchange = GradientExchange::after_backward, .every = 4},
             {"with model.no_sync():  # around three of four steps"},
             "Four steps are one step of four times the batch: it may need another learning rate."));
  return arms;
}

std::vector<ParallelArm> sharding_arms(const NetworkCosts&, std::int64_t ranks) {
  const auto sharded = [&](const char* name, plan::Sharding sharding, std::string line) {
    return arm_of(name, ranks, {.sharding = sharding}, {std::move(line)});
  };
  ParallelArm replicated = in_buckets(25, ranks);
  replicated.name = "replicated";
  return {without_exchange(ranks), std::move(replicated),
          sharded("optimizer (ZeRO 1)", plan::Sharding::optimizer,
                  "ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW)"),
          sharded("and gradients (ZeRO 2)", plan::Sharding::gradients,
                  "fully_shard(model, reshard_after_forward=False)"),
          sharded("and weights (ZeRO 3)", plan::Sharding::parameters,
                  "for block in model.blocks: fully_shard(block)")};
}

// Differences below this are nobody's reason to change a program.
constexpr double kWorthSaying = 0.005;

std::string step_text(const TimedArm& arm) {
  const TimeEstimate& time = arm.times.time;
  const double precision = has_interval(time) ? time.precision() : kWorthSaying;
  return time_text(time.median, std::max(precision, 1e-4));
}

// True if the first takes less time in the groups that timed both, beyond chance.
bool is_surely_faster(const StepTimes& one, const StepTimes& other) {
  if (one.groups.size() != other.groups.size()) return false;
  std::vector<double> logarithms;
  for (std::size_t g = 0; g < one.groups.size(); ++g)
    logarithms.push_back(std::log(one.groups[g] / other.groups[g]));
  const std::optional<RatioEstimate> ratio = ratio_over_groups(logarithms);
  return ratio && ratio->high < 1.0;
}

// Arms of an exchange in each step, so that they do the same work.
bool is_candidate(const TimedArm& arm) {
  const DataParallel& way = arm.arm.arrangement.way;
  const bool exchanges = way.exchange != GradientExchange::none || way.sharding != plan::Sharding::none;
  return exchanges && way.every == 1;
}

std::string fastest_sentence(const TimedArm& first, const TimedArm& fastest,
                             const std::vector<const TimedArm*>& alike) {
  std::string text =
      fmt::format("{} **{}**: {} a step", alike.empty() ? "Fastest is" : "Among the fastest is",
                  fastest.arm.name, step_text(fastest));
  if (fastest.times.over_first)
    text += fmt::format(", {} over the computing alone ({})",
                        change_text(fastest.times.over_first->ratio - 1.0), step_text(first));
  text += ".";
  if (!alike.empty()) {
    std::vector<std::string> names;
    for (const TimedArm* each : alike) names.push_back(each->arm.name);
    text += fmt::format(" Not told from it: {}.", joined(names, "; "));
  }
  return text;
}

std::string exposed_sentence(const TimedArm& arm) {
  const StepTimes& times = arm.times;
  if (!times.exposed || !times.exchange) return {};
  const std::optional<double> hidden = hidden_share(times);
  std::string text = fmt::format("Its exchange takes {} alone", time_text(times.exchange->median));
  if (times.exposed->high < Nanoseconds(0) || times.exposed->value <= Nanoseconds(0)) {
    text += ", all of it behind the computing";
  } else {
    text += fmt::format(", of which {} are added to the step; the computing hides {}",
                        time_text(times.exposed->value), percent_text(*hidden));
  }
  if (times.computing_slowed && *times.computing_slowed > kWorthSaying)
    text += fmt::format(", and its kernels take {} longer beside it", percent_text(*times.computing_slowed));
  return text + ".";
}

std::string plan_sentence(const TimedArm& arm) {
  if (!(arm.simulated > Nanoseconds(0))) return {};
  const double off = arm.times.time.median / arm.simulated - 1.0;
  if (std::abs(off) < kWorthSaying)
    return fmt::format("The plan from the times of layers and exchanges says the same ({}).",
                       time_text(arm.simulated));
  return fmt::format(
      "The plan from the times of layers and exchanges says {}: the step takes {} {}, which "
      "the plan does not know.",
      time_text(arm.simulated), percent_text(std::abs(off)), off > 0 ? "more" : "less");
}

}  // namespace

const std::vector<ParallelStudy>& parallel_studies() {
  static const std::vector<ParallelStudy> studies = {
      {{"data-parallel", "When should ranks exchange their gradients, and in what pieces?",
        "a network that trains, between ranks (mpirun -n N, --local N)"},
       data_parallel_arms},
      {{"sharding", "What does it cost to deal out a network's state to the ranks?",
        "a network that trains, between ranks (mpirun -n N, --local N)"},
       sharding_arms}};
  return studies;
}

const ParallelStudy* find_parallel_study(const std::string& id) {
  const auto found =
      std::ranges::find(parallel_studies(), id, [](const ParallelStudy& study) { return study.summary.id; });
  return found == parallel_studies().end() ? nullptr : &*found;
}

Sentences parallel_answers(std::span<const TimedArm> arms, const ParallelSteps& steps) {
  Sentences sentences;
  if (arms.empty()) return sentences;
  const TimedArm* fastest = nullptr;
  for (const TimedArm& arm : arms) {
    if (is_candidate(arm) && (fastest == nullptr || arm.times.time.median < fastest->times.time.median))
      fastest = &arm;
  }
  if (fastest == nullptr) return sentences;
  std::vector<const TimedArm*> alike;
  for (const TimedArm& arm : arms) {
    if (&arm != fastest && is_candidate(arm) && !is_surely_faster(fastest->times, arm.times))
      alike.push_back(&arm);
  }
  sentences.push_back(fastest_sentence(arms.front(), *fastest, alike));
  for (std::string each : {exposed_sentence(*fastest), plan_sentence(*fastest)})
    if (!each.empty()) sentences.push_back(std::move(each));
  const TimeEstimate& waiting = steps.waiting;
  if (steps.computing.size() > 1 && has_interval(waiting) && waiting.low > Nanoseconds(0) &&
      waiting.median > arms.front().times.time.median * kWorthSaying) {
    sentences.push_back(
        fmt::format("Rank {} computes longest: the others wait {} for it in each step ({}), however they "
                    "exchange.",
                    steps.slowest, time_text(waiting.median),
                    percent_text(waiting.median / arms.front().times.time.median)));
  }
  for (const std::string& line : fastest->arm.remedy.lines) sentences.push_back("In PyTorch: " + line);
  if (!fastest->arm.remedy.price.empty()) sentences.push_back(fastest->arm.remedy.price);
  return sentences;
}

}  // namespace jitterscope::study
