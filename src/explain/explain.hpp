// Which causes move the time of an operation, by how much, and how sure that is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "measure/session.hpp"

namespace jitterscope::explain {

struct ExplainOptions {
  std::vector<std::string> factors = {};  ///< ids; empty: all
  Nanoseconds time_limit = seconds(180);  ///< of all steps; the least that each step needs comes on top
  std::uint64_t seed = 1;
  /// Medians of the operation, burst and warm, in so many fresh processes; nothing: not asked.
  std::function<std::vector<TimeEstimate>(std::int64_t processes)> measure_in_processes = {};
  std::function<bool()> interrupted = {};
  std::function<void(const std::string& stage, double share)> progress = {};  ///< of the whole study
};

/// Observes plain loops, screens all factors at once, confirms each in pairs, and says what follows. An
/// interruption ends it early and keeps what is known. Throws UsageError for a factor that is none, and what
/// preparing the operation throws.
Explanation explain(Session& session, const Operation& operation, const ExplainOptions& options);

}  // namespace jitterscope::explain
