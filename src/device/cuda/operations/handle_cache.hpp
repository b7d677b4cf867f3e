// Library handles, one for each context: making one costs milliseconds and device memory.
#pragma once

#include <cuda.h>

#include <map>
#include <mutex>

#include "device/cuda/driver.hpp"

namespace jitterscope::cuda {

/// Names a context over the life of the process. An address does not: a primary context that was released
/// and retained again may have the old one's.
inline unsigned long long current_context_id() {
  unsigned long long id = 0;
  const auto get_id = driver().library.find_function<CUresult(CUcontext, unsigned long long*)>("cuCtxGetId");
  if (get_id != nullptr && get_id(nullptr, &id) == CUDA_SUCCESS) return id;
  CUcontext context = nullptr;  // drivers before 12.0 have no cuCtxGetId
  check(driver().cuCtxGetCurrent(&context), "cuCtxGetCurrent");
  return reinterpret_cast<unsigned long long>(context);
}

/// Handles live as long as the process: they may only be destroyed while their context lives.
template <class Handle>
class HandleCache {
 public:
  template <class Create>
  Handle get(Create create) {
    const unsigned long long context = current_context_id();
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(context);
    if (found != handles_.end()) return found->second;
    return handles_.emplace(context, create()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<unsigned long long, Handle> handles_;
};

}  // namespace jitterscope::cuda
