// Reads a network's costs for a step plan: from its calls, and from times measured alone or in sequence.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "operation/model.hpp"
#include "plan/network_costs.hpp"

namespace jitterscope {

/// Which calls of a network make up a layer of a step; indices into Model::calls, in order.
struct LayerCalls {
  std::vector<std::size_t> forward = {}, backward = {};
};

/// The layers of a network's step, without times.
struct StepLayers {
  plan::NetworkCosts network;
  std::vector<LayerCalls> calls;       ///< of each layer
  DataType gradients = DataType::f32;  ///< as weights are stored
};
/// Throws UsageError if the order of the calls is not known, or if there is no backward pass.
StepLayers step_layers(const Model& model);

/// The same layers with the times of a measurement in sequence, whose launches cost the host nothing. Throws
/// FailedError if a call was not measured.
plan::NetworkCosts timed_in_sequence(const StepLayers& layers, const SequenceMeasurement& sequence);

struct StepCosts {
  plan::NetworkCosts network;
  std::string times;  ///< a phrase: "in sequence", "cold bursts"
};

/// Reads the costs of a network whose calls are known (resnet50, gpt2 …) from a record of `run`. A call that
/// ran in sequence has its time there; others have the time of their operation in the caches that a network
/// leaves: produced, else cold, else whatever was measured. A network with more or fewer equal blocks than
/// the measured one has the same operations, and so a cost. Throws UsageError, which names `file`, if an
/// operation of the network was not measured, or if there is no backward pass.
StepCosts step_costs(const Model& model, const RunRecord& record, const std::string& file);

}  // namespace jitterscope
