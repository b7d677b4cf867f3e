// Chooses whether jitterscope or PyTorch runs an operation of a record.
#pragma once

#include <string>
#include <vector>

#include "cli/targets.hpp"

namespace jitterscope::cli {

/// `automatic`: PyTorch's own operator runs a model's layer if jitterscope had only a stand-in and the torch
/// provider is available. `torch`: PyTorch runs every operator that is known, typed operations too.
/// `builtin`: PyTorch runs none. Operations that then nothing can run go to work.untimed with the reason.
enum class Provider { automatic, torch, builtin };

/// Throws UsageError with the nearest known word (auto, torch, builtin).
Provider parse_provider(const std::string& word);

/// Throws MissingError for `torch` without the provider. If nothing is left to time, throws with the omitted
/// operators: UsageError if `builtin` is the reason or the device cannot have torch, else MissingError. With
/// `keep_own`, `automatic` leaves to jitterscope what it can run. Renumbers the operands of work.calls as in
/// LayerAten.
void choose_provider(WorkList& work, Provider provider, const DeviceDescription& device, bool keep_own);

/// Adds the calls to those of the same name and reason.
void add_untimed(std::vector<UntimedOperator>& untimed, UntimedOperator more);

}  // namespace jitterscope::cli
