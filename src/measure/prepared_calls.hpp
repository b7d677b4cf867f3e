// The calls of a network, prepared one by one so that each reads what earlier ones wrote.
#pragma once

#include <memory>
#include <vector>

#include "jitterscope/device.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// In the order of the model's calls; null where one could not be prepared.
using PreparedCalls = std::vector<std::unique_ptr<PreparedOperation>>;

/// What a call shares with those before it, and of how much that the network computes it reads something
/// else.
struct CallSharing {
  std::vector<SharedOperand> shared;
  std::int64_t unwritten = 0;
};

/// Prepares the call with this number behind the ones before it, which `prepared` holds already, and appends
/// it; a null where that throws. Kind and seed of the data are given; each call has values of its own.
CallSharing prepare_call(Device& device, const Model& model, std::size_t number, const InputData& data,
                         PreparedCalls& prepared);

}  // namespace jitterscope
