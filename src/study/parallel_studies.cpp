#include "study/parallel_studies.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/processes.hpp"
#include "jitterscope/error.hpp"

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

std::vector<ParallelArm> tensor_parallel_arms(const NetworkCosts&, std::int64_t ranks) {
  const auto cut = [&](std::string name, bool by_sequence, std::vector<std::string> lines) {
    return ParallelArm{.name = std::move(name),
                       .arrangement = {.grid = {.tensor = ranks},
                                       .way = {.exchange = GradientExchange::none},
                                       .by_sequence = by_sequence},
                       .remedy = {.lines = std::move(lines)}};
  };
  ParallelArm whole = without_exchange(ranks);
  whole.name = "one GPU";
  return {std::move(whole),
          cut(fmt::format("in {} parts", ranks), false,
              {"parallelize_module(block, mesh, {\"up\": ColwiseParallel(), \"down\": RowwiseParallel()})"}),
          cut(fmt::format("in {} parts, by sequence", ranks), true,
              {"parallelize_module(block, mesh, {\"norm\": SequenceParallel(), \"up\": "
               "ColwiseParallel(input_layouts=Shard(1)), \"down\": "
               "RowwiseParallel(output_layouts=Shard(1))})"})};
}

// Numbers of micro-batches that have an equal part of the batch each: multiples of the ranks, which every
// schedule takes, else whatever divides it.
std::vector<std::int64_t> micro_batches_of(const NetworkCosts& network, std::int64_t ranks) {
  constexpr std::size_t kMost = 4;
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = ranks; number <= network.samples && numbers.size() < kMost; number *= 2)
    if (network.samples % number == 0) numbers.push_back(number);
  for (std::int64_t number = 2; numbers.empty() && number <= network.samples; ++number)
    if (network.samples % number == 0) numbers.push_back(number);
  if (numbers.empty())
    throw UsageError(fmt::format(
        "{}: a batch of 1 has no micro-batches; name a larger one that {} divides, as in :batch={}",
        network.name, ranks, 8 * ranks));
  return numbers;
}

class PipelineArms {
 public:
  PipelineArms(const NetworkCosts& network, std::int64_t ranks) : network_(network), ranks_(ranks) {
    if (network.blocks() < static_cast<std::size_t>(ranks))
      throw UsageError(fmt::format("{} has {} to cut between, and there are {} ranks; start fewer",
                                   network.name,
                                   counted(static_cast<std::int64_t>(network.blocks()), "block"), ranks));
  }

  std::vector<ParallelArm> made() && {
    using plan::Schedule, plan::StageCut;
    ParallelArm whole = without_exchange(ranks_);
    whole.name = "one GPU";
    arms_.push_back(std::move(whole));
    const std::vector<std::int64_t> numbers = micro_batches_of(network_, ranks_);
    const std::int64_t usual = numbers[numbers.size() / 2];
    add({.grid = {.pipeline = ranks_}, .schedule = Schedule::in_turn}, usual, "in turn",
        "for x in micro_batches: loss(stages(x)).backward()  # one after the other");
    add({.grid = {.pipeline = ranks_}, .schedule = Schedule::gpipe}, usual, "GPipe", "ScheduleGPipe");
    for (const std::int64_t number : numbers)
      add({.grid = {.pipeline = ranks_}}, number, "1F1B", "Schedule1F1B");
    add({.grid = {.pipeline = ranks_}, .sends_block = true}, usual, "1F1B, sends block",
        "torch.distributed.send(y, next_rank)  # in place of isend");
    if (network_.blocks() >= static_cast<std::size_t>(2 * ranks_) && usual % ranks_ == 0)
      add({.grid = {.pipeline = ranks_}, .schedule = Schedule::interleaved, .chunks = 2}, usual,
          "interleaved", "ScheduleInterleaved1F1B");
    for (const StageCut cut : {StageCut::layers, StageCut::memory})
      add({.grid = {.pipeline = ranks_}, .cut = cut}, usual,
          fmt::format("1F1B, stages by {}", plan::to_string(cut)), "Schedule1F1B");
    return std::move(arms_);
  }

 private:
  void add(plan::Arrangement arrangement, std::int64_t micro_batches, const std::string& name,
           const std::string& schedule) {
    arrangement.way.exchange = GradientExchange::none;
    arrangement.first_blocks = plan::cut_into_stages(
        network_, static_cast<std::size_t>(ranks_ * arrangement.chunks), arrangement.cut);
    const bool is_known =
        arrangement.cut != plan::StageCut::time && std::ranges::any_of(arms_, [&](const ParallelArm& arm) {
          return arm.arrangement.first_blocks == arrangement.first_blocks;
        });
    if (is_known) return;
    ParallelArm arm{.name = fmt::format("{}, {} micro-batches", name, micro_batches),
                    .arrangement = std::move(arrangement),
                    .micro_batches = micro_batches};
    arm.remedy.lines = {schedule.starts_with("Schedule")
                            ? fmt::format("{}({}, n_microbatches={}, loss_fn=loss)", schedule,
                                          arm.arrangement.chunks > 1 ? "stages" : "stage", micro_batches)
                            : schedule};
    arms_.push_back(std::move(arm));
  }

  const NetworkCosts& network_;
  std::int64_t ranks_;
  std::vector<ParallelArm> arms_;
};

std::vector<ParallelArm> pipeline_arms(const NetworkCosts& network, std::int64_t ranks) {
  return PipelineArms(network, ranks).made();
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

// "+4.0 % over", "2.7 times"
std::string over_text(double ratio) {
  const std::string text = change_text(ratio - 1.0);
  return text.ends_with('%') ? text + " over" : text;
}

std::string alike_text(const std::vector<const TimedArm*>& alike) {
  if (alike.empty()) return {};
  if (alike.front()->times.groups.size() < 2)
    return " One group of processes tells no ways apart: --processes 3 would.";
  std::vector<std::string> names;
  for (const TimedArm* each : alike) names.push_back(each->arm.name);
  return fmt::format(" Not told from it: {}.", joined(names, "; "));
}

std::string fastest_sentence(const TimedArm& first, const TimedArm& fastest,
                             const std::vector<const TimedArm*>& alike) {
  std::string text =
      fmt::format("{} **{}**: {} a step", alike.empty() ? "Fastest is" : "Among the fastest is",
                  fastest.arm.name, step_text(fastest));
  if (fastest.times.over_first)
    text += fmt::format(", {} the computing alone ({})", over_text(fastest.times.over_first->ratio),
                        step_text(first));
  text += ".";
  return text + alike_text(alike);
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

// The fastest of some arms, and those that are not told from it.
struct Fastest {
  const TimedArm* arm = nullptr;
  std::vector<const TimedArm*> alike = {};
};
Fastest fastest_of(std::span<const TimedArm> arms, bool (*counts)(const TimedArm&)) {
  Fastest fastest;
  for (const TimedArm& arm : arms) {
    if (counts(arm) && (fastest.arm == nullptr || arm.times.time.median < fastest.arm->times.time.median))
      fastest.arm = &arm;
  }
  for (const TimedArm& arm : arms) {
    if (fastest.arm != nullptr && &arm != fastest.arm && counts(arm) &&
        !is_surely_faster(fastest.arm->times, arm.times))
      fastest.alike.push_back(&arm);
  }
  return fastest;
}

std::string waiting_sentence(const TimedArm& first, const ParallelSteps& steps) {
  const TimeEstimate& waiting = steps.waiting;
  const Nanoseconds step = first.times.time.median;
  if (steps.computing.size() < 2 || !has_interval(waiting) || waiting.low <= Nanoseconds(0) ||
      waiting.median <= step * kWorthSaying)
    return {};
  return fmt::format(
      "Rank {} computes longest: the others wait {} for it in each step ({}), however they exchange.",
      steps.slowest, time_text(waiting.median), percent_text(waiting.median / step));
}

void add_remedy(const ParallelArm& arm, Sentences& sentences, bool is_named = false) {
  for (const std::string& line : arm.remedy.lines)
    sentences.push_back(fmt::format("In PyTorch{}: {}", is_named ? ", " + arm.name : "", line));
  if (!arm.remedy.price.empty()) sentences.push_back(arm.remedy.price);
}

std::string memory_sentence(const TimedArm& fastest, const TimedArm& least) {
  return fmt::format("Least memory needs **{}**: {} in place of {}, for a step that takes {} in place of {}.",
                     least.arm.name, plan::memory_text(least.memory), plan::memory_text(fastest.memory),
                     step_text(least), step_text(fastest));
}

void add_said(std::string sentence, Sentences& sentences) {
  if (!sentence.empty()) sentences.push_back(std::move(sentence));
}

Sentences exchange_sentences(std::span<const TimedArm> arms, const Fastest& fastest,
                             const ParallelSteps& steps) {
  Sentences sentences = {fastest_sentence(arms.front(), *fastest.arm, fastest.alike)};
  for (std::string each :
       {exposed_sentence(*fastest.arm), plan_sentence(*fastest.arm), waiting_sentence(arms.front(), steps)})
    add_said(std::move(each), sentences);
  return sentences;
}

Sentences exchange_answers(std::span<const TimedArm> arms, const ParallelSteps& steps) {
  const Fastest fastest = fastest_of(arms, is_candidate);
  if (fastest.arm == nullptr) return {};
  Sentences sentences = exchange_sentences(arms, fastest, steps);
  add_remedy(fastest.arm->arm, sentences);
  return sentences;
}

Sentences sharding_answers(std::span<const TimedArm> arms, const ParallelSteps& steps) {
  const Fastest fastest = fastest_of(arms, is_candidate);
  if (fastest.arm == nullptr) return {};
  const TimedArm* least = fastest.arm;
  for (const TimedArm& arm : arms)
    if (is_candidate(arm) && arm.memory.value() > 0 && arm.memory < least->memory) least = &arm;
  Sentences sentences = exchange_sentences(arms, fastest, steps);
  const bool differs = least != fastest.arm;
  if (differs) sentences.push_back(memory_sentence(*fastest.arm, *least));
  add_remedy(fastest.arm->arm, sentences, differs);
  if (differs) add_remedy(least->arm, sentences, true);
  return sentences;
}

bool is_cut(const TimedArm& arm) { return arm.arm.is_cut(); }

// Says whether an arm that shares one batch among `ranks` pays beside one GPU. `what` is done in it: "cutting
// layers".
std::string pays_sentence(const std::string& what, const TimedArm& whole, const TimedArm& arm,
                          std::int64_t ranks) {
  const bool pays = is_surely_faster(arm.times, whole.times),
             costs = is_surely_faster(whole.times, arm.times);
  std::string text = fmt::format("{}: the step **{}** takes {}, where one GPU takes {} for the same batch",
                                 pays    ? capitalised(what) + " pays"
                                 : costs ? capitalised(what) + " does not pay"
                                         : "Whether " + what + " pays is not sure",
                                 arm.arm.name, step_text(arm), step_text(whole));
  if (pays)
    text += fmt::format(": {:.2f} times as fast, of {} at best",
                        whole.times.time.median / arm.times.time.median, ranks);
  return text + ".";
}

std::string cut_sentence(const TimedArm& whole, const Fastest& fastest) {
  const TimedArm& arm = *fastest.arm;
  return pays_sentence("cutting layers", whole, arm, arm.arm.arrangement.grid.tensor) +
         alike_text(fastest.alike);
}

struct Cause {
  Nanoseconds part;
  const char* words;
};
// Returns ": 12 µs by …, −15 µs for …" of the parts that are worth a word beside the whole, and a full stop.
std::string causes_text(std::span<const Cause> causes, Nanoseconds whole) {
  std::vector<std::string> texts;
  for (const auto& [part, words] : causes) {
    if (std::abs(part.value()) > whole.value() * kWorthSaying)
      texts.push_back(fmt::format("{}{} {}", part < Nanoseconds(0) ? "−" : "",
                                  time_text(Nanoseconds(std::abs(part.value()))), words));
  }
  return texts.empty() ? "." : ": " + joined(texts, ", ") + ".";
}

std::string computing_sentence(const TimedArm& arm) {
  const CutComputing& parts = arm.cut->computing;
  const std::int64_t ranks = arm.arm.arrangement.grid.tensor;
  const Nanoseconds more = parts.sum() - parts.even;
  std::string text = fmt::format("Its computing takes {}, {} {} than 1/{} of the whole's ({})",
                                 time_text(parts.sum()), time_text(Nanoseconds(std::abs(more.value()))),
                                 more < Nanoseconds(0) ? "less" : "more", ranks, time_text(parts.even));
  const Cause causes[] = {
      {parts.not_cut, "by what each rank computes whole"},
      {parts.products, "by products and attention, which use a GPU less well the smaller they are"},
      {parts.rest, "by smaller calls of other kinds"}};
  return text + causes_text(causes, parts.sum());
}

std::string exchange_cost_sentence(const TimedArm& whole, const TimedArm& arm) {
  const StepTimes& times = arm.times;
  if (!times.exposed || !times.exchange || !times.computing) return {};
  const Nanoseconds saved = whole.times.time.median - times.computing->median;
  const Nanoseconds added = std::max(times.exposed->value, Nanoseconds(0));
  std::string text =
      fmt::format("Its exchanges add {} ({} alone)", time_text(added), time_text(times.exchange->median));
  if (saved <= Nanoseconds(0)) return text + ", and the cut computing saves nothing.";
  return text +
         fmt::format(" and its computing saves {}: cutting stops paying where exchanges add more than that.",
                     time_text(saved));
}

std::string from_whole_sentence(const TimedArm& arm) {
  const Nanoseconds planned = arm.cut->from_whole;
  if (!(planned > Nanoseconds(0))) return {};
  const double off = arm.times.time.median / planned - 1.0;
  return fmt::format(
      "With 1/{} of each cut layer's time, as `jitterscope plan` has it, the plan says {}: {}.",
      arm.arm.arrangement.grid.tensor, time_text(planned),
      std::abs(off) < kWorthSaying
          ? "the same"
          : fmt::format("the step takes {} {}", percent_text(std::abs(off)), off > 0 ? "more" : "less"));
}

// Each number of GPUs is foreseen from the times on one and on these.
std::string more_sentence(const TimedArm& whole, const TimedArm& arm) {
  const std::vector<ForeseenStep>& more = arm.cut->on_more;
  if (more.empty()) return {};
  std::vector<std::string> texts;
  ForeseenStep best{1, whole.times.time.median};
  const auto try_out = [&](const ForeseenStep& each) {
    if (each.time < best.time * (1.0 - kWorthSaying)) best = each;
  };
  try_out({arm.arm.arrangement.grid.tensor, arm.times.time.median});
  for (const ForeseenStep& each : more) {
    texts.push_back(fmt::format("{} on {} GPUs", time_text(each.time), each.ranks));
    try_out(each);
  }
  std::string text =
      fmt::format("Planned from these times, with links as fast between all: {}; ", joined(texts, ", "));
  if (best.ranks == 1) return text + "one GPU stays the fastest.";
  if (best.ranks == more.back().ranks) return text + "up to there more GPUs pay.";
  return text + fmt::format("more than {} GPUs do not pay.", best.ranks);
}

Sentences cut_answers(std::span<const TimedArm> arms, const ParallelSteps& steps) {
  Sentences sentences;
  const Fastest fastest = fastest_of(arms, is_cut);
  if (fastest.arm == nullptr) return sentences;
  const TimedArm &whole = arms.front(), &arm = *fastest.arm;
  sentences.push_back(cut_sentence(whole, fastest));
  const auto add = [&](std::string sentence) { add_said(std::move(sentence), sentences); };
  if (arm.cut != nullptr) add(computing_sentence(arm));
  add(exchange_cost_sentence(whole, arm));
  add(plan_sentence(arm));
  if (arm.cut != nullptr) {
    add(from_whole_sentence(arm));
    add(more_sentence(whole, arm));
  }
  add(waiting_sentence(whole, steps));
  add_remedy(arm.arm, sentences);
  return sentences;
}

bool is_staged(const TimedArm& arm) { return arm.arm.is_pipeline(); }

std::string stages_sentence(const TimedArm& whole, const Fastest& fastest) {
  return pays_sentence("a pipeline", whole, *fastest.arm, fastest.arm->arm.arrangement.grid.pipeline) +
         alike_text(fastest.alike);
}

std::string idle_sentence(const TimedArm& arm) {
  const PipelineParts& parts = arm.pipeline->parts;
  const Nanoseconds step = arm.times.time.median, computing = parts.even + parts.smaller;
  std::string text = fmt::format("A rank computes {} of it and idles {}", time_text(computing),
                                 percent_text(std::max(1.0 - computing / step, 0.0)));
  const Cause causes[] = {
      {parts.filling(), "until the first micro-batch has come and after the last one has gone"},
      {parts.more_by_stages(), "because stages are uneven"},
      {parts.sends, arm.arm.arrangement.sends_block ? "for sends, which hold up who sends" : "for sends"},
      {parts.in_line, "because sends of one communicator wait for each other"},
      {parts.rest, "which the plan does not know"}};
  text += causes_text(causes, step);
  if (std::abs(parts.smaller.value()) > step.value() * kWorthSaying)
    text += fmt::format(" {} of its computing {} because micro-batches are smaller than the batch.",
                        time_text(Nanoseconds(std::abs(parts.smaller.value()))),
                        parts.smaller > Nanoseconds(0) ? "are there" : "are saved");
  return text;
}

std::string cut_place_sentence(const TimedArm& arm) {
  const std::vector<std::string>& first = arm.pipeline->first_layers;
  std::vector<std::string> places;
  for (std::size_t stage = 1; stage < first.size(); ++stage)
    places.push_back(fmt::format("stage {} with {}", stage, first[stage]));
  return fmt::format("Stage 0 begins with {}, {}.", first.front(), joined(places, ", "));
}

// What a way that does not overlap, or that waits for its sends, takes more than the fastest.
std::string without_overlap_sentence(const TimedArm& arm, const TimedArm& fastest, const char* what) {
  if (&arm == &fastest || !is_surely_faster(fastest.times, arm.times)) return {};
  std::string text = fmt::format("{} the step takes {}, {} the fastest", what, step_text(arm),
                                 over_text(arm.times.time.median / fastest.times.time.median));
  if (arm.pipeline != nullptr)
    text += fmt::format(
        ": {} of it wait for another stage, and {} for sends",
        time_text(arm.pipeline->parts.filling() + arm.pipeline->parts.more_by_stages()),
        time_text(std::max(arm.pipeline->parts.sends + arm.pipeline->parts.in_line, Nanoseconds(0))));
  return text + ".";
}

Sentences stage_answers(std::span<const TimedArm> arms, const ParallelSteps& steps) {
  Sentences sentences;
  const Fastest fastest = fastest_of(arms, is_staged);
  if (fastest.arm == nullptr) return sentences;
  const TimedArm& arm = *fastest.arm;
  sentences.push_back(stages_sentence(arms.front(), fastest));
  const auto add = [&](std::string sentence) { add_said(std::move(sentence), sentences); };
  if (arm.pipeline != nullptr) add(idle_sentence(arm));
  add(plan_sentence(arm));
  for (const TimedArm& other : arms) {
    if (!is_staged(other)) continue;
    if (other.arm.arrangement.schedule == plan::Schedule::in_turn)
      add(without_overlap_sentence(other, arm, "With micro-batches in turn nothing overlaps:"));
    if (other.arm.arrangement.sends_block)
      add(without_overlap_sentence(other, arm, "Where a rank waits until what it sends is received,"));
  }
  if (arm.pipeline != nullptr) add(cut_place_sentence(arm));
  add(waiting_sentence(arms.front(), steps));
  add_remedy(arm.arm, sentences);
  return sentences;
}

}  // namespace

const std::vector<ParallelStudy>& parallel_studies() {
  static const std::vector<ParallelStudy> studies = {
      {{"data-parallel", "When should ranks exchange their gradients, and in what pieces?",
        "a network that trains, between ranks (mpirun -n N, --local N)"},
       "resnet50:batch=64,dtype=bf16,layout=nhwc",
       data_parallel_arms,
       exchange_answers},
      {{"sharding", "What does it cost to deal out a network's state to the ranks?",
        "a network that trains, between ranks (mpirun -n N, --local N)"},
       "gpt2:batch=8,dtype=bf16",
       sharding_arms,
       sharding_answers},
      {{"tensor-parallel", "Does it pay to cut each layer in parts, one for each GPU?",
        "a transformer that trains, between ranks (mpirun -n N, --local N)"},
       "gpt2:batch=8,dtype=bf16",
       tensor_parallel_arms,
       cut_answers},
      {{"pipeline",
        "Does it pay to give each GPU a stage of the network, and how are micro-batches passed on?",
        "a network that trains, between ranks (mpirun -n N, --local N)"},
       "gpt2:batch=16,dtype=bf16",
       pipeline_arms,
       stage_answers,
       true}};
  return studies;
}

const ParallelStudy* find_parallel_study(const std::string& id) {
  const auto found =
      std::ranges::find(parallel_studies(), id, [](const ParallelStudy& study) { return study.summary.id; });
  return found == parallel_studies().end() ? nullptr : &*found;
}

}  // namespace jitterscope::study
