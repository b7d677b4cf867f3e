// What `compare` was asked to compare.
#pragma once

#include <string>
#include <vector>

#include "cli/measure_flags.hpp"
#include "cli/pairing.hpp"
#include "cli/provider_choice.hpp"

namespace jitterscope::cli {

/// One of the things that are compared, as it was typed.
struct Alternative {
  std::string label;        ///< what sets it apart: "engine=best", or the target itself
  std::string target;       ///< an operation or a model
  MeasureFlags conditions;  ///< its own
  std::string provider = "auto";
};

/// Each target is an alternative, or with `vary` (NAME=VALUE,VALUE…) one target is varied in all
/// combinations, the first of each value first. Parameters of the operation or model, and cache, data, queue,
/// instrument and provider can be varied. Throws UsageError: what cannot be varied, with the nearest name;
/// fewer than two alternatives.
std::vector<Alternative> read_alternatives(const std::vector<std::string>& targets,
                                           const std::vector<std::string>& vary,
                                           const MeasureFlags& conditions, const std::string& provider);

/// Reads what each of them times, run by its provider; loads and limits are left to the comparison. Throws
/// UsageError as read_targets does.
std::vector<ComparedAlternative> read_works(const std::vector<Alternative>& alternatives,
                                            const std::string& only, const DeviceDescription& device);

}  // namespace jitterscope::cli
