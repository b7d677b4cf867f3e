// CUPTI's Range Profiler and the host API beside it, opened at run time. A table of its own, since libraries
// before CUDA 12.6 trace kernels and have none of it.
#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <string_view>

#include "base/shared_library.hpp"

namespace jitterscope::cuda {

// clang-format off
#define JITTERSCOPE_RANGE_PROFILER_FUNCTIONS(X)                                                                \
  X(cuptiGetResultString) X(cuptiProfilerInitialize) X(cuptiProfilerDeInitialize)                              \
  X(cuptiProfilerDeviceSupported) X(cuptiDeviceGetChipName) X(cuptiProfilerGetCounterAvailability)             \
  X(cuptiProfilerHostInitialize) X(cuptiProfilerHostDeinitialize) X(cuptiProfilerHostGetSupportedChips)        \
  X(cuptiProfilerHostGetBaseMetrics) X(cuptiProfilerHostGetSubMetrics)                                         \
  X(cuptiProfilerHostGetMetricProperties) X(cuptiProfilerHostConfigAddMetrics)                                 \
  X(cuptiProfilerHostGetConfigImageSize) X(cuptiProfilerHostGetConfigImage)                                    \
  X(cuptiProfilerHostGetNumOfPasses) X(cuptiProfilerHostEvaluateToGpuValues)                                   \
  X(cuptiRangeProfilerEnable) X(cuptiRangeProfilerDisable) X(cuptiRangeProfilerGetCounterDataSize)             \
  X(cuptiRangeProfilerCounterDataImageInitialize) X(cuptiRangeProfilerSetConfig)                               \
  X(cuptiRangeProfilerStart) X(cuptiRangeProfilerStop) X(cuptiRangeProfilerPushRange)                          \
  X(cuptiRangeProfilerPopRange) X(cuptiRangeProfilerDecodeData) X(cuptiRangeProfilerGetCounterDataInfo)
// clang-format on

/// The functions, each under its own name.
struct RangeProfiler {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_RANGE_PROFILER_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
};

/// Opens libcupti.so.13 or .12 on first use. Throws MissingError with what was looked for and what to do.
const RangeProfiler& range_profiler();

/// Unless success, throws what is to be done about it: MissingError where the driver or the device does not
/// let this user count, FailedError else, as where another tool holds the counters. `what` is the call.
void check_counting(CUptiResult result, std::string_view what);

/// Parameters of a call, all of them zero but for the size by which the library knows which fields there are.
template <class Parameters>
Parameters sized_parameters(std::size_t size) {
  Parameters parameters{};
  parameters.structSize = size;
  return parameters;
}
#define JITTERSCOPE_CUPTI_PARAMETERS(type) sized_parameters<type>(type##_STRUCT_SIZE)

}  // namespace jitterscope::cuda
