// A network's calls timed where they run: in order, each reading what the ones before it wrote.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "measure/run_record.hpp"
#include "measure/session.hpp"
#include "operation/model.hpp"

namespace jitterscope {

using SequenceListener = std::function<void(const std::string& stage, std::size_t number, std::size_t total)>;

/// Prepares every call of the model with memory of its own, but for what an earlier call has, and runs the
/// whole again and again: after a random idle once to warm up, then once traced (or, where the device cannot
/// be traced, with the host's clock around each call). A call that cannot be prepared is left out and says
/// why. Ends when the pass and nine calls of ten are as precise as asked, or at the sustained time limit. An
/// interruption while it prepares leaves every call without a time.
///
/// The load is burst whatever the options say: the queue runs empty while the host reads a pass's trace. The
/// queue is full, or empty before each call where the options say eager.
SequenceMeasurement measure_sequence(Session& session, const Model& model, const MeasureOptions& options,
                                     const SequenceListener& listener);

// The calls of a network, prepared one by one so that each reads what earlier ones wrote.

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
