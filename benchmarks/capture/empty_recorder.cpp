// A recorder that throws its records away: the floor of what recording by CUPTI costs. EMPTY_RECORDER says
// what it asks for: nothing (what is left is the watching process, which reads NVML), records (the default),
// callbacks (records, and callbacks that do nothing at launches), or calls (records, and the launch calls'
// records). At the end it says how many of the buffers began with a kernel, and how many of these kernels had
// a correlation id.
//   g++ -O2 -shared -fPIC -I/usr/local/cuda/include empty_recorder.cpp -o libempty_recorder.so -ldl
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

template <class Function>
Function* function(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

void* cupti() {
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"}) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD); library != nullptr) return library;
  }
  return ::dlopen("libcupti.so.13", RTLD_NOW);
}

void request(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *size = std::size_t{128} << 10;
  *records = 0;
  *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
}

std::atomic<unsigned> kernels{0}, correlated{0};

void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const auto* record = reinterpret_cast<const CUpti_Activity*>(buffer);
  if (valid > 0 && record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    ++kernels;
    correlated += reinterpret_cast<const CUpti_ActivityKernel10*>(record)->correlationId != 0;
  }
  std::free(buffer);
}

void called(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

constexpr CUpti_CallbackId kLaunchCalls[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};

}  // namespace

extern "C" int InitializeInjection() {
  const char* mode = std::getenv("EMPTY_RECORDER");
  void* library = cupti();
  const std::string asked = mode == nullptr ? "records" : mode;
  if (library == nullptr || asked == "nothing") return 1;
  function<decltype(cuptiActivityRegisterCallbacks)>(library, "cuptiActivityRegisterCallbacks")(request,
                                                                                                complete);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
    function<decltype(cuptiActivityEnable)>(library, "cuptiActivityEnable")(kind);
  }
  CUpti_SubscriberHandle subscriber = nullptr;
  if (asked == "callbacks")
    function<decltype(cuptiSubscribe)>(library, "cuptiSubscribe")(&subscriber, called, nullptr);
  for (const CUpti_CallbackId call : kLaunchCalls) {
    if (asked == "callbacks")
      function<decltype(cuptiEnableCallback)>(library, "cuptiEnableCallback")(
          1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
    if (asked == "calls")
      function<decltype(cuptiActivityEnableDriverApi)>(library, "cuptiActivityEnableDriverApi")(call, 1);
  }
  std::atexit([] {
    std::fprintf(stderr, "empty recorder: %u buffers began with a kernel, %u with a correlation id\n",
                 kernels.load(), correlated.load());
  });
  return 1;
}
