// Studies of a network's step between ranks: ways to arrange it, and what their times say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiment/parallel_steps.hpp"
#include "plan/arrangement.hpp"
#include "study/study.hpp"

namespace jitterscope::study {

/// One way to arrange the step, and how to get it in a program.
struct ParallelArm {
  std::string name;
  plan::Arrangement arrangement;
  std::int64_t micro_batches = 1;  ///< in which the batch is cut, of each replica
  Remedy remedy = {};

  bool is_cut() const { return arrangement.grid.tensor > 1; }
  bool is_pipeline() const { return arrangement.grid.pipeline > 1; }
};

/// The step on a number of GPUs that was not measured.
struct ForeseenStep {
  std::int64_t ranks = 1;
  Nanoseconds time;
};

/// An arm whose layers are cut, beside the whole.
struct CutArm {
  CutComputing computing;
  Nanoseconds from_whole;                  ///< the step as planned if each cut layer took 1/N of its time
  std::vector<ForeseenStep> on_more = {};  ///< by number of GPUs
};

/// The step of a pipeline, taken apart into summands.
struct PipelineParts {
  Nanoseconds even;     ///< 1/N of one GPU's step
  Nanoseconds smaller;  ///< more that a rank computes on the mean: micro-batches use a GPU less well
  Nanoseconds bubble;   ///< idle while the pipeline fills and empties, if stages were equal
  Nanoseconds uneven;   ///< more because stages differ; below zero if that shortens the bubble
  Nanoseconds sends;    ///< more because sends take time, or hold up who sends
  Nanoseconds in_line;  ///< more because a rank's sends and receives wait for each other: one communicator's
  Nanoseconds rest;     ///< what the plan does not know

  /// Idle while the pipeline fills and empties, and what uneven stages add to it.
  Nanoseconds filling() const { return bubble + std::min(uneven, Nanoseconds(0)); }
  Nanoseconds more_by_stages() const { return std::max(uneven, Nanoseconds(0)); }
};

/// An arm whose ranks have a stage each, or several.
struct PipelineArm {
  PipelineParts parts;
  std::vector<std::string> first_layers;  ///< of each stage; stage s is on rank s modulo their number
};

/// An arm's name with its times.
struct TimedArm {
  const ParallelArm& arm;
  const StepTimes& times;
  Nanoseconds simulated;        ///< by the plan, from the layers' and the exchanges' times; 0: not known
  Bytes memory = {};            ///< of a rank, as planned; 0: not known
  const CutArm* cut = nullptr;  ///< null if its layers are whole, or not timed
  const PipelineArm* pipeline = nullptr;  ///< null if it is none, or its layers were not timed
};

struct ParallelStudy {
  StudySummary summary;
  std::string example;  ///< a network to study
  /// Returns the arms for so many ranks. The first exchanges nothing: each rank computes for itself. Throws
  /// UsageError if there are none for this network.
  std::vector<ParallelArm> (*arms)(const plan::NetworkCosts& network, std::int64_t ranks);
  /// Returns what the times say, the most important first; `steps.computing` has a time for each rank.
  Sentences (*answers)(std::span<const TimedArm> arms, const ParallelSteps& steps);
  bool arms_follow_times = false;  ///< `network` must have times
};

const std::vector<ParallelStudy>& parallel_studies();
/// Returns null if no such study is about ranks.
const ParallelStudy* find_parallel_study(const std::string& id);

}  // namespace jitterscope::study
