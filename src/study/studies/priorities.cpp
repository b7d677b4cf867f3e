// Priorities. Varies whether a short chain of launches has a stream of high priority, while blocks on another
// stream keep all processors busy. Reports the time from its start to its end. Can go wrong: a priority
// decides which block comes next and stops none that runs, so the gain goes by the length of the load's
// blocks: here 10 us. Stopping what is left of the load takes some us, which are in all times under load: the
// answer says so.
#include <fmt/format.h>

#include "study/answers.hpp"
#include "study/studies/chain_arms.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
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
      "It takes time from the work on other streams, and stops no block that runs."};
}

Remedy priorities_in_cuda(const std::string&) {
  return {{"cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1);",
           "kernel<<<grid, block, 0, stream>>>(…);"},
          "It takes time from the work on other streams, and stops no block that runs.",
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
      "The load is of blocks of 10 µs. It is stopped when the small work is done, which takes some µs that are in "
      "both times under load.");
  return sentences;
}

}  // namespace

Study priorities() {
  return {.id = "priorities",
          .question = "Does a stream of high priority get small work past a load on another stream?",
          .concerns = "everything but spins, chains, operators of PyTorch and copies of pageable memory",
          .is_remedy = false,
          .subject = priorities_subject,
          .can_be_asked_of = can_be_step,
          .arms = priorities_arms,
          .remedy = priorities_remedy,
          .kernel_remedy = priorities_in_cuda,
          .answer = priorities_answer};
}

}  // namespace jitterscope::study::studies
