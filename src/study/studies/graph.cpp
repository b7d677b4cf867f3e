// Graph. Varies how launches reach the device: one by one from the host, or replayed as one CUDA graph.
// Reports the time from launch to launch, by size where the study chooses the work: where the host is the
// slower one, a graph helps, and where the kernel is, it does not. Can go wrong: a graph's shapes and
// addresses are fixed, and a Python program's host is slower than the one that these times have.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/words.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

// A copy from pageable memory waits for its queue, and so cannot be recorded.
bool can_be_recorded(const Operation& operation) {
  if (std::holds_alternative<Spin>(operation.parameters())) return false;
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    return chain->wait == HostWait::none && std::ranges::all_of(chain->steps, can_be_recorded);
  }
  if (std::holds_alternative<Allocation>(operation.parameters())) return false;
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  return copy == nullptr || copy->kind == CopyKind::d2d ||
         (copy->memory != HostMemory::pageable && copy->memory != HostMemory::registered_anew);
}

Arm graph_arm(QueueMode queue) {
  return {std::string(to_string(queue)), [queue](Trial& trial) { trial.options.queue = queue; }};
}

std::vector<Arm> graph_arms(const StudyContext& context) {
  if (!context.description.capabilities.launches_return_early) {
    throw UsageError(context.description.id + " runs each launch to its end: a graph would save nothing");
  }
  return {graph_arm(QueueMode::eager), graph_arm(QueueMode::graph)};
}

std::string graph_subject(const DeviceDescription&) { return "relu:count=1Ki..64Mi*16"; }

Remedy graph_remedy(const std::string&) {
  return {
      {"graph = torch.cuda.CUDAGraph()", "with torch.cuda.graph(graph): output = model(batch)",
       "graph.replay()  # after batch.copy_(next_batch)"},
      "Shapes and addresses are those of the capture, and its memory stays taken; Python's own cost of a launch, "
      "which a graph saves as well, is not in these times."};
}

std::vector<std::string> graph_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences = answer_by_fastest(record, graph_remedy);
  const std::vector<ArmOutcome> outcomes = arm_outcomes(record);
  const auto is_faster = [](const ArmOutcome& outcome) {
    return outcome.verdict == statistics::EffectVerdict::faster;
  };
  const auto faster = std::ranges::count_if(outcomes, is_faster);
  if (std::ssize(outcomes) > 1 && faster > 0 && faster < std::ssize(outcomes)) {
    sentences.insert(
        sentences.begin() + 1,
        "Where a graph is not faster, the kernel takes longer than its launch: the host is not the limit.");
  }
  return sentences;
}

}  // namespace

Study graph() {
  return {
      .id = "graph",
      .question = "Do launches cost time that a CUDA graph saves?",
      .concerns = "everything but spins, allocations and copies that wait, as those of pageable memory do",
      .saves_host_time = true,
      .subject = graph_subject,
      .can_be_asked_of = can_be_recorded,
      .arms = graph_arms,
      .remedy = graph_remedy,
      .answer = graph_answer};
}

}  // namespace jitterscope::study::studies
