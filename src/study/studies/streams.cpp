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

/// The kernels of one arm.
struct TracedArm {
  std::string arm;
  double time_ratio = 1.0;
  KernelConcurrency at_once;
};

/// One operation in all arms, which spread it over streams.
struct SpreadOutcome {
  std::string name;               ///< text of each launch's operation
  bool is_faster = false;         ///< with one of the arms
  bool is_undecided = false;      ///< with one of the arms
  std::vector<TracedArm> traced;  ///< the arms after the first; empty if kernels were not traced
  std::string not_traced;         ///< why requested traces are missing
};

/// Returns the outcomes in the order of comparison, without arms that failed or computed something else.
std::vector<SpreadOutcome> spread_outcomes(const ComparisonRecord& record);

/// Returns sentences: how many kernels ran at once, where none did in spite of several streams, and where
/// some did without a gain; or why kernels could not be traced.
std::vector<std::string> side_by_side_sentences(const std::vector<SpreadOutcome>& outcomes);

// Streams study. It varies over how many streams 16 launches of the same work are spread, each with its own
// operands. It reports the total time, for the default subject by size, and from a trace after the times how
// many kernels ran at once. Limits: a launch that fills the device leaves no room for others, so streams only
// help small work; and the host must launch faster than the device works, which is given here, since all
// launches are held first.

namespace {

constexpr std::int64_t kLaunches = 16;

std::string streams_name(std::int64_t streams) {
  return fmt::format("{} stream{}", streams, streams == 1 ? "" : "s");
}

std::vector<Arm> streams_arms(const StudyContext& context) {
  require_streams(context);
  std::vector<Arm> arms;
  for (const std::int64_t streams : {1, 2, 4, 8, 16}) {
    arms.push_back(
        chain_arm(streams_name(streams), Instrument::events, [streams](const Operation& operation) {
          return Chain{.steps = {operation}, .lanes = kLaunches, .streams = streams};
        }));
  }
  return arms;
}

// From an eighth of an H200's processors to all of them.
std::string streams_subject(const DeviceDescription&) {
  return "matmul:m=128..2048*4,n=1024,k=512,dtype=f16";
}

Remedy streams_remedy(const std::string& arm) {
  return {{fmt::format("streams = [torch.cuda.Stream() for _ in range({})]", arm.substr(0, arm.find(' '))),
           "for i, batch in enumerate(batches):",
           "    with torch.cuda.stream(streams[i % len(streams)]): outputs[i] = model(batch)",
           "for s in streams: torch.cuda.current_stream().wait_stream(s)"},
          "The launches must be independent, and the host must be fast enough to fill all streams."};
}

Remedy streams_in_cuda(const std::string& arm) {
  return {{fmt::format("cudaStream_t streams[{}];  // each by cudaStreamCreateWithFlags(&stream, "
                       "cudaStreamNonBlocking)",
                       arm.substr(0, arm.find(' '))),
           "kernel<<<grid, block, 0, streams[i % std::size(streams)]>>>(…);"},
          "The launches must be independent, and the host must be fast enough to fill all streams.",
          "In CUDA"};
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

std::vector<std::string> streams_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences =
      answer_by_fastest(record, remedy_for(record, streams_remedy, streams_in_cuda));
  const std::vector<SpreadOutcome> sizes = spread_outcomes(record);
  std::vector<std::string> of_sizes = side_by_side_sentences(sizes);
  if (std::string without = sizes_without_gain(sizes); !without.empty())
    of_sizes.insert(of_sizes.begin(), std::move(without));
  sentences.insert(sentences.begin() + 1, of_sizes.begin(), of_sizes.end());
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
      .subject = streams_subject,
      .can_be_asked_of = can_be_step,
      .arms = streams_arms,
      .remedy = streams_remedy,
      .kernel_remedy = streams_in_cuda,
      .answer = streams_answer};
}

// Priorities study. It varies whether a short chain of launches has a stream of high priority while blocks on
// another stream keep all processors busy, and reports the chain's time. Limits: a priority decides which
// block comes next and stops no running block, so the gain depends on the length of the load's blocks, here
// 10 us. Stopping the rest of the load takes some us, which are in all times under load; the answer says so.

namespace {

constexpr const char* kUsual = "usual priority, under load";
constexpr const char* kHigh = "high priority, under load";
constexpr const char* kAlone = "alone";

std::vector<Arm> priorities_arms(const StudyContext& context) {
  require_streams(context);
  constexpr std::int64_t kSmallLaunches = 4, kLoad = 100'000;  // ns
  const auto arm = [](const char* name, bool high_priority, std::int64_t load) {
    return chain_arm(name, Instrument::events, [=](const Operation& operation) {
      return Chain{.steps = std::vector<Operation>(kSmallLaunches, operation),
                   .high_priority = high_priority,
                   .load_ns = load};
    });
  };
  return {arm(kUsual, false, kLoad), arm(kHigh, true, kLoad), arm(kAlone, false, 0)};
}

std::string priorities_subject(const DeviceDescription&) { return "relu:count=16Ki"; }

Remedy priorities_remedy(const std::string&) {
  return {
      {"stream = torch.cuda.Stream(priority=-1)", "with torch.cuda.stream(stream): output = model(request)"},
      "It takes time from work on other streams, but does not stop running blocks."};
}

Remedy priorities_in_cuda(const std::string&) {
  return {{"cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1);",
           "kernel<<<grid, block, 0, stream>>>(…);"},
          "It takes time from work on other streams, but does not stop running blocks.",
          "In CUDA"};
}

std::vector<std::string> priorities_answer(const ComparisonRecord& record) {
  ComparisonRecord under_load = record;
  std::erase_if(under_load.comparisons, [&](const Comparison& comparison) {
    return record.alternatives[comparison.alternative] == kAlone;
  });
  std::vector<std::string> sentences =
      answer_by_fastest(under_load, remedy_for(record, priorities_remedy, priorities_in_cuda));
  if (const Comparison* alone = comparison_with(record, kAlone); alone != nullptr && !is_wrong(*alone)) {
    sentences.insert(sentences.begin() + 1,
                     alone->verdict == statistics::EffectVerdict::undecided
                         ? not_decided("whether it is faster alone on the device")
                         : fmt::format("Alone on the device it is {}.", speed_against(alone->time, kUsual)));
  }
  sentences.emplace_back(
      "The load consists of blocks of 10 µs. It is stopped when the small work is done; that takes some "
      "µs, which are in both times under load.");
  return sentences;
}

}  // namespace

Study priorities() {
  return {
      .id = "priorities",
      .question = "Does a stream of high priority let small work overtake a load on another stream?",
      .concerns = "all operations except spins, chains, operators of PyTorch and copies of pageable memory",
      .is_remedy = false,
      .subject = priorities_subject,
      .can_be_asked_of = can_be_step,
      .arms = priorities_arms,
      .remedy = priorities_remedy,
      .kernel_remedy = priorities_in_cuda,
      .answer = priorities_answer};
}

namespace {

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

}  // namespace

std::vector<SpreadOutcome> spread_outcomes(const ComparisonRecord& record) {
  std::vector<SpreadOutcome> outcomes;
  for (const Comparison& comparison : record.comparisons) {
    const Operation* operation = operation_of(comparison.first.subject);
    if (operation == nullptr || !has_time(comparison)) continue;
    const auto* chain = std::get_if<Chain>(&operation->parameters());
    if (chain == nullptr) continue;
    const std::string name = chain->steps.front().text();
    if (std::ranges::find(outcomes, name, &SpreadOutcome::name) == outcomes.end()) {
      outcomes.emplace_back().name = name;
    }
    SpreadOutcome& outcome = *std::ranges::find(outcomes, name, &SpreadOutcome::name);
    using statistics::EffectVerdict;
    outcome.is_faster = outcome.is_faster || comparison.verdict == EffectVerdict::faster;
    outcome.is_undecided = outcome.is_undecided || comparison.verdict == EffectVerdict::undecided;
    const std::string& arm = record.alternatives[comparison.alternative];
    const ComparedSide& side = comparison.second;
    // Further conditions have the same trace.
    const bool is_new = std::ranges::find(outcome.traced, arm, &TracedArm::arm) == outcome.traced.end();
    if (side.concurrency && is_new) outcome.traced.push_back({arm, comparison.time.ratio, *side.concurrency});
    if (side.without_kernels) outcome.not_traced = side.without_kernels->reason;
  }
  return outcomes;
}

std::vector<std::string> side_by_side_sentences(const std::vector<SpreadOutcome>& outcomes) {
  const std::vector<SpreadOutcome> together = chosen(outcomes, ran_side_by_side);
  const std::vector<SpreadOutcome> in_vain = chosen(together, gains_nothing);
  const std::vector<SpreadOutcome> apart = chosen(outcomes, [](const SpreadOutcome& outcome) {
    return !outcome.traced.empty() && !ran_side_by_side(outcome);
  });
  const std::vector<SpreadOutcome> unknown = chosen(outcomes, [](const SpreadOutcome& outcome) {
    return outcome.traced.empty() && !outcome.not_traced.empty();
  });
  std::vector<std::string> sentences;
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

}  // namespace jitterscope::study::studies
