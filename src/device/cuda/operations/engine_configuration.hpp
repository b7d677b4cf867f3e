// cuDNN's engines with their knobs set: as its heuristics propose them, or rebuilt from a tag.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/operations/convolution_graph.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

struct EngineConfiguration {
  CudnnDescriptor configuration;
  std::string tag;    ///< as cudnn-frontend prints it: ConvFwd_eng38_k2=1_k13=0
  std::string notes;  ///< "tensor core, nondeterministic"; empty where cuDNN says nothing of it
};

/// What a mode of cuDNN's heuristics proposes, in its order, without what PyTorch filters out: engines that
/// round inputs to a shorter type, and in f32 those on tensor cores.
std::vector<EngineConfiguration> heuristic_configurations(const ConvolutionGraph&, const Conv2d&,
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
