#include "device/cuda/cupti/launch_names.hpp"

#include <cuda.h>

#include <new>
#include <utility>

#include "device/cuda/driver.hpp"

namespace jitterscope::cuda {
namespace {

// Launches by CUDA's runtime come to these, with the same correlation id (CUDA 13.0). Null for other calls.
CUfunction launched_function(CUpti_CallbackId id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return static_cast<const cuLaunchKernelEx_params*>(parameters)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return static_cast<const cuLaunchKernel_params*>(parameters)->f;  // the first of all of these
    default: return nullptr;
  }
}

// A launch takes a function or, under the same type, a kernel of a library, which is none to cuFuncGetName.
std::string name_of(CUfunction function) {
  if (driver().cuFuncGetName == nullptr || driver().cuKernelGetName == nullptr) return {};
  const char* name = nullptr;
  if (driver().cuFuncGetName(&name, function) != CUDA_SUCCESS &&
      driver().cuKernelGetName(&name, reinterpret_cast<CUkernel>(function)) != CUDA_SUCCESS) {
    return {};
  }
  return name == nullptr ? "" : name;
}

}  // namespace

void LaunchNames::note(CUpti_CallbackId id, const void* data) noexcept {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  try {
    const CUfunction function = launched_function(id, call.functionParams);
    if (function == nullptr) return;
    std::string name = name_of(function);
    if (name.empty()) return;
    const std::lock_guard lock(mutex_);
    names_.insert_or_assign(call.correlationId, std::move(name));
  } catch (const std::bad_alloc&) {
    return;  // CUPTI's name serves, and no exception may pass through it
  }
}

std::string LaunchNames::find(std::uint32_t correlation) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(correlation);
  return found == names_.end() ? std::string() : found->second;
}

void LaunchNames::clear() {
  const std::lock_guard lock(mutex_);
  names_.clear();
}

}  // namespace jitterscope::cuda
