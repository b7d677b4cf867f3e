#include "device/cuda/operations/attention_plan.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "device/cuda/operations/cudnn.hpp"
#include "device/cuda/operations/engine_configuration.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {

AttentionPlan::AttentionPlan(cudnnHandle_t handle, const Operation& operation, Pass pass)
    : graph(handle, std::get<Attention>(operation.parameters()), pass) {
  std::string reason = "it offers none for this shape";
  for (const CudnnDescriptor& configuration : ask_heuristics(graph.graph(), CUDNN_HEUR_MODE_A)) {
    tag = make_tag(pass == Pass::backward ? "SdpaBwd" : "SdpaFwd", configuration, engine_of(configuration));
    CudnnDescriptor candidate(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    candidate.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    candidate.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    const cudnnStatus_t status = candidate.try_finalize();
    if (status == CUDNN_STATUS_SUCCESS) {
      plan = std::move(candidate);
      workspace = Bytes(plan.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64));
      return;
    }
    reason = fmt::format("{}: {}", tag, cudnn_failure(status));
  }
  throw FailedError(
      fmt::format("cuDNN has no engine that runs {} here; the last reason: {}", operation.text(), reason));
}

const AttentionPlan& attention_plan(cudnnHandle_t handle, const Operation& operation, Pass pass) {
  using Key = std::tuple<cudnnHandle_t, std::string, Pass>;
  static std::mutex mutex;
  // Never freed: cuDNN may be gone before what is static here.
  static auto& plans = *new std::map<Key, std::unique_ptr<AttentionPlan>>;  // NOLINT(*-owning-memory)
  const std::lock_guard lock(mutex);
  std::unique_ptr<AttentionPlan>& plan = plans[Key(handle, operation.text(), pass)];
  if (!plan) plan = std::make_unique<AttentionPlan>(handle, operation, pass);
  return *plan;
}

}  // namespace jitterscope::cuda
