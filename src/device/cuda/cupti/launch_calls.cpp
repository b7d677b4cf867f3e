#include "device/cuda/cupti/launch_calls.hpp"

#include <new>

#include "device/cuda/cupti/cupti.hpp"

namespace jitterscope::cuda {

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

}  // namespace jitterscope::cuda
