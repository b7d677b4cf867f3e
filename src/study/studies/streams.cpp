#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "experiment/comparison.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Studies of streams: spreading launches over several, and priorities.

namespace jitterscope::study::studies {

// Streams study. It varies over how many streams 16 launches of the same work are spread, each with its own
// operands. It reports the total time, for the default subject by size, and from a trace after the times how
// many kernels ran at once. Limits: a launch that fills the device leaves no room for others, so streams only
// help small work; and the host must launch faster than the device works, which is given here, since all
// launches are held first.

namespace {

// The kernels of one arm.
struct TracedArm {
  std::string arm;
  double time_ratio = 1.0;
  KernelConcurrency at_once;
};

// One operation in all arms, which spread it over streams.
struct SpreadOutcome {
  std::string name;               // text of each launch's operation
  bool is_faster = false;         // with one of the arms
  bool is_undecided = false;      // with one of the arms
  std::vector<TracedArm> traced;  // the arms after the first; empty if kernels were not traced
  std::string not_traced;         // why requested traces are missing
};

// Kernels that only overlap at an end and a start are below this.
constexpr double kSideBySide = 1.1;

double mean_of_arm(const TracedArm& arm) { return arm.at_once.mean_at_once; }

double most_of(const SpreadOutcome& outcome) {
  return outcome.traced.empty() ? 0.0 : mean_of_arm(std::ranges::max(outcome.traced, {}, mean_of_arm));
}

bool ran_side_by_side(const SpreadOutcome& outcome) { return most_of(outcome) >= kSideBySide; }

bool gains_nothing(const SpreadOutcome& outcome) { return !outcome.is_faster && !outcome.is_undecided; }

// Shortens a list, as a network may have hundreds.
std::string few_of(const std::vector<std::string>& all, const char* separator) {
  constexpr std::size_t kFew = 4;
  std::vector<std::string> few(all.begin(),
                               all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kFew)));
  if (all.size() > kFew) few.push_back(fmt::format("and {} more", all.size() - kFew));
  return joined(few, separator);
}

std::vector<std::string> names_of(const std::vector<SpreadOutcome>& outcomes) {
  std::vector<std::string> names;
  for (const SpreadOutcome& outcome : outcomes) names.push_back(outcome.name);
  return names;
}

std::vector<SpreadOutcome> chosen(const std::vector<SpreadOutcome>& outcomes, const auto& is_chosen) {
  std::vector<SpreadOutcome> found;
  std::ranges::copy_if(outcomes, std::back_inserter(found), is_chosen);
  return found;
}

// Returns " of A, B" if the sentence is not about everything asked for.
std::string of_which(const std::vector<SpreadOutcome>& some, std::size_t all) {
  return all == 1 || some.size() == all ? std::string() : " of " + few_of(names_of(some), ", ");
}

// Reports every arm of a single operation.
std::string arms_sentence(const SpreadOutcome& outcome) {
  std::string text;
  for (const TracedArm& arm : outcome.traced) {
    text += text.empty() ? fmt::format("By the trace, {} ran {:.1f} kernels side by side (at most {})",
                                       arm.arm, arm.at_once.mean_at_once, arm.at_once.most_at_once)
                         : fmt::format("; {} {:.1f} ({})", arm.arm, arm.at_once.mean_at_once,
                                       arm.at_once.most_at_once);
  }
  return text + '.';
}

// Reports for each operation the fastest arm, or the one with the most kernels at once if none is faster.
std::string operations_sentence(const std::vector<SpreadOutcome>& outcomes) {
  std::vector<std::string> each;
  for (const SpreadOutcome& outcome : outcomes) {
    const TracedArm& arm = outcome.is_faster ? std::ranges::min(outcome.traced, {}, &TracedArm::time_ratio)
                                             : std::ranges::max(outcome.traced, {}, mean_of_arm);
    each.push_back(fmt::format("{} {:.1f} at once with {} (at most {})", outcome.name,
                               arm.at_once.mean_at_once, arm.arm, arm.at_once.most_at_once));
  }
  return "By the trace, kernels ran side by side: " + few_of(each, "; ") + '.';
}

std::string apart_sentence(const std::vector<SpreadOutcome>& apart, std::size_t all) {
  std::int64_t streams = 1;
  double mean = 1.0;
  for (const SpreadOutcome& outcome : apart) {
    mean = std::max(mean, most_of(outcome));
    for (const TracedArm& arm : outcome.traced) streams = std::max(streams, arm.at_once.streams);
  }
  if (streams == 1)
    return fmt::format("By the trace, all kernels{} were on one stream.", of_which(apart, all));
  std::string why;
  if (std::ranges::all_of(apart, &SpreadOutcome::is_faster)) {
    why = ": what is gained lies between the kernels";
  } else if (std::ranges::all_of(apart, gains_nothing)) {
    why = ": a kernel leaves no room beside it, or ends before the next one starts";
  }
  return fmt::format(
      "By the trace, kernels{} did not run side by side, although they were on up to {} streams ({:.1f} at "
      "once){}.",
      of_which(apart, all), streams, mean, why);
}

// Returns the outcomes in the order of comparison, without arms that failed or computed something else.
std::vector<SpreadOutcome> spread_outcomes(const ComparisonRecord& record) {
  std::vector<SpreadOutcome> outcomes;
  for (const Comparison& comparison : record.comparisons) {
    const Operation* operation = operation_of(comparison.first.subject);
    if (operation == nullptr || !has_time(comparison)) continue;
    const Chain* chain = chain_of(*operation);
    if (chain == nullptr) continue;
    const std::string name = chain->steps.front().text();
    if (std::ranges::find(outcomes, name, &SpreadOutcome::name) == outcomes.end()) {
      outcomes.emplace_back().name = name;
    }
    SpreadOutcome& outcome = *std::ranges::find(outcomes, name, &SpreadOutcome::name);
    outcome.is_faster = outcome.is_faster || is_faster(comparison);
    outcome.is_undecided = outcome.is_undecided || is_undecided(comparison);
    const std::string& arm = record.alternatives[comparison.alternative];
    const ComparedSide& side = comparison.second;
    // Further conditions have the same trace.
    const bool is_new = std::ranges::find(outcome.traced, arm, &TracedArm::arm) == outcome.traced.end();
    if (side.concurrency && is_new) outcome.traced.push_back({arm, comparison.time.ratio, *side.concurrency});
    if (side.without_kernels) outcome.not_traced = side.without_kernels->reason;
  }
  return outcomes;
}

// Returns sentences: how many kernels ran at once, where none did in spite of several streams, and where
// some did without a gain; or why kernels could not be traced.
Sentences side_by_side_sentences(const std::vector<SpreadOutcome>& outcomes) {
  const std::vector<SpreadOutcome> together = chosen(outcomes, ran_side_by_side);
  const std::vector<SpreadOutcome> in_vain = chosen(together, gains_nothing);
  const std::vector<SpreadOutcome> apart = chosen(outcomes, [](const SpreadOutcome& outcome) {
    return !outcome.traced.empty() && !ran_side_by_side(outcome);
  });
  const std::vector<SpreadOutcome> unknown = chosen(outcomes, [](const SpreadOutcome& outcome) {
    return outcome.traced.empty() && !outcome.not_traced.empty();
  });
  Sentences sentences;
  if (!together.empty())
    sentences.push_back(outcomes.size() == 1 ? arms_sentence(together.front())
                                             : operations_sentence(together));
  if (!in_vain.empty()) {
    sentences.push_back(fmt::format(
        "Kernels{} ran side by side but gained nothing: the limit is something that they share, such as "
        "memory.",
        of_which(in_vain, outcomes.size())));
  }
  if (!apart.empty()) sentences.push_back(apart_sentence(apart, outcomes.size()));
  if (!unknown.empty()) {
    sentences.push_back(
        fmt::format("Whether kernels{} ran side by side is not known, as they could not be traced: {}.",
                    of_which(unknown, outcomes.size()), unknown.front().not_traced));
  }
  return sentences;
}

constexpr std::int64_t kLaunches = 16;

Arm streams_arm(std::int64_t streams) {
  constexpr const char* kPrice =
      "The launches must be independent, and the host must be fast enough to fill all streams.";
  Arm arm = chain_arm(fmt::format("{} stream{}", streams, streams == 1 ? "" : "s"), Instrument::events,
                      [streams](const Operation& operation) {
                        return Chain{.steps = {operation}, .lanes = kLaunches, .streams = streams};
                      },
                      {{fmt::format("streams = [torch.cuda.Stream() for _ in range({})]", streams),
                        "for i, batch in enumerate(batches):",
                        "    with torch.cuda.stream(streams[i % len(streams)]): outputs[i] = model(batch)",
                        "for s in streams: torch.cuda.current_stream().wait_stream(s)"},
                       kPrice});
  arm.kernel_remedy = {
      {fmt::format("cudaStream_t streams[{}];  // each by cudaStreamCreateWithFlags(&stream, "
                   "cudaStreamNonBlocking)",
                   streams),
       "kernel<<<grid, block, 0, streams[i % std::size(streams)]>>>(…);"},
      kPrice,
      "In CUDA"};
  return arm;
}

std::vector<Arm> streams_arms(const StudyContext& context) {
  require_streams(context);
  return {streams_arm(1), streams_arm(2), streams_arm(4), streams_arm(8), streams_arm(16)};
}

// For several sizes: names those for which no number of streams is faster, if all are decided.
std::string sizes_without_gain(const std::vector<SpreadOutcome>& sizes) {
  if (std::ranges::none_of(sizes, &SpreadOutcome::is_faster)) return {};
  std::vector<std::string> names;
  bool is_any_traced = false;
  for (const SpreadOutcome& size : sizes) {
    if (size.is_faster || size.is_undecided) continue;
    names.push_back(size.name);
    is_any_traced = is_any_traced || !size.traced.empty();
  }
  if (names.empty()) return {};
  // A trace's sentences give the reason.
  return "No number of streams helps " + joined(names) +
         (is_any_traced ? "." : ": one launch keeps the device busy by itself.");
}

Sentences how_kernels_ran(const StudyResult& result) {
  const std::vector<SpreadOutcome> sizes = spread_outcomes(result.record);
  Sentences sentences;
  add(sentences, sizes_without_gain(sizes));
  add(sentences, side_by_side_sentences(sizes));
  return sentences;
}

}  // namespace

Study streams() {
  return {
      .id = "streams",
      .question = "Do independent launches run side by side on several streams?",
      .concerns = "all operations except spins, chains, operators of PyTorch and copies of pageable memory",
      .is_remedy = false,
      .traces_kernels = true,
      // From an eighth of an H200's processors to all of them.
      .subject = "matmul:m=128..2048*4,n=1024,k=512,dtype=f16",
      .can_be_asked_of = can_be_step,
      .arms = streams_arms,
      .reasons = how_kernels_ran};
}

// Priorities study. It varies whether a short chain of launches has a stream of high priority while blocks on
// another stream keep all processors busy, and reports the chain's time. Limits: a priority decides which
// block comes next and stops no running block, so the gain depends on the length of the load's blocks, here
// 10 us. Stopping the rest of the load takes some us, which are in all times under load; the answer says so.

namespace {

std::vector<Arm> priorities_arms(const StudyContext& context) {
  require_streams(context);
  constexpr std::int64_t kSmallLaunches = 4, kLoad = 100'000;  // ns
  constexpr const char* kPrice =
      "It takes time from work on other streams, but does not stop running blocks.";
  const auto arm = [](const char* name, bool high_priority, std::int64_t load) {
    return chain_arm(name, Instrument::events,
                     [=](const Operation& operation) {
                       return Chain{.steps = std::vector<Operation>(kSmallLaunches, operation),
                                    .high_priority = high_priority,
                                    .load_ns = load};
                     },
                     {{"stream = torch.cuda.Stream(priority=-1)",
                       "with torch.cuda.stream(stream): output = model(request)"},
                      kPrice});
  };
  Arm high = arm("high priority, under load", true, kLoad), alone = arm("alone", false, 0);
  high.kernel_remedy = {{"cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1);",
                         "kernel<<<grid, block, 0, stream>>>(…);"},
                        kPrice,
                        "In CUDA"};
  alone.is_bound = true;
  return {arm("usual priority, under load", false, kLoad), high, alone};
}

Sentences how_it_runs_alone(const StudyResult& result) {
  const Comparison* alone = comparison_with_bound(result);
  if (alone == nullptr || is_wrong(*alone)) return {};
  return {is_undecided(*alone) ? not_decided("whether it is faster alone on the device")
                               : fmt::format("Alone on the device it is {}.",
                                             speed_against(alone->time, result.record.alternatives.front()))};
}

Sentences what_the_load_is(const StudyResult&) {
  return {
      "The load consists of blocks of 10 µs. It is stopped when the small work is done; that takes some µs, "
      "which are in both times under load."};
}

}  // namespace

Study priorities() {
  return {
      .id = "priorities",
      .question = "Does a stream of high priority let small work overtake a load on another stream?",
      .concerns = "all operations except spins, chains, operators of PyTorch and copies of pageable memory",
      .is_remedy = false,
      .subject = "relu:count=16Ki",
      .can_be_asked_of = can_be_step,
      .arms = priorities_arms,
      .reasons = how_it_runs_alone,
      .details = what_the_load_is};
}

}  // namespace jitterscope::study::studies
