// A network's calls timed where they run: in order, each reading what the ones before it wrote.
#pragma once

#include <functional>
#include <string>
#include <vector>

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

}  // namespace jitterscope
