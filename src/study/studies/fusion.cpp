// Fusion. Varies how the steps of a chain reach the device: as launches one by one, as one graph of them, and
// as one launch that keeps what a step hands to the next out of memory, itself launched and in a graph.
// Reports the time of all steps, and the bytes that a launch leaves out. Can go wrong: small results stay in
// the cache between launches, where reading them costs little; and what computes longer than memory moves
// gains nothing.
//
// torch.compile is no arm: a process of ours times operations or functions of Python, never one beside the
// other, so its time would not be paired with the others'. In Python, js.compare pairs two functions, of
// which one is compiled.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/quantity_text.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

using statistics::EffectVerdict;

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
              [fused, queue](Trial& trial) {
                trial.operation = as_fused(trial.operation, fused);
                if (queue) trial.options.queue = *queue;
              },
          .is_remedy = name == std::string_view(kFused)};
}

// Throws the first one's reason where none can be fused.
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

// On a GPU the end of ResNet-50's first stage, 98 MiB of it, which no cache holds from one launch to the
// next.
std::string fusion_subject(const DeviceDescription& device) {
  return device.capabilities.is_host
             ? "chain:[conv2d:n=1,c=64,hw=56,k=64,rs=3,pad=1][bias_add:n=1,c=64,hw=56][relu:count=200704]"
             : "chain:[relu:count=25690112][max_pool:n=32,c=64,hw=112,window=3,stride=2,pad=1]";
}

Remedy fusion_remedy(const std::string& arm) {
  if (arm == "graph") return graph().remedy(arm);
  if (arm == kFusedGraph) {
    return {{"model = torch.compile(model, mode=\"reduce-overhead\")"},
            "It compiles anew for new shapes, and replays graphs, whose memory stays taken."};
  }
  return {
      {"model = torch.compile(model)",
       "# or by hand, for inference: torch.nn.utils.fusion.fuse_conv_bn_eval(conv, norm)"},
      "Compiling takes seconds to minutes, and again for new shapes; what it fuses is its own choice, and "
      "js.compare, of both as functions, says what it gives."};
}

// Of the first operation that was fused.
std::string bytes_sentence(const ComparisonRecord& record) {
  for (const Comparison& comparison : record.comparisons) {
    const Operation* separate = operation_of(comparison.first.subject);
    const Operation* fused = operation_of(comparison.second.subject);
    if (separate == nullptr || fused == nullptr || !comparison.failure.empty()) continue;
    const auto* chain = std::get_if<Chain>(&fused->parameters());
    if (chain == nullptr || !chain->fused) continue;
    const double before = static_cast<double>(separate->bytes().value());
    const double share = 100.0 * (1.0 - static_cast<double>(fused->bytes().value()) / before);
    std::string sentence = fmt::format(
        "Fused, a launch has to move {} in place of {}, {:.0f} % less: what a step hands to the next is neither "
        "written nor read.",
        bytes_text(fused->bytes()), bytes_text(separate->bytes()), share);
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
        fmt::format("A graph of the separate launches is {}: so much of it is the host's launching.",
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
        "Fusing is not shown to gain here: it does where memory is the limit, and neither where the cache keeps the "
        "results between the launches nor where a step computes for longer.");
  }
  return sentences;
}

}  // namespace

// advise tries what is fused alone, as graphs are a study of their own. It looks at a network's operations
// one by one, which have no neighbours to be fused with.
Study fusion() {
  return {.id = "fusion",
          .question = "Do steps gain by being one launch, whose results in between never reach memory?",
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
