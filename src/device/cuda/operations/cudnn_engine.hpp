// cuDNN's engines with their knobs set: proposed by its heuristics, or rebuilt from a tag.
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

/// Returns the engine configurations that a mode of cuDNN's heuristics proposes for any graph, in its order.
std::vector<CudnnDescriptor> ask_heuristics(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode);

/// Returns the engine of a configuration. Throws FailedError if cuDNN gives none.
CudnnDescriptor engine_of(const CudnnDescriptor& configuration);

/// Returns the engine's number and knobs in cudnn-frontend's format after the prefix: ConvFwd_eng38_k2=1.
std::string make_tag(std::string_view prefix, const CudnnDescriptor& configuration,
                     const CudnnDescriptor& engine);

struct EngineConfiguration {
  CudnnDescriptor configuration;
  std::string tag;    ///< in cudnn-frontend's format: ConvFwd_eng38_k2=1_k13=0
  std::string notes;  ///< "tensor core, nondeterministic"; empty if cuDNN gives none
};

/// Returns what a mode of cuDNN's heuristics proposes for a graph of the convolution and the steps after it,
/// in its order. Leaves out what PyTorch filters out: engines that round inputs to a shorter type, and in f32
/// those on tensor cores.
std::vector<EngineConfiguration> heuristic_configurations(const CudnnDescriptor& graph, const Conv2d&,
                                                          cudnnBackendHeurMode_t mode);

/// Returns the engine and the knobs that a tag names. Throws UsageError if the text is no tag of this
/// direction, FailedError if this cuDNN has no such engine or knob.
EngineConfiguration configuration_of_tag(const ConvolutionGraph&, const Conv2d&, std::string_view tag);

/// A configuration that is ready to run.
struct EnginePlan {
  CudnnDescriptor plan;
  std::string tag, notes;
  Bytes workspace;
};

/// Throws FailedError with cuDNN's reason if the plan cannot be built.
EnginePlan build_plan(cudnnHandle_t handle, const EngineConfiguration& configuration);

// Chooses cuDNN's engine for a convolution: by PyTorch's rule with torch.backends.cudnn.benchmark off, or as
// the operation names it.

/// Runs a plan and binds what it needs; returns why it cannot be used, or nullopt.
using TryPlan = std::function<std::optional<std::string>(const EnginePlan&)>;

/// Returns the first plan of cuDNN's instant heuristics for the graph, then of its fallback list, that is
/// allowed for the convolution's data type, can be built and passes `try_plan`. Throws FailedError that names
/// `subject` and the last reason.
EnginePlan first_engine(cudnnHandle_t handle, const CudnnDescriptor& graph, const Conv2d& convolution,
                        const std::string& subject, const TryPlan& try_plan);

/// Returns the engine that the operation names, else first_engine(). Throws FailedError; for a named engine
/// it lists the engines of this cuDNN.
EnginePlan select_engine(cudnnHandle_t handle, const ConvolutionGraph& graph, const Operation& operation,
                         const TryPlan& try_plan);

/// Returns all plans that can be built: in the order in which PyTorch with benchmark on tries them (instant
/// heuristics, then fallback; a tag may appear twice), then further proposals of heuristic mode B.
std::vector<EngineListing> list_engines(cudnnHandle_t handle, const ConvolutionGraph& graph,
                                        const Operation& operation);

// Runs a plan of cuDNN on operands with fixed addresses.

/// Maps the tensors of a graph, by their ids, to addresses.
CudnnDescriptor variant_pack(std::span<const std::int64_t> ids, std::span<void* const> pointers,
                             void* workspace);

class PlanExecution {
 public:
  PlanExecution(const Context& context, cudnnHandle_t handle, std::vector<std::int64_t> ids,
                std::vector<void*> pointers)
      : context_(context), handle_(handle), ids_(std::move(ids)), pointers_(std::move(pointers)) {}

  /// Runs the plan once. Returns why it cannot be used, or nullopt once workspace and operands are bound for
  /// it. Throws FailedError if it fails on the device itself.
  std::optional<std::string> try_plan(const EnginePlan& candidate);
  /// `plan` must be the one that was tried last.
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
