// What a baseline was asked for, measured again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "measure/run_record.hpp"

namespace jitterscope::cli {

struct Invocation;

struct GateConditions {
  std::string device;  ///< empty: the baseline's
  std::int64_t processes = 8;
  std::optional<std::uint64_t> seed = {};  ///< nothing: another than the baseline's
};

/// Throws UsageError where the record does not say what it was asked for, or was asked for what no gate
/// measures.
void check_is_baseline(const RunRecord& baseline, const std::string& name_for_messages);

/// The same subjects under the same conditions, in fresh processes. Throws as `run` does; a record without
/// entries was interrupted.
RunRecord measure_again(const RunRecord& baseline, const GateConditions& conditions,
                        const Invocation& invocation);

/// What would be measured, and for how long.
std::string gate_plan_text(const RunRecord& baseline, const GateConditions& conditions, std::size_t width);

}  // namespace jitterscope::cli
