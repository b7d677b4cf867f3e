// CUPTI's Range Profiler without a GPU, libcupti.so.13.
#include "support/stand_in_counters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cupti/range_profiler.hpp"

using jitterscope::stand_in::CounterScript;
namespace stand_in = jitterscope::stand_in;

namespace {

CounterScript script;
std::map<std::string, std::size_t> calls;
std::size_t launches_in_this_range = 0;
bool has_image = false, is_configured = false, is_decoded = false;
int object = 0;  // what handles point to

const std::map<CUpti_MetricType, std::vector<const char*>> kNames = {
    {CUPTI_METRIC_TYPE_COUNTER, {stand_in::kReadBytes, stand_in::kDotted, stand_in::kOfTheDevice}},
    {CUPTI_METRIC_TYPE_RATIO, {stand_in::kHitRate, stand_in::kStall, stand_in::kSelected}},
    {CUPTI_METRIC_TYPE_THROUGHPUT, {stand_in::kThroughput}}};
std::map<CUpti_MetricType, std::vector<const char*>> suffixes = {
    {CUPTI_METRIC_TYPE_COUNTER, {".sum", ".avg"}},
    {CUPTI_METRIC_TYPE_RATIO, {".ratio", ".pct"}},
    {CUPTI_METRIC_TYPE_THROUGHPUT, {".avg.pct_of_peak_sustained_elapsed"}}};

bool exists(std::string_view name) {
  for (const auto& [type, bases] : kNames) {
    for (const std::string_view base : bases) {
      if (name == base) return true;
      for (const std::string_view suffix : suffixes[type]) {
        if (name == std::string(base) + std::string(suffix)) return true;
      }
    }
  }
  return false;
}

// The script's failure, the size that CUPTI knows a structure by, and what must have gone before.
CUptiResult answer(const char* function, bool right_size, bool in_order) {
  const std::size_t call = ++calls[function];
  if (script.failing == std::string_view(function) && call == script.failing_call) return script.failure;
  return right_size && in_order ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUpti_RangeProfiler_Object* profiler() { return reinterpret_cast<CUpti_RangeProfiler_Object*>(&object); }

}  // namespace

// Of a call with these parameters, which answers unless all is right.
#define STAND_IN_CHECK(type, in_order)                                                              \
  if (const CUptiResult result =                                                                    \
          answer(__func__, p->structSize == type##_STRUCT_SIZE && p->pPriv == nullptr, (in_order)); \
      result != CUPTI_SUCCESS)                                                                      \
  return result

extern "C" {

CounterScript* stand_in_counter_script() {
  calls.clear();
  return &script;
}

void stand_in_launch() {
  if (!script.in_range) {
    ++script.launches_elsewhere;
    return;
  }
  ++script.launches_in_range;
  script.most_in_one_pass = std::max(script.most_in_one_pass, ++launches_in_this_range);
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "what the stand-in says";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Initialize_Params, !script.initialized);
  script.initialized = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_DeInitialize_Params, script.initialized && !script.enabled);
  script.initialized = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_DeviceSupported_Params, p->api == CUPTI_PROFILER_RANGE_PROFILING);
  p->isSupported =
      script.is_supported ? CUPTI_PROFILER_CONFIGURATION_SUPPORTED : CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  p->confidentialCompute = p->isSupported;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  STAND_IN_CHECK(CUpti_Device_GetChipName_Params, script.initialized);  // else CUPTI 13.0 ends the process
  p->pChipName = stand_in::kChip;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_GetCounterAvailability_Params, script.initialized && p->ctx != nullptr);
  constexpr std::size_t kSize = 64;
  if (p->pCounterAvailabilityImage != nullptr) {
    if (p->counterAvailabilityImageSize < kSize) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    std::fill_n(p->pCounterAvailabilityImage, kSize, std::uint8_t{1});
  }
  p->counterAvailabilityImageSize = kSize;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetSupportedChips_Params, true);
  static const char* const chips[] = {"GA100", stand_in::kChip};
  p->numChips = 2;
  p->ppChipNames = chips;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_Initialize_Params,
                 p->profilerType == CUPTI_PROFILER_TYPE_RANGE_PROFILER);
  if (std::string_view(p->pChipName) != stand_in::kChip) return CUPTI_ERROR_INVALID_CHIP_NAME;
  ++script.hosts;
  p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(&object);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_Deinitialize_Params, script.hosts > 0 && p->pHostObject != nullptr);
  --script.hosts;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetBaseMetrics(CUpti_Profiler_Host_GetBaseMetrics_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetBaseMetrics_Params, p->pHostObject != nullptr);
  static std::vector<const char*> found;
  found = kNames.at(p->metricType);
  p->ppMetricNames = found.data();
  p->numMetrics = found.size();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetSubMetrics(CUpti_Profiler_Host_GetSubMetrics_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetSubMetrics_Params, exists(p->pMetricName));
  p->ppSubMetrics = suffixes[p->metricType].data();
  p->numOfSubmetrics = suffixes[p->metricType].size();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetMetricProperties_Params, p->pHostObject != nullptr);
  if (!exists(p->pMetricName)) return CUPTI_ERROR_INVALID_METRIC_NAME;
  p->pDescription = "what it counts";
  p->pDimUnit = std::string_view(p->pMetricName).ends_with(".pct") ? "percent" : "byte";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_ConfigAddMetrics_Params, p->pHostObject != nullptr && p->numMetrics > 0);
  for (std::size_t i = 0; i < p->numMetrics; ++i) {
    const std::string_view name = p->ppMetricNames[i];
    if (!exists(name) || name.find('.') == std::string_view::npos) return CUPTI_ERROR_INVALID_PARAMETER;
    if (name.starts_with(stand_in::kOfTheDevice) && p->numMetrics > 1) return CUPTI_ERROR_NOT_SUPPORTED;
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetConfigImageSize_Params, p->pHostObject != nullptr);
  p->configImageSize = 48;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetConfigImage_Params, p->configImageSize == 48);
  std::fill_n(p->pConfigImage, p->configImageSize, std::uint8_t{7});
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_GetNumOfPasses_Params,
                 p->configImageSize == 48 && p->pConfigImage[0] == 7);
  p->numOfPasses = script.passes;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  STAND_IN_CHECK(CUpti_Profiler_Host_EvaluateToGpuValues_Params, is_decoded && p->rangeIndex == 0);
  for (std::size_t i = 0; i < p->numMetrics; ++i) {
    const std::string_view name = p->ppMetricNames[i];
    if (!exists(name)) return CUPTI_ERROR_INVALID_METRIC_NAME;
    p->pMetricValues[i] = name.starts_with(stand_in::kReadBytes) ? static_cast<double>(launches_in_this_range)
                          : name.starts_with(stand_in::kHitRate) ? std::numeric_limits<double>::quiet_NaN()
                                                                 : 12.5;
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_Enable_Params,
                 script.initialized && !script.enabled && p->ctx != nullptr);
  script.enabled = true;
  ++script.enabled_times;
  has_image = is_configured = is_decoded = false;
  p->pRangeProfilerObject = profiler();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_Disable_Params,
                 script.enabled && !script.started && p->pRangeProfilerObject == profiler());
  script.enabled = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_GetCounterDataSize_Params,
                 script.enabled && p->maxNumOfRanges == 1 && p->maxNumRangeTreeNodes >= p->maxNumOfRanges);
  p->counterDataSize = 16 * p->numMetrics;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
                 script.enabled && p->counterDataSize > 0);
  std::fill_n(p->pCounterData, p->counterDataSize, std::uint8_t{3});
  has_image = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_SetConfig_Params,
                 has_image && p->pConfig[0] == 7 && p->pCounterDataImage[0] == 3 &&
                     p->range == CUPTI_UserRange && p->replayMode == CUPTI_UserReplay &&
                     p->maxRangesPerPass == 1 && p->numNestingLevels == 1 && p->minNestingLevel == 1 &&
                     p->passIndex == 0 && p->targetNestingLevel == 1);
  is_configured = true;
  script.passes_done = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_Start_Params, is_configured && !script.started);
  script.started = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_Stop_Params, script.started && !script.in_range);
  script.started = false;
  ++script.passes_done;
  p->isAllPassSubmitted = !script.never_ends && script.passes_done >= script.passes ? 1 : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_PushRange_Params,
                 script.started && !script.in_range && p->pRangeName != nullptr);
  script.in_range = true;
  launches_in_this_range = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_PopRange_Params, script.in_range);
  script.in_range = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_DecodeData_Params,
                 script.enabled && !script.started && script.passes_done >= script.passes);
  is_decoded = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  STAND_IN_CHECK(CUpti_RangeProfiler_GetCounterDataInfo_Params, is_decoded && p->pCounterDataImage[0] == 3);
  p->numTotalRanges = script.loses_the_range ? 0 : 1;
  return CUPTI_SUCCESS;
}

}  // extern "C"
