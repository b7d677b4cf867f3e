// Finds which causes move the time of an operation, by how much, and how sure that is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "explain/processes.hpp"
#include "explain/treatment.hpp"
#include "measure/session.hpp"
#include "measure/subject.hpp"

namespace jitterscope::explain {

struct ExplainOptions {
  std::vector<std::string> factors = {};  ///< ids; empty: all
  Nanoseconds time_limit = seconds(180);  ///< for all steps; the least that each step needs comes on top
  std::uint64_t seed = 1;
  /// Times that fresh processes measured before the study; if given, none are started.
  std::vector<ProcessTime> process_times = {};
  /// Measures the subject, burst and warm, in this many fresh processes. Empty: not asked.
  std::function<std::vector<ProcessTime>(std::int64_t processes)> measure_in_processes = {};
  /// Measures it on each GPU of the machine, one process each. Empty: only one GPU, or not asked.
  std::function<std::vector<ProcessTime>()> measure_on_each_gpu = {};
  std::int64_t gpus = 1;  ///< number of these GPUs
  /// Starts a process for factors that need one beside the loop. Empty: they are not tried.
  StartNeighbour start_neighbour = {};
  std::function<bool()> interrupted = {};
  std::function<void(const std::string& stage, double share)> progress = {};  ///< share of the whole study
};

/// Observes plain loops, screens all factors at once, confirms each in pairs, and draws conclusions. An
/// interruption ends it early and keeps the results so far. Throws UsageError for an unknown factor, and what
/// preparing the operation throws.
Explanation explain(Session& session, const TrialSubject& subject, const ExplainOptions& options);

}  // namespace jitterscope::explain
