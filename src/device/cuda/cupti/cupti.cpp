#include "device/cuda/cupti/cupti.hpp"

#include <new>
#include <utility>

#include <cuda.h>
#include <fmt/format.h>

#include "base/shared_library.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_cupti(Cupti& functions) {
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

const FunctionTable<Cupti>& opened_cupti() {
  static const FunctionTable<Cupti> opened =
      open_functions(names_for_driver({"libcupti.so.13", "libcupti.so.12"}), look_up_cupti);
  return opened;
}

}  // namespace

const Cupti& cupti() {
  return opened_cupti().require("kernel times by CUPTI need its library", kCuptiPackages);
}

void check_cupti(CUptiResult result, std::string_view what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cupti().cuptiGetResultString(result, &text);
  const char* advice = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                           ? "; another profiler (nsys, ncu, torch.profiler) holds CUPTI: run without it"
                           : "";
  throw FailedError(fmt::format("{}: {} (CUPTI error {}){}", what, text == nullptr ? "unknown error" : text,
                                static_cast<int>(result), advice));
}

LibraryInfo cupti_library() {
  const auto& opened = opened_cupti();
  LibraryInfo info{.name = "cupti", .version = "", .path = opened.path, .problem = opened.problem};
  std::uint32_t version = 0;
  if (opened.functions && opened.functions->cuptiGetVersion(&version) == CUPTI_SUCCESS) {
    info.version = std::to_string(version);
  }
  return info;
}

void LaunchCalls::enable(CUpti_SubscriberHandle subscriber) {
  for (const CUpti_CallbackDomain domain : {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API}) {
    check_cupti(cupti().cuptiEnableDomain(1, subscriber, domain), "cannot see calls to the GPU's driver");
  }
}

void LaunchCalls::begin(std::uint64_t launch) {
  const std::lock_guard lock(mutex_);
  current_ = launch;
}

void LaunchCalls::end() {
  const std::lock_guard lock(mutex_);
  current_.reset();
}

void LaunchCalls::note(const void* data) noexcept {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite != CUPTI_API_ENTER) return;
  try {
    const std::lock_guard lock(mutex_);
    if (current_) launches_.insert_or_assign(call.correlationId, *current_);
  } catch (const std::bad_alloc&) {
    return;  // its kernels then belong to no launch, and no exception may pass through CUPTI
  }
}

std::optional<std::uint64_t> LaunchCalls::find(std::uint32_t correlation) const {
  const std::lock_guard lock(mutex_);
  const auto found = launches_.find(correlation);
  return found == launches_.end() ? std::nullopt : std::optional(found->second);
}

void LaunchCalls::clear() {
  const std::lock_guard lock(mutex_);
  current_.reset();
  launches_.clear();
}

namespace {

// Returns null for other calls. Runtime launches arrive here with the same correlation id (CUDA 13.0).
CUfunction launched_function(CUpti_CallbackId id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return static_cast<const cuLaunchKernelEx_params*>(parameters)->f;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return static_cast<const cuLaunchKernel_params*>(parameters)->f;  // the first member in all of these
    default: return nullptr;
  }
}

// A launch takes a function or, under the same type, a library's kernel, which cuFuncGetName refuses.
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
