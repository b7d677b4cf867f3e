// Which causes move the time of an operation, by how much, and how sure that is.
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
  Nanoseconds time_limit = seconds(180);  ///< of all steps; the least that each step needs comes on top
  std::uint64_t seed = 1;
  /// What fresh processes have read of the subject before the study; then none are started.
  std::vector<ProcessTime> process_times = {};
  /// The subject, burst and warm, in so many fresh processes; nothing: not asked.
  std::function<std::vector<ProcessTime>(std::int64_t processes)> measure_in_processes = {};
  /// The same on each GPU of the machine, one process each; nothing: there is one, or it is not asked.
  std::function<std::vector<ProcessTime>()> measure_on_each_gpu = {};
  /// A process for the factors that need one beside the loop; nothing: they are not tried.
  StartNeighbour start_neighbour = {};
  std::function<bool()> interrupted = {};
  std::function<void(const std::string& stage, double share)> progress = {};  ///< of the whole study
};

/// Observes plain loops, screens all factors at once, confirms each in pairs, and says what follows. An
/// interruption ends it early and keeps what is known. Throws UsageError for a factor that is none, and what
/// preparing the operation throws.
Explanation explain(Session& session, const TrialSubject& subject, const ExplainOptions& options);

}  // namespace jitterscope::explain
