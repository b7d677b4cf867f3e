// Functions that the driver, NVTX and a profiler of the program call.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>
#include <exception>

#include "recorder/recorder.hpp"

using jitterscope::recorder::loaded_cupti;
using jitterscope::recorder::open_cupti;
using jitterscope::recorder::Recorder;

#define JITTERSCOPE_EXPORTED extern "C" __attribute__((visibility("default")))

// The driver calls this at the program's first use of CUDA (CUDA_INJECTION64_PATH).
JITTERSCOPE_EXPORTED int InitializeInjection() {  // NOLINT(readability-identifier-naming): the driver's name
  try {
    Recorder::begin();
  } catch (const std::exception&) {
    return 1;  // the driver is not built for exceptions, and the program runs as well without a recorder
  }
  return 1;
}

// NVTX calls this at the first range (NVTX_INJECTION64_PATH), and never again. CUPTI records ranges.
JITTERSCOPE_EXPORTED int InitializeInjectionNvtx2(  // NOLINT(readability-identifier-naming): NVTX's name
    void* get_export_table) {
  if (std::getenv(jitterscope::capture::kFolderVariable) == nullptr) return 0;
  try {
    void* cupti = loaded_cupti();
    if (cupti == nullptr) cupti = open_cupti().handle;
    if (cupti == nullptr) return 0;
    const auto forward = reinterpret_cast<int (*)(void*)>(::dlsym(cupti, "InitializeInjectionNvtx2"));
    return forward == nullptr ? 0 : forward(get_export_table);
  } catch (const std::exception&) {
    return 0;
  }
}

// CUPTI gives its records to whoever registered last, without a word to the one before (torch.profiler does
// so). By LD_PRELOAD these stand before CUPTI's own: they note who records, and pass on.

namespace {

// The library may come after the first call, so that nothing is kept. A profiler calls these a few times.
template <class Function>
Function* real(const char* name) noexcept {
  void* cupti = loaded_cupti();
  return reinterpret_cast<Function*>(::dlsym(cupti == nullptr ? RTLD_NEXT : cupti, name));
}

}  // namespace

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                                CUpti_BuffersCallbackCompleteFunc complete) {
  auto* const function = real<decltype(cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  Recorder* recorder = Recorder::get();
  return recorder == nullptr ? function(request, complete) : recorder->give_way(function, request, complete);
}

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  auto* const function =
      real<decltype(cuptiActivityRegisterTimestampCallback)>("cuptiActivityRegisterTimestampCallback");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->step_aside();
  return function(clock);
}

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  auto* const function = real<decltype(cuptiActivityDisable)>("cuptiActivityDisable");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_KERNEL) {
    if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->note_kernels_off();
  }
  return function(kind);
}

JITTERSCOPE_EXPORTED CUptiResult cuptiActivityFlushAll(std::uint32_t flag) {
  auto* const function = real<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const CUptiResult result = function(flag);
  if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->note_flush();
  return result;
}

JITTERSCOPE_EXPORTED CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber,
                                                CUpti_CallbackFunc callback, void* data) {
  auto* const function = real<decltype(cuptiSubscribe)>("cuptiSubscribe");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  Recorder* recorder = Recorder::get();
  if (recorder != nullptr) recorder->give_up_callbacks();
  const CUptiResult result = function(subscriber, callback, data);
  if (recorder != nullptr && result != CUPTI_SUCCESS) recorder->take_callbacks();
  return result;
}

JITTERSCOPE_EXPORTED CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  auto* const function = real<decltype(cuptiUnsubscribe)>("cuptiUnsubscribe");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const CUptiResult result = function(subscriber);
  if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->take_callbacks();
  return result;
}

JITTERSCOPE_EXPORTED CUptiResult cuptiFinalize() {
  auto* const function = real<decltype(cuptiFinalize)>("cuptiFinalize");
  if (function == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const CUptiResult result = function();
  if (Recorder* recorder = Recorder::get(); recorder != nullptr) recorder->note_finalized();
  return result;
}
