// What a gate judges: a comparison with a baseline, case by case.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// As compare_records, with the verdicts that a gate gives; what the baseline has and `now` has not is a
/// comparison that failed, unless `now` was interrupted.
void compare_as_gate(const RunRecord& baseline, const RunRecord& now, ComparisonRecord& record);

/// Of a network all layers together in one state, else one operation in one state.
struct GateCase {
  std::string name;  ///< the operation, or what the network is called
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

/// A time that changed while the cycles stayed within the margin: the clock moved.
struct ClockMove {
  Hertz before, after;
  RatioEstimate cycles;
};
std::optional<ClockMove> clock_move(const GateCase& each, double margin);

enum class GateVerdict {
  same,         ///< each case is
  faster,       ///< at least one, and the others are the same
  undecided,    ///< at least one, and none is slower
  slower,       ///< at least one is shown to be
  failed,       ///< an operation of the baseline has no time now, and none is slower
  interrupted,  ///< before all was measured, and none is slower
};
std::string_view to_string(GateVerdict);

GateVerdict gate_verdict(const ComparisonRecord& record);

/// What became of one baseline.
struct GateOutcome {
  ComparisonRecord record;   ///< its baseline is there
  std::string failure = {};  ///< why nothing could be compared; empty where it could
};
GateVerdict gate_verdict(const GateOutcome& outcome);

}  // namespace jitterscope
