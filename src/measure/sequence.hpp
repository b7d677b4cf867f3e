// Times a network's calls where they run: in order, each reading what the ones before it wrote.
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

/// Prepares every call of the model, with memory of its own except for what an earlier call has, and runs all
/// of them again and again: after a random idle once to warm up, then once traced (without a tracer, with the
/// host's clock around each call). Calls that cannot be prepared are left out and say why. Ends once the pass
/// and nine of ten calls are as precise as asked, or at the sustained time limit. An interruption while it
/// prepares leaves every call without a time.
///
/// The load is always burst: the queue runs empty while the host reads a pass's trace. During a pass the
/// queue is full, or empty before each call if the options say eager.
SequenceMeasurement measure_sequence(Session& session, const Model& model, const MeasureOptions& options,
                                     const SequenceListener& listener);

/// In the order of the model's calls; null for calls that could not be prepared.
using PreparedCalls = std::vector<std::unique_ptr<PreparedOperation>>;

/// Memory that a call shares with earlier ones, and its number of inputs that the network computes but no
/// call wrote.
struct CallSharing {
  std::vector<SharedOperand> shared;
  std::int64_t unwritten = 0;
};

/// Prepares call `number`, given the earlier ones in `prepared`, and appends it, or null if that throws.
/// `data` gives kind and seed; each call has its own values.
CallSharing prepare_call(Device& device, const Model& model, std::size_t number, const InputData& data,
                         PreparedCalls& prepared);

}  // namespace jitterscope
