#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/samples.hpp"
#include "operation/words.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Graph study. It varies how launches reach the device: one by one from the host, replayed as one CUDA graph,
// or, if they are independent, as one launch that is as large as all. It reports the total time, for the
// default subject by number and size of launches: a graph helps if the host is slower than the kernel.
// Limits: a graph's shapes and addresses are fixed, and a Python program's host is slower than the one timed
// here.

namespace jitterscope::study::studies {
namespace {

using statistics::EffectVerdict;

constexpr const char* kBatched = "batched";

const Chain* chain_in(const Operation& operation) { return std::get_if<Chain>(&operation.parameters()); }

// False for copies from pageable memory, which wait for their queue and so cannot be recorded.
bool can_be_recorded(const Operation& operation) {
  if (std::holds_alternative<Spin>(operation.parameters())) return false;
  if (const Chain* chain = chain_in(operation)) {
    return chain->wait == HostWait::none && std::ranges::all_of(chain->steps, can_be_recorded);
  }
  if (std::holds_alternative<Allocation>(operation.parameters())) return false;
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  return copy == nullptr || copy->kind == CopyKind::d2d ||
         (copy->memory != HostMemory::pageable && copy->memory != HostMemory::registered_anew);
}

// Lanes are independent; steps may not be.
bool can_be_one_launch(const Operation& operation) {
  const Chain* chain = chain_in(operation);
  return chain != nullptr && chain->steps.size() == 1 && !needs_streams(*chain) &&
         has_batch(chain->steps.front());
}

// A chain is a graph of its own, replayed for each launch. Any other operation is recorded in a graph with
// many of its launches, like a layer of a network.
Arm graph_arm(QueueMode queue) {
  return {
      std::string(to_string(queue)), [queue](OperationTrial& trial) {
        trial.options.queue = queue;
        if (queue == QueueMode::graph && chain_in(trial.operation) != nullptr && !trial.options.instrument)
          trial.options.instrument = Instrument::events;
      }};
}

Arm one_launch_arm() {
  return {kBatched, [](OperationTrial& trial) {
            const Chain chain = *chain_in(trial.operation);
            trial.operation = with_larger_batch(chain.steps.front(), chain.lanes);
            trial.options.queue = QueueMode::eager;
          }};
}

std::vector<Arm> graph_arms(const StudyContext& context) {
  if (!context.description.capabilities.launches_return_early) {
    throw UsageError(context.description.id + " runs each launch to its end: a graph would save nothing");
  }
  std::vector<Arm> arms = {graph_arm(QueueMode::eager), graph_arm(QueueMode::graph)};
  if (std::ranges::all_of(context.operations, can_be_one_launch)) arms.push_back(one_launch_arm());
  return arms;
}

// Few and many small launches, and some that take longer than the host takes to launch them.
std::string graph_subject(const DeviceDescription&) {
  return "chain:[relu:count=1Ki],lanes=1,10,100,1000\n"
         "chain:[relu:count=256Ki],lanes=10\n"
         "chain:[relu:count=4Mi],lanes=4";
}

Remedy graph_remedy(const std::string& arm) {
  if (arm == kBatched) {
    return {{"outputs = model(torch.stack(inputs))"},
            "All inputs must be there, and the first result comes with the last one."};
  }
  return {{"graph = torch.cuda.CUDAGraph()", "with torch.cuda.graph(graph): output = model(batch)",
           "graph.replay()  # after batch.copy_(next_batch)"},
          "Shapes and addresses are fixed by the capture, and its memory stays in use. A graph also saves "
          "Python's own cost of a launch, which is not in these times."};
}

Remedy graph_in_cuda(const std::string& arm) {
  const std::string place = "In CUDA";
  if (arm == kBatched) {
    return {{"kernel<<<blocks_of_all, block, 0, stream>>>(…);  // one launch for all inputs"},
            "All inputs must be there, and the first result comes with the last one.",
            place};
  }
  return {{"cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);",
           "kernel<<<grid, block, 0, stream>>>(…);  // and all other launches",
           "cudaStreamEndCapture(stream, &graph);", "cudaGraphInstantiate(&executable, graph, 0);",
           "cudaGraphLaunch(executable, stream);  // each time"},
          "Sizes and addresses are fixed by the capture.",
          place};
}

// Comparisons of launches of one size, by their number.
struct LaunchesOfASize {
  std::string step;
  std::vector<const Comparison*> graphs;  // against one by one; the fewest launches first
};

const Chain* chain_of(const Comparison& comparison) {
  const Operation* operation = operation_of(comparison.first.subject);
  return operation == nullptr ? nullptr : chain_in(*operation);
}

std::int64_t count_of(const Comparison* comparison) { return launches_of(*chain_of(*comparison)); }

Nanoseconds each_of(const ComparedSide& side, std::int64_t launches) {
  return side.time.median / static_cast<double>(launches);
}

std::vector<LaunchesOfASize> launches_by_size(const ComparisonRecord& record) {
  std::vector<LaunchesOfASize> sizes;
  for (const Comparison& comparison : record.comparisons) {
    const Chain* chain = chain_of(comparison);
    const bool is_graph = record.alternatives[comparison.alternative] == to_string(QueueMode::graph);
    if (chain == nullptr || !is_graph || !has_time(comparison)) continue;
    Chain one = *chain;
    one.lanes = 1;
    const std::string step = one.steps.size() == 1 ? one.steps.front().text() : Operation(one).text();
    auto found = std::ranges::find(sizes, step, &LaunchesOfASize::step);
    if (found == sizes.end()) found = sizes.insert(found, {step, {}});
    found->graphs.push_back(&comparison);
  }
  for (LaunchesOfASize& size : sizes) std::ranges::stable_sort(size.graphs, {}, count_of);
  return sizes;
}

// If the kernel is slower than the host, a graph only removes the gaps between launches: 0.7 us on an H200.
// Its host takes 2.2 us for a launch, as long as 1.5 us of kernel with that gap.
constexpr double kHostsShare = 1.5 / 2.2;

bool gains(const Comparison* comparison) { return comparison->verdict == EffectVerdict::faster; }

// Says from which number of launches on a graph gains.
std::string size_sentence(const LaunchesOfASize& size, const std::string& first) {
  const Comparison& most = *size.graphs.back();
  const std::int64_t count = count_of(&most);
  const std::string one_by_one = time_text(each_of(most.first, count));
  const std::string in_graph = time_text(each_of(most.second, count));
  auto begin = size.graphs.end();
  while (begin != size.graphs.begin() && gains(*(begin - 1))) --begin;
  if (begin == size.graphs.end()) {
    if (most.verdict == EffectVerdict::undecided)
      return fmt::format("A graph of {} is not shown to pay; use more processes (--processes).", size.step);
    if (count == 1)
      return fmt::format("A graph of one {} saves nothing, because a replay costs the host a launch.",
                         size.step);
    return fmt::format(
        "A graph of {} does not pay: with {} launches each takes {} one by one and {} in a graph, so the "
        "kernel is the limit, not the host.",
        size.step, count, one_by_one, in_graph);
  }
  const std::int64_t fewest = count_of(*begin);
  std::string sentence =
      size.graphs.size() == 1
          ? fmt::format("**A graph of {} launches of {} is {}**", count, size.step,
                        speed_against(most.time, first))
          : fmt::format("**A graph of {} pays from {} launch{} on**: it is {}", size.step, fewest,
                        fewest == 1 ? "" : "es", speed_against((*begin)->time, first));
  if (fewest < count)
    sentence += fmt::format(", and with {} it is {}", count, speed_against(most.time, first));
  return sentence + fmt::format(". {}: each takes {} one by one, {} in a graph of {}.",
                                most.time.ratio <= kHostsShare ? "The host is the limit"
                                                               : "The kernel is the limit, and not the host",
                                one_by_one, in_graph, count);
}

// Says how much more one large launch gains.
std::string batched_sentence(const ComparisonRecord& record) {
  const Comparison* best = nullptr;
  for (const Comparison& comparison : record.comparisons) {
    const bool is_batched = record.alternatives[comparison.alternative] == kBatched;
    if (!is_batched || chain_of(comparison) == nullptr || !has_time(comparison)) continue;
    if (gains(&comparison) && (best == nullptr || comparison.time.ratio < best->time.ratio))
      best = &comparison;
  }
  if (best == nullptr) return {};
  return fmt::format("One launch as large as {} of {} takes {}: it is {}. ", count_of(best),
                     chain_of(*best)->steps.front().text(), time_text(best->second.time.median),
                     speed_against(best->time, record.alternatives.front())) +
         remedy_sentence(remedy_for(record, graph_remedy, graph_in_cuda)(kBatched));
}

std::vector<std::string> answer_by_launches(const ComparisonRecord& record,
                                            const std::vector<LaunchesOfASize>& sizes) {
  std::vector<std::string> sentences;
  for (const LaunchesOfASize& size : sizes)
    sentences.push_back(size_sentence(size, record.alternatives.front()));
  const auto remedy = remedy_for(record, graph_remedy, graph_in_cuda);
  if (std::ranges::any_of(sizes, [](const LaunchesOfASize& size) { return gains(size.graphs.back()); }))
    sentences.push_back(remedy_sentence(remedy(std::string(to_string(QueueMode::graph)))));
  if (std::string batched = batched_sentence(record); !batched.empty())
    sentences.push_back(std::move(batched));
  for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

std::vector<std::string> graph_answer(const ComparisonRecord& record) {
  if (const auto sizes = launches_by_size(record); !sizes.empty()) return answer_by_launches(record, sizes);
  std::vector<std::string> sentences =
      answer_by_fastest(record, remedy_for(record, graph_remedy, graph_in_cuda));
  const std::vector<ArmOutcome> outcomes = right_outcomes(record);
  const auto is_faster = [](const ArmOutcome& outcome) { return outcome.verdict == EffectVerdict::faster; };
  const auto is_not = [&](const ArmOutcome& outcome) {
    return !is_faster(outcome) && outcome.verdict != EffectVerdict::undecided;
  };
  if (std::ranges::any_of(outcomes, is_faster) && std::ranges::any_of(outcomes, is_not)) {
    sentences.insert(
        sentences.begin() + 1,
        "If a graph is not faster, the kernel takes longer than its launch: the host is not the limit.");
  }
  return sentences;
}

}  // namespace

Study graph() {
  return {
      .id = "graph",
      .question = "Do launches cost time that a CUDA graph, or one larger launch, saves?",
      .concerns =
          "all operations except spins, allocations and copies that wait, such as those of pageable memory",
      .saves_host_time = true,
      .subject = graph_subject,
      .can_be_asked_of = can_be_recorded,
      .arms = graph_arms,
      .remedy = graph_remedy,
      .kernel_remedy = graph_in_cuda,
      .answer = graph_answer};
}

// Fusion study. It varies how the steps of a chain reach the device: as single launches, as one graph of
// them, as one launch that keeps intermediate results out of memory, and as that launch in a graph. It
// reports the total time, and the bytes that a fused launch avoids. Limits: small results stay in the cache
// between launches, where reading them is cheap; and compute-bound steps gain nothing.
// torch.compile is no arm: a process times either operations or Python functions, never one beside the other,
// so its time would not be paired. In Python, js.compare pairs a function with its compiled form.

namespace {

constexpr const char* kFused = "fused";
constexpr const char* kFusedGraph = "fused graph";

Operation as_fused(const Operation& operation, bool fused) {
  Chain chain = std::get<Chain>(operation.parameters());
  chain.fused = fused;
  return {chain};
}

bool has_steps_to_fuse(const Operation& operation) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr || chain->steps.size() < 2 || needs_streams(*chain)) return false;
  for (std::size_t step = 1; step < chain->steps.size(); ++step) {
    if (!is_linked(*chain, step)) return false;
  }
  return true;
}

Arm fusion_arm(const char* name, bool fused, std::optional<QueueMode> queue) {
  return {.name = name,
          .apply =
              [fused, queue](OperationTrial& trial) {
                trial.operation = as_fused(trial.operation, fused);
                if (queue) trial.options.queue = *queue;
              },
          .is_remedy = name == std::string_view(kFused)};
}

// Throws the reason for the first operation if none can be fused.
void require_fusion(const StudyContext& context) {
  std::string problem;
  for (const Operation& operation : context.operations) {
    try {
      return refuse_unfusible(as_fused(operation, true), context.description.id,
                              context.description.capabilities);
    } catch (const UsageError& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  if (!problem.empty()) throw UsageError(problem);
}

std::vector<Arm> fusion_arms(const StudyContext& context) {
  require_fusion(context);
  if (!context.description.capabilities.launches_return_early) {
    return {fusion_arm("separate", false, std::nullopt), fusion_arm(kFused, true, std::nullopt)};
  }
  return {fusion_arm("separate", false, QueueMode::eager), fusion_arm("graph", false, QueueMode::graph),
          fusion_arm(kFused, true, QueueMode::eager), fusion_arm(kFusedGraph, true, QueueMode::graph)};
}

// On a GPU: the end of ResNet-50's first stage, 98 MiB, which no cache holds from one launch to the next.
std::string fusion_subject(const DeviceDescription& device) {
  return device.capabilities.is_host
             ? "chain:[conv2d:n=1,c=64,hw=56,k=64,rs=3,pad=1][bias_add:n=1,c=64,hw=56][relu:count=200704]"
             : "chain:[relu:count=25690112][max_pool:n=32,c=64,hw=112,window=3,stride=2,pad=1]";
}

Remedy fusion_remedy(const std::string& arm) {
  if (arm == "graph") return graph().remedy(arm);
  if (arm == kFusedGraph) {
    return {{"model = torch.compile(model, mode=\"reduce-overhead\")"},
            "It compiles again for new shapes, and replays graphs, whose memory stays in use."};
  }
  return {{"model = torch.compile(model)",
           "# or by hand, for inference: torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)"},
          "Compiling takes seconds to minutes, and again for new shapes. It chooses itself what to fuse; "
          "js.compare of both functions shows the gain."};
}

// Reports the bytes of the first fused operation.
std::string bytes_sentence(const ComparisonRecord& record) {
  for (const Comparison& comparison : record.comparisons) {
    const Operation* separate = operation_of(comparison.first.subject);
    const Operation* fused = operation_of(comparison.second.subject);
    if (separate == nullptr || fused == nullptr || !comparison.failure.empty()) continue;
    const auto* chain = std::get_if<Chain>(&fused->parameters());
    if (chain == nullptr || !chain->fused) continue;
    const double change =
        static_cast<double>(fused->bytes().value()) / static_cast<double>(separate->bytes().value()) - 1.0;
    std::string sentence = fmt::format(
        "Fused, a launch has to move {} in place of {} ({}): what a step hands to the next is neither "
        "written nor "
        "read.",
        bytes_text(fused->bytes()), bytes_text(separate->bytes()), change_text(change));
    if (comparison.first.counters && comparison.second.counters) {
      const auto separate_moved = moved_bytes(comparison.first.counters->reading);
      const auto fused_moved = moved_bytes(comparison.second.counters->reading);
      if (separate_moved && fused_moved) {
        sentence += fmt::format(" Memory moves {} in place of {}, by its counters.", bytes_text(*fused_moved),
                                bytes_text(*separate_moved));
      }
    }
    return sentence;
  }
  return {};
}

bool is_fused_arm(const ArmOutcome& outcome) { return outcome.name == kFused || outcome.name == kFusedGraph; }

std::vector<std::string> fusion_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences = answer_by_fastest(record, fusion_remedy);
  const std::vector<ArmOutcome> outcomes = right_outcomes(record);
  const auto is_faster = [](const ArmOutcome& outcome) { return outcome.verdict == EffectVerdict::faster; };
  const auto fused_is_faster = [&](const ArmOutcome& outcome) {
    return is_fused_arm(outcome) && is_faster(outcome);
  };
  const auto of_graph = std::ranges::find(outcomes, "graph", &ArmOutcome::name);
  const bool is_one = std::ranges::count(outcomes, kFused, &ArmOutcome::name) == 1;
  if (is_one && of_graph != outcomes.end() && is_faster(*of_graph)) {
    sentences.push_back(
        fmt::format("A graph of the separate launches is {}. So much is the host's launching.",
                    speed_against(of_graph->time, record.alternatives.front())));
  }
  if (std::string bytes = bytes_sentence(record); !bytes.empty()) sentences.push_back(std::move(bytes));
  std::vector<ArmOutcome> fused = outcomes;
  std::erase_if(fused, [](const ArmOutcome& outcome) { return !is_fused_arm(outcome); });
  if (fused.empty() || std::ranges::any_of(fused, fused_is_faster)) return sentences;
  if (any_undecided(fused)) {
    sentences.push_back(not_decided("whether fusing gains"));
  } else {
    sentences.emplace_back(
        "Fusing is not shown to gain here. It gains if memory is the limit, but not if the cache keeps "
        "the results between launches, or if a step's arithmetic takes longer.");
  }
  return sentences;
}

}  // namespace

// advise tries only fused launches, as graphs are a study of their own. It looks at a network's operations
// one by one, which have no neighbours to be fused with.
Study fusion() {
  return {
      .id = "fusion",
      .question = "Does it pay to fuse steps into one launch, so that results in between never reach memory?",
      .concerns =
          "chains of two or more steps on one stream, each of which reads what the one before it wrote",
      .counts_memory = true,
      .subject = fusion_subject,
      .can_be_asked_of = has_steps_to_fuse,
      .arms = fusion_arms,
      .remedy = fusion_remedy,
      .answer = fusion_answer};
}

}  // namespace jitterscope::study::studies
