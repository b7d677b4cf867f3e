// CUPTI as the program's own process has it, or as it can be found. Nothing here throws.
#pragma once

#include <cupti.h>

#include <string>

namespace jitterscope::recorder {

// clang-format off
#define JITTERSCOPE_CUPTI_FUNCTIONS(X)                                                                       \
  X(cuptiGetVersion) X(cuptiGetResultString) X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableCallback)    \
  X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityEnableRuntimeApi)                            \
  X(cuptiActivityEnableDriverApi) X(cuptiActivityRegisterCallbacks) X(cuptiActivityFlushAll)                 \
  X(cuptiActivityRegisterTimestampCallback) X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords)                                        \
  X(cuptiGetCallbackName) X(cuptiSetThreadIdType)
// clang-format on

struct Cupti {
  void* handle = nullptr;
  std::string path, problem;  ///< `problem`: why there is none
  std::uint32_t version = 0;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
  decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 = nullptr;  ///< null before 13.0

  bool is_open() const { return handle != nullptr && problem.empty(); }
  /// CUPTI's words for a result.
  const char* text(CUptiResult result) const;
};

/// Prefers the copy that the process has loaded already: two of them in one process disturb each other. Then
/// the folders of JITTERSCOPE_LIBRARY_PATH, the loader's own path, and where toolkits are.
Cupti open_cupti();
/// The library that the process has loaded, or null.
void* loaded_cupti();

// The driver's functions that the recorder needs. They are looked up in the copy that has called the
// recorder.
struct Driver {
  int (*cuDriverGetVersion)(int*) = nullptr;
  int (*cuDeviceGetCount)(int*) = nullptr;
  int (*cuDeviceGet)(int*, int) = nullptr;
  int (*cuDeviceGetName)(char*, int, int) = nullptr;
  int (*cuDeviceGetUuid)(void*, int) = nullptr;
  int (*cuDeviceGetAttribute)(int*, int, int) = nullptr;
  int (*cuFuncGetName)(const char**, void*) = nullptr;    ///< null before 12.3
  int (*cuKernelGetName)(const char**, void*) = nullptr;  ///< null before 12.3
};
const Driver& driver();

}  // namespace jitterscope::recorder
