// cuDNN's engines with their knobs set: as its heuristics propose them, or rebuilt from a tag.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/operations/convolution_graph.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

/// The engine configurations that a mode of cuDNN's heuristics proposes for any graph, in its order.
std::vector<CudnnDescriptor> ask_heuristics(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode);

/// The engine of a configuration. Throws FailedError where cuDNN gives none.
CudnnDescriptor engine_of(const CudnnDescriptor& configuration);

/// The engine's number and its knobs as cudnn-frontend prints them, behind the prefix: ConvFwd_eng38_k2=1.
std::string make_tag(std::string_view prefix, const CudnnDescriptor& configuration,
                     const CudnnDescriptor& engine);

struct EngineConfiguration {
  CudnnDescriptor configuration;
  std::string tag;    ///< as cudnn-frontend prints it: ConvFwd_eng38_k2=1_k13=0
  std::string notes;  ///< "tensor core, nondeterministic"; empty where cuDNN says nothing of it
};

/// What a mode of cuDNN's heuristics proposes for a graph of the convolution, and of what follows it there,
/// in its order, without what PyTorch filters out: engines that round inputs to a shorter type, and in f32
/// those on tensor cores.
std::vector<EngineConfiguration> heuristic_configurations(const CudnnDescriptor& graph, const Conv2d&,
                                                          cudnnBackendHeurMode_t mode);

/// The engine and the knobs that a tag names. Throws UsageError for a text that is no tag of this direction,
/// FailedError where this cuDNN has no such engine or knob.
EngineConfiguration configuration_of_tag(const ConvolutionGraph&, const Conv2d&, std::string_view tag);

/// A configuration made ready to run.
struct EnginePlan {
  CudnnDescriptor plan;
  std::string tag, notes;
  Bytes workspace;
};

/// Throws FailedError with cuDNN's reason where the plan cannot be built.
EnginePlan build_plan(cudnnHandle_t handle, const EngineConfiguration& configuration);

}  // namespace jitterscope::cuda
