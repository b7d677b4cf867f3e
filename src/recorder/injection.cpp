// What the driver, NVTX and a profiler of the program call.
#include <cupti.h>
#include <dlfcn.h>

#include <new>

#include "recorder/recorder.hpp"

using jitterscope::recorder::loaded_cupti;
using jitterscope::recorder::open_cupti;
using jitterscope::recorder::Recorder;

#define JITTERSCOPE_EXPORTED extern "C" __attribute__((visibility("default")))

// The driver calls this at the program's first use of CUDA (CUDA_INJECTION64_PATH).
JITTERSCOPE_EXPORTED int InitializeInjection() {
  try {
    Recorder::begin();
  } catch (const std::bad_alloc&) {
    return 1;  // the driver is not built for exceptions, and the program runs as well without a recorder
  }
  return 1;
}

// NVTX calls this at the first range (NVTX_INJECTION64_PATH). CUPTI records ranges; it must be told of them
// early.
JITTERSCOPE_EXPORTED int InitializeInjectionNvtx2(void* get_export_table) {
  void* cupti = loaded_cupti();
  if (cupti == nullptr) cupti = open_cupti().handle;
  if (cupti == nullptr) return 0;
  const auto forward = reinterpret_cast<int (*)(void*)>(::dlsym(cupti, "InitializeInjectionNvtx2"));
  return forward == nullptr ? 0 : forward(get_export_table);
}

// CUPTI gives its records to whoever registered last, without a word to the one before (torch.profiler does
// so). By LD_PRELOAD these stand before CUPTI's own: they note who records, and pass on.

namespace {

template <class Function>
Function* real(const char* name) {
  void* cupti = loaded_cupti();
  return cupti == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(cupti, name));
}

// The profiler turns its kinds off, and then asks for its last records.
std::atomic<bool> has_turned_off{false};

}  // namespace

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                                CUpti_BuffersCallbackCompleteFunc complete) {
  static auto* const function =
      real<decltype(cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->give_way();
  has_turned_off.store(false);
  return function(request, complete);
}

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  static auto* const function = real<decltype(cuptiActivityDisable)>("cuptiActivityDisable");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_KERNEL)
    has_turned_off.store(true);
  return function(kind);
}

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  static auto* const function = real<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const CUptiResult result = function(flag);
  if (has_turned_off.exchange(false)) {
    if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->take_back();
  }
  return result;
}
