// Streams. Varies over how many streams 16 launches of the same work are spread, each with operands of its
// own. Reports the time of all 16, by size where the study chooses the work, and by a trace behind the times
// how many kernels ran at once. Can go wrong: a launch that fills the device leaves no room beside it, so
// streams help small work only; and the host must launch faster than the device works, which is given here,
// as all launches wait behind a gate.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "study/answers.hpp"
#include "study/studies/chain_arms.hpp"
#include "study/studies/side_by_side.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
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
  return {
      {fmt::format("streams = [torch.cuda.Stream() for _ in range({})]", arm.substr(0, arm.find(' '))),
       "for i, batch in enumerate(batches):",
       "    with torch.cuda.stream(streams[i % len(streams)]): outputs[i] = model(batch)",
       "for s in streams: torch.cuda.current_stream().wait_stream(s)"},
      "The launches must not need each other's results, and the host must be fast enough to fill all streams."};
}

Remedy streams_in_cuda(const std::string& arm) {
  return {
      {fmt::format("cudaStream_t streams[{}];  // each by cudaStreamCreateWithFlags(&stream, "
                   "cudaStreamNonBlocking)",
                   arm.substr(0, arm.find(' '))),
       "kernel<<<grid, block, 0, streams[i % std::size(streams)]>>>(…);"},
      "The launches must not need each other's results, and the host must be fast enough to fill all streams.",
      "In CUDA"};
}

// Of several sizes, those for which no number of streams is faster, where all are decided.
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
  // Where there is a trace, it says why.
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
  return {.id = "streams",
          .question = "Do launches that do not need each other run side by side on several streams?",
          .concerns = "everything but spins, chains, operators of PyTorch and copies of pageable memory",
          .is_remedy = false,
          .traces_kernels = true,
          .subject = streams_subject,
          .can_be_asked_of = can_be_step,
          .arms = streams_arms,
          .remedy = streams_remedy,
          .kernel_remedy = streams_in_cuda,
          .answer = streams_answer};
}

}  // namespace jitterscope::study::studies
