// Which library runs an operation of a record: jitterscope's own way to it, or PyTorch itself.
#pragma once

#include <string>

#include "cli/targets.hpp"

namespace jitterscope::cli {

/// `automatic`: in a model PyTorch's own operator where jitterscope would run a stand-in for it and the torch
/// provider is there; `torch`: wherever the operator is known, of operations that were typed as well;
/// `builtin`: never. What only PyTorch can run and is not to be run by it goes to work.untimed with the
/// reason.
enum class Provider { automatic, torch, builtin };

/// Throws UsageError with the nearest known word (auto, torch, builtin).
Provider parse_provider(const std::string& word);

/// Throws MissingError for `torch` where the provider is not there, and where nothing is left that can be
/// timed, with what was left out: UsageError, where `builtin` is the reason or the device cannot have it.
/// With `keep_own` `automatic` leaves to jitterscope what it can run. The operands of work.calls are counted
/// as LayerAten does then.
void choose_provider(WorkList& work, Provider provider, const DeviceDescription& device, bool keep_own);

}  // namespace jitterscope::cli
