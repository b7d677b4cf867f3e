// Judges a comparison with a baseline case by case, as `jitterscope gate` does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// Compares as compare_records() does, with a gate's verdicts. Operations of the baseline that `now` lacks
/// count as failed comparisons, unless `now` was interrupted.
void compare_as_gate(const RunRecord& baseline, const RunRecord& now, ComparisonRecord& record);

/// One operation in one state; for a network, all layers together in one state.
struct GateCase {
  std::string name;  ///< the operation, or the network's name
  Load load = Load::burst;
  CacheState cache = CacheState::warm;
  TimeEstimate baseline = {}, now = {};
  std::optional<Hertz> baseline_clock = {}, clock = {};
  RatioEstimate time = {};
  std::optional<RatioEstimate> cycles = {};
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<std::int64_t> processes_to_decide = {};
  std::string failure = {};  ///< why there is no verdict
};
std::vector<GateCase> gate_cases(const ComparisonRecord& record);

/// Tells that the time changed because the clock did: the cycles stayed within the margin.
struct ClockMove {
  Hertz before, after;
  RatioEstimate cycles;
};
std::optional<ClockMove> clock_move(const GateCase& each, double margin);

enum class GateVerdict {
  same,         ///< all cases are the same
  faster,       ///< at least one case is faster, and the others are the same
  undecided,    ///< at least one case is undecided, and none is slower
  slower,       ///< at least one case is shown to be slower
  failed,       ///< an operation of the baseline has no time now, and none is slower
  interrupted,  ///< interrupted before all was measured, and none is slower
};
std::string_view to_string(GateVerdict);

GateVerdict gate_verdict(const ComparisonRecord& record);

/// The result of a gate for one baseline.
struct GateOutcome {
  ComparisonRecord record;   ///< its baseline is set
  std::string failure = {};  ///< why nothing could be compared; empty if it could
};
GateVerdict gate_verdict(const GateOutcome& outcome);

}  // namespace jitterscope
