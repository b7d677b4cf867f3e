// A recorder that throws its records away: the floor of what recording by CUPTI costs. With
// EMPTY_RECORDER=nothing it does not even begin, so that what is left is the watching process, which reads
// NVML.
//   g++ -O2 -shared -fPIC -I/usr/local/cuda/include empty_recorder.cpp -o libempty_recorder.so -ldl
#include <cupti.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

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

void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t) { std::free(buffer); }

}  // namespace

extern "C" int InitializeInjection() {
  const char* mode = std::getenv("EMPTY_RECORDER");
  void* library = cupti();
  if (library == nullptr || (mode != nullptr && std::strcmp(mode, "nothing") == 0)) return 1;
  function<decltype(cuptiActivityRegisterCallbacks)>(library, "cuptiActivityRegisterCallbacks")(request,
                                                                                                complete);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET}) {
    function<decltype(cuptiActivityEnable)>(library, "cuptiActivityEnable")(kind);
  }
  return 1;
}
