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

// False for copies from pageable memory, which wait for their queue and so cannot be recorded.
bool can_be_recorded(const Operation& operation) {
  if (std::holds_alternative<Spin>(operation.parameters())) return false;
  if (const Chain* chain = chain_of(operation)) {
    return chain->wait == HostWait::none && std::ranges::all_of(chain->steps, can_be_recorded);
  }
  if (std::holds_alternative<Allocation>(operation.parameters())) return false;
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  return copy == nullptr || copy->kind == CopyKind::d2d ||
         (copy->memory != HostMemory::pageable && copy->memory != HostMemory::registered_anew);
}

// Lanes are independent; steps may not be.
bool can_be_one_launch(const Operation& operation) {
  const Chain* chain = chain_of(operation);
  return chain != nullptr && chain->steps.size() == 1 && !needs_streams(*chain) &&
         has_batch(chain->steps.front());
}

Remedy remedy_by_graph() {
  return {{"graph = torch.cuda.CUDAGraph()", "with torch.cuda.graph(graph): output = model(batch)",
           "graph.replay()  # after batch.copy_(next_batch)"},
          "Shapes and addresses are fixed by the capture, and its memory stays in use. A graph also saves "
          "Python's own cost of a launch, which is not in these times."};
}

// A chain is a graph of its own, replayed for each launch. Any other operation is recorded in a graph with
// many of its launches, like a layer of a network.
Arm graph_arm() {
  Arm arm{.name = std::string(to_string(QueueMode::graph)),
          .apply =
              [](OperationTrial& trial) {
                trial.options.queue = QueueMode::graph;
                if (chain_of(trial.operation) != nullptr && !trial.options.instrument)
                  trial.options.instrument = Instrument::events;
              },
          .remedy = remedy_by_graph(),
          .value = QueueMode::graph};
  arm.kernel_remedy = {
      {"cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);",
       "kernel<<<grid, block, 0, stream>>>(…);  // and all other launches",
       "cudaStreamEndCapture(stream, &graph);", "cudaGraphInstantiate(&executable, graph, 0);",
       "cudaGraphLaunch(executable, stream);  // each time"},
      "Sizes and addresses are fixed by the capture.",
      "In CUDA"};
  return arm;
}

Arm one_launch_arm() {
  constexpr const char* kPrice = "All inputs must be there, and the first result comes with the last one.";
  const auto all_as_one = [](const Operation& operation) {
    const Chain& chain = *chain_of(operation);
    return with_larger_batch(chain.steps.front(), chain.lanes);
  };
  Arm arm = in_queue(arm_of("batched", all_as_one, {{"outputs = model(torch.stack(inputs))"}, kPrice}),
                     QueueMode::eager);
  arm.kernel_remedy = {
      {"kernel<<<blocks_of_all, block, 0, stream>>>(…);  // one launch for all inputs"}, kPrice, "In CUDA"};
  arm.value = AllAsOne();
  return arm;
}

Arm as_it_is(const char* name) {
  return arm_of(name, [](const Operation& operation) { return operation; });
}

std::vector<Arm> graph_arms(const StudyContext& context) {
  if (!context.description.capabilities.launches_return_early) {
    throw UsageError(context.description.id + " runs each launch to its end: a graph would save nothing");
  }
  std::vector<Arm> arms = {in_queue(as_it_is("eager"), QueueMode::eager), graph_arm()};
  if (std::ranges::all_of(context.operations, can_be_one_launch)) arms.push_back(one_launch_arm());
  return arms;
}

// Comparisons of launches of one size, by their number.
struct LaunchesOfASize {
  std::string step;
  std::vector<const Comparison*> graphs;  // against one by one; the fewest launches first
};

const Chain* compared_chain(const Comparison& comparison) {
  const Operation* operation = operation_of(comparison.first.subject);
  return operation == nullptr ? nullptr : chain_of(*operation);
}

std::int64_t count_of(const Comparison* comparison) { return launches_of(*compared_chain(*comparison)); }

Nanoseconds each_of(const ComparedSide& side, std::int64_t launches) {
  return side.time.median / static_cast<double>(launches);
}

std::vector<LaunchesOfASize> launches_by_size(const StudyResult& result) {
  std::vector<LaunchesOfASize> sizes;
  for (const Comparison& comparison : result.record.comparisons) {
    const Chain* chain = compared_chain(comparison);
    if (chain == nullptr || value_of<QueueMode>(result, comparison.alternative) == nullptr ||
        !has_time(comparison))
      continue;
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

// Says from which number of launches on a graph gains.
std::string size_sentence(const LaunchesOfASize& size, const std::string& first) {
  const Comparison& most = *size.graphs.back();
  const std::int64_t count = count_of(&most);
  const std::string one_by_one = time_text(each_of(most.first, count));
  const std::string in_graph = time_text(each_of(most.second, count));
  auto begin = size.graphs.end();
  while (begin != size.graphs.begin() && is_faster(**(begin - 1))) --begin;
  if (begin == size.graphs.end()) {
    if (is_undecided(most))
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
std::string batched_sentence(const StudyResult& result) {
  const ComparisonRecord& record = result.record;
  const Comparison* best = fastest_of(record.comparisons, [&](const Comparison& each) {
    return value_of<AllAsOne>(result, each.alternative) != nullptr && compared_chain(each) != nullptr &&
           has_time(each) && is_faster(each);
  });
  if (best == nullptr) return {};
  return fmt::format("One launch as large as {} of {} takes {}: it is {}. ", count_of(best),
                     compared_chain(*best)->steps.front().text(), time_text(best->second.time.median),
                     speed_against(best->time, record.alternatives.front())) +
         remedy_sentence(result, result.arms[best->alternative]);
}

Sentences graph_answer(const StudyResult& result) {
  const std::vector<LaunchesOfASize> sizes = launches_by_size(result);
  if (sizes.empty()) return answer_by_fastest(result);
  Sentences sentences;
  for (const LaunchesOfASize& size : sizes)
    add(sentences, size_sentence(size, result.record.alternatives.front()));
  const auto pays =
      std::ranges::find_if(sizes, [](const LaunchesOfASize& size) { return is_faster(*size.graphs.back()); });
  if (pays != sizes.end())
    add(sentences, remedy_sentence(result, result.arms[pays->graphs.back()->alternative]));
  add(sentences, batched_sentence(result));
  add(sentences, wrong_results(result));
  return sentences;
}

Sentences why_no_graph(const StudyResult& result) {
  if (!launches_by_size(result).empty()) return {};
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  const auto is_not = [](const ArmOutcome& outcome) { return !is_faster(outcome) && !is_undecided(outcome); };
  if (std::ranges::none_of(outcomes, is_faster) || std::ranges::none_of(outcomes, is_not)) return {};
  return {"If a graph is not faster, the kernel takes longer than its launch: the host is not the limit."};
}

}  // namespace

Study graph() {
  return {
      .id = "graph",
      .question = "Do launches cost time that a CUDA graph, or one larger launch, saves?",
      .concerns =
          "all operations except spins, allocations and copies that wait, such as those of pageable memory",
      .saves_host_time = true,
      // Few and many small launches, and some that take longer than the host takes to launch them.
      .subject =
          "chain:[relu:count=1Ki],lanes=1,10,100,1000\n"
          "chain:[relu:count=256Ki],lanes=10\n"
          "chain:[relu:count=4Mi],lanes=4",
      .can_be_asked_of = can_be_recorded,
      .arms = graph_arms,
      .answer = graph_answer,
      .reasons = why_no_graph};
}

// Fusion study. It varies how the steps of a chain reach the device: as single launches, as one graph of
// them, as one launch that keeps intermediate results out of memory, and as that launch in a graph. It
// reports the total time, and the bytes that a fused launch avoids. Limits: small results stay in the cache
// between launches, where reading them is cheap; and compute-bound steps gain nothing.
// torch.compile is no arm: a process times either operations or Python functions, never one beside the other,
// so its time would not be paired. In Python, js.compare pairs a function with its compiled form.

namespace {

Operation as_fused(const Operation& operation, bool fused) {
  Chain chain = std::get<Chain>(operation.parameters());
  chain.fused = fused;
  return {chain};
}

bool has_steps_to_fuse(const Operation& operation) {
  const Chain* chain = chain_of(operation);
  if (chain == nullptr || chain->steps.size() < 2 || needs_streams(*chain)) return false;
  for (std::size_t step = 1; step < chain->steps.size(); ++step) {
    if (!is_linked(*chain, step)) return false;
  }
  return true;
}

Arm separate_arm(const char* name) {
  return changed_arm<Chain>(name, [](Chain& chain) { chain.fused = false; });
}

Arm fused_arm() {
  Arm arm = changed_arm<Chain>(
      "fused", [](Chain& chain) { chain.fused = true; },
      {{"model = torch.compile(model)",
        "# or by hand, for inference: torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)"},
       "Compiling takes seconds to minutes, and again for new shapes. It chooses itself what to fuse; "
       "js.compare of both functions shows the gain."});
  arm.value = FusedSteps();
  return arm;
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
  if (!context.description.capabilities.launches_return_early) return {separate_arm("separate"), fused_arm()};
  Arm graph = in_queue(separate_arm("graph"), QueueMode::graph);
  graph.remedy = remedy_by_graph();
  graph.value = QueueMode::graph;
  Arm fused_graph = in_queue(fused_arm(), QueueMode::graph);
  fused_graph.name = "fused graph";
  fused_graph.remedy = {{"model = torch.compile(model, mode=\"reduce-overhead\")"},
                        "It compiles again for new shapes, and replays graphs, whose memory stays in use."};
  fused_graph.value = FusedSteps{.in_graph = true};
  graph.is_remedy = fused_graph.is_remedy = false;
  return {in_queue(separate_arm("separate"), QueueMode::eager), graph,
          in_queue(fused_arm(), QueueMode::eager), fused_graph};
}

// Reports the bytes of the first fused operation.
std::string bytes_sentence(const ComparisonRecord& record) {
  for (const Comparison& comparison : record.comparisons) {
    const Operation* separate = operation_of(comparison.first.subject);
    const Operation* fused = operation_of(comparison.second.subject);
    if (separate == nullptr || fused == nullptr || !comparison.failure.empty()) continue;
    const Chain* chain = chain_of(*fused);
    if (chain == nullptr || !chain->fused) continue;
    const double change =
        static_cast<double>(fused->bytes().value()) / static_cast<double>(separate->bytes().value()) - 1.0;
    std::string sentence = fmt::format(
        "Fused, a launch has to move {} in place of {} ({}): what a step hands to the next is neither "
        "written nor read.",
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

Sentences what_fusing_gives(const StudyResult& result) {
  const ComparisonRecord& record = result.record;
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  const auto is_graph = [&](const ArmOutcome& outcome) {
    return value_of<QueueMode>(result, outcome.alternative) != nullptr;
  };
  std::vector<ArmOutcome> fused = outcomes;
  std::erase_if(fused, [&](const ArmOutcome& outcome) {
    return value_of<FusedSteps>(result, outcome.alternative) == nullptr;
  });
  const auto graph = std::ranges::find_if(outcomes, is_graph);
  const auto is_alone = [&](const ArmOutcome& outcome) {
    return !value_of<FusedSteps>(result, outcome.alternative)->in_graph;
  };
  const bool is_one = std::ranges::count_if(fused, is_alone) == 1;
  Sentences sentences;
  if (is_one && graph != outcomes.end() && is_faster(*graph)) {
    add(sentences, fmt::format("A graph of the separate launches is {}. So much is the host's launching.",
                               speed_against(graph->time, record.alternatives.front())));
  }
  add(sentences, bytes_sentence(record));
  if (fused.empty() || std::ranges::any_of(fused, is_faster)) return sentences;
  add(sentences,
      any_undecided(fused)
          ? not_decided("whether fusing gains")
          : "Fusing is not shown to gain here. It gains if memory is the limit, but not if the cache keeps "
            "the results between launches, or if a step's arithmetic takes longer.");
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
      // On a GPU: the end of ResNet-50's first stage, 98 MiB, which no cache holds until the next launch.
      .subject = "chain:[relu:count=25690112][max_pool:n=32,c=64,hw=112,window=3,stride=2,pad=1]",
      .host_subject =
          "chain:[conv2d:n=1,c=64,hw=56,k=64,rs=3,pad=1][bias_add:n=1,c=64,hw=56][relu:count=200704]",
      .can_be_asked_of = has_steps_to_fuse,
      .arms = fusion_arms,
      .details = what_fusing_gives};
}

}  // namespace jitterscope::study::studies
