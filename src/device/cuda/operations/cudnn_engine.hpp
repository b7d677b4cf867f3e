// cuDNN's engines with their knobs set: as its heuristics propose them, or rebuilt from a tag.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/operations/convolution.hpp"
#include "jitterscope/device.hpp"
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

// Which of cuDNN's engines runs a convolution: PyTorch's rule with torch.backends.cudnn.benchmark off, or the
// one that the operation names.

/// Tries a plan for good: gives why it cannot be used, or nothing.
using TryPlan = std::function<std::optional<std::string>(const EnginePlan&)>;

/// The first plan of cuDNN's instant heuristics for the graph, then of its fallback list, that may be used
/// for the convolution's data type, can be built and passes `try_plan`. Throws FailedError that names
/// `subject` and the last reason.
EnginePlan first_engine(cudnnHandle_t handle, const CudnnDescriptor& graph, const Conv2d& convolution,
                        const std::string& subject, const TryPlan& try_plan);

/// That, or the engine that the operation names. Throws FailedError; for a named engine it names those that
/// this cuDNN has.
EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan);

/// All plans that can be built: in the order in which PyTorch with benchmark on tries them (instant
/// heuristics, then fallback; a tag may appear twice), then what heuristic mode B proposes beside them.
std::vector<EngineListing> list_engines(cudnnHandle_t handle, const ConvolutionGraph& graph,
                                        const Operation& operation);

// A plan of cuDNN's on operands that stay where they are.

/// Where the tensors of a graph are, by their ids.
CudnnDescriptor variant_pack(std::span<const std::int64_t> ids, std::span<void* const> pointers,
                             void* workspace);

class PlanExecution {
 public:
  PlanExecution(const Context& context, cudnnHandle_t handle, std::vector<std::int64_t> ids,
                std::vector<void*> pointers)
      : context_(context), handle_(handle), ids_(std::move(ids)), pointers_(std::move(pointers)) {}

  /// Runs it once: why it cannot be used, or nothing; then workspace and operands are bound for it. Throws
  /// FailedError where it fails on the device itself.
  std::optional<std::string> try_plan(const EnginePlan& candidate);
  /// The plan that was tried last.
  void run(const EnginePlan& plan, NativeQueue queue);

 private:
  void execute(const EnginePlan& plan, CUstream stream, const std::string& action);

  const Context& context_;
  cudnnHandle_t handle_;
  std::vector<std::int64_t> ids_;
  std::vector<void*> pointers_;
  Workspace workspace_;
  CudnnDescriptor variants_{CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR};
};

}  // namespace jitterscope::cuda
