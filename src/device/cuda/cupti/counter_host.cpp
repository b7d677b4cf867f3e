#include "device/cuda/cupti/counter_host.hpp"

#include <fmt/format.h>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

std::vector<std::string> texts(const char* const* first, std::size_t count) {
  std::vector<std::string> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (first[i] != nullptr) all.emplace_back(first[i]);
  }
  return all;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

}  // namespace

std::vector<std::string> supported_chips() {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetSupportedChips_Params);
  check_counting(range_profiler().cuptiProfilerHostGetSupportedChips(&parameters),
                 "cuptiProfilerHostGetSupportedChips");
  return texts(parameters.ppChipNames, parameters.numChips);
}

std::vector<const char*> name_pointers(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  pointers.reserve(names.size());
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

CounterHost::CounterHost(std::string chip, std::vector<std::uint8_t> availability)
    : chip_(std::move(chip)), availability_(std::move(availability)) {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize_Params);
  parameters.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  parameters.pChipName = chip_.c_str();
  parameters.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  check_counting(range_profiler().cuptiProfilerHostInitialize(&parameters), "cuptiProfilerHostInitialize");
  host_ = parameters.pHostObject;
}

CounterHost::~CounterHost() {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params);
  parameters.pHostObject = host_;
  range_profiler().cuptiProfilerHostDeinitialize(&parameters);
}

std::vector<std::string> CounterHost::base_names(CUpti_MetricType type) const {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetBaseMetrics_Params);
  parameters.pHostObject = host_;
  parameters.metricType = type;
  check_counting(range_profiler().cuptiProfilerHostGetBaseMetrics(&parameters),
                 "cuptiProfilerHostGetBaseMetrics");
  return texts(parameters.ppMetricNames, parameters.numMetrics);
}

std::vector<std::string> CounterHost::suffixes(const std::string& base, CUpti_MetricType type) const {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetSubMetrics_Params);
  parameters.pHostObject = host_;
  parameters.metricType = type;
  parameters.pMetricName = base.c_str();
  check_counting(range_profiler().cuptiProfilerHostGetSubMetrics(&parameters),
                 "cuptiProfilerHostGetSubMetrics");
  return texts(parameters.ppSubMetrics, parameters.numOfSubmetrics);
}

std::optional<CounterProperties> CounterHost::properties(const std::string& name) const {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetMetricProperties_Params);
  parameters.pHostObject = host_;
  parameters.pMetricName = name.c_str();
  if (range_profiler().cuptiProfilerHostGetMetricProperties(&parameters) != CUPTI_SUCCESS)
    return std::nullopt;
  return CounterProperties{text_or_empty(parameters.pDescription), text_or_empty(parameters.pDimUnit)};
}

CounterSchedule CounterHost::schedule(const std::vector<std::string>& names) {
  std::vector<const char*> pointers = name_pointers(names);
  auto added = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  added.pHostObject = host_;
  added.ppMetricNames = pointers.data();
  added.numMetrics = pointers.size();
  const CUptiResult result = range_profiler().cuptiProfilerHostConfigAddMetrics(&added);
  // Those of the whole device (pcie__read_bytes) beside those of a context: 27. An unknown name is 1 here,
  // and 17 only where its properties are asked for (CUPTI 13.0).
  if (result == CUPTI_ERROR_NOT_SUPPORTED || result == CUPTI_ERROR_INVALID_PARAMETER ||
      result == CUPTI_ERROR_INVALID_METRIC_NAME) {
    throw UsageError(fmt::format("these counters cannot be read together ({} answers {}): {}; ask for fewer",
                                 chip_, static_cast<int>(result), joined(names)));
  }
  check_counting(result, "cuptiProfilerHostConfigAddMetrics");
  auto size = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host_;
  check_counting(range_profiler().cuptiProfilerHostGetConfigImageSize(&size),
                 "cuptiProfilerHostGetConfigImageSize");
  CounterSchedule schedule;
  schedule.image.resize(size.configImageSize);
  auto image = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params);
  image.pHostObject = host_;
  image.configImageSize = schedule.image.size();
  image.pConfigImage = schedule.image.data();
  check_counting(range_profiler().cuptiProfilerHostGetConfigImage(&image), "cuptiProfilerHostGetConfigImage");
  auto passes = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  passes.configImageSize = schedule.image.size();
  passes.pConfigImage = schedule.image.data();
  check_counting(range_profiler().cuptiProfilerHostGetNumOfPasses(&passes),
                 "cuptiProfilerHostGetNumOfPasses");
  schedule.passes = passes.numOfPasses;
  return schedule;
}

std::vector<double> CounterHost::evaluate(const std::vector<std::uint8_t>& data,
                                          const std::vector<std::string>& names) const {
  std::vector<const char*> pointers = name_pointers(names);
  std::vector<double> values(names.size());
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  parameters.pHostObject = host_;
  parameters.pCounterDataImage = data.data();
  parameters.counterDataImageSize = data.size();
  parameters.rangeIndex = 0;
  parameters.ppMetricNames = pointers.data();
  parameters.numMetrics = pointers.size();
  parameters.pMetricValues = values.data();
  check_counting(range_profiler().cuptiProfilerHostEvaluateToGpuValues(&parameters),
                 "cuptiProfilerHostEvaluateToGpuValues");
  return values;
}

}  // namespace jitterscope::cuda
