#include "device/cuda/operations/plan_execution.hpp"

#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {

CudnnDescriptor variant_pack(std::span<const std::int64_t> ids, std::span<void* const> pointers,
                             void* workspace) {
  CudnnDescriptor variants(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  variants.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  variants.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
  variants.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  variants.finalize();
  return variants;
}

std::optional<std::string> PlanExecution::try_plan(const EnginePlan& candidate) {
  try {
    workspace_ = Workspace();  // before the next one is allocated, or both must fit
    workspace_ = Workspace(context_, candidate.workspace);
    variants_ = variant_pack(ids_, pointers_, workspace_.pointer());
    execute(candidate, context_.stream(), "cudnnBackendExecute");
  } catch (const FailedError& error) {
    return error.what();
  }
  // A failure on the device itself leaves the context unusable: that one is not for the next plan to mend.
  check(driver().cuCtxSynchronize(), candidate.tag);
  return std::nullopt;
}

void PlanExecution::run(const EnginePlan& plan, NativeQueue queue) {
  execute(plan, static_cast<CUstream>(queue), plan.tag);
}

void PlanExecution::execute(const EnginePlan& plan, CUstream stream, const std::string& action) {
  check_cudnn(cudnn().cudnnSetStream(handle_, stream), "cudnnSetStream");
  check_cudnn(cudnn().cudnnBackendExecute(handle_, plan.plan.get(), variants_.get()), action);
}

}  // namespace jitterscope::cuda
