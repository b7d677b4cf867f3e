// CUPTI's activity API, opened at run time.
#pragma once

#include <cupti.h>

#include <string_view>

#include "base/shared_library.hpp"

namespace jitterscope::cuda {

// clang-format off
#define JITTERSCOPE_CUPTI_FUNCTIONS(X)                                                   \
  X(cuptiGetVersion)                                                                     \
  X(cuptiGetResultString) X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableDomain)     \
      X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityRegisterCallbacks)   \
          X(cuptiActivityFlushAll) X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords)
// clang-format on

/// The functions, each under its own name: cupti().cuptiActivityEnable(...).
struct Cupti {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
};

/// Opens libcupti.so.13 or .12 on first use. Throws MissingError with what was looked for and what to do.
const Cupti& cupti();

/// Throws FailedError "WHAT: what CUPTI says" unless success.
void check_cupti(CUptiResult result, std::string_view what);

}  // namespace jitterscope::cuda
