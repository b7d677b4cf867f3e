// Chains on a virtual GPU: as on a real one, steps on several streams are put there launch by launch, and run
// side by side where there is room.
#pragma once

#include "device/prepared_chain.hpp"
#include "device/virtual/timeline.hpp"

namespace jitterscope::virtual_gpu {

/// `prepare` makes VirtualOperations.
std::unique_ptr<PreparedOperation> prepare_virtual_chain(Timeline& timeline, const Operation& operation,
                                                         const InputData& data,
                                                         const PreparedChain::PrepareStep& prepare);

}  // namespace jitterscope::virtual_gpu
