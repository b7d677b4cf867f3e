// CUPTI's Range Profiler and its host API, opened at run time. They have their own table of functions, since
// libraries before CUDA 12.6 trace kernels but lack them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include "base/shared_library.hpp"
#include "jitterscope/counters.hpp"

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

/// Opens libcupti.so.13 or .12 on first use. Throws MissingError with the names tried and a remedy.
const RangeProfiler& range_profiler();

/// Throws with a remedy unless success: MissingError if the driver or the device does not let this user
/// count, else FailedError, for instance if another tool holds the counters. `what` is the call.
void check_counting(CUptiResult result, std::string_view what);

/// Returns the parameters of a call, all zero except the size, which tells the library the known fields.
template <class Parameters>
Parameters sized_parameters(std::size_t size) {
  Parameters parameters{};
  parameters.structSize = size;
  return parameters;
}
#define JITTERSCOPE_CUPTI_PARAMETERS(type) sized_parameters<type>(type##_STRUCT_SIZE)

// CUPTI's host side for one chip: its counters, the passes that they take, and the meaning of raw data. It
// needs no GPU.

/// Tells the hardware to count a set of counters.
struct CounterSchedule {
  std::vector<std::uint8_t> image;
  std::size_t passes = 0;
};

struct CounterProperties {
  std::string description, unit;
};

/// Returns the chips whose counters this CUPTI knows.
std::vector<std::string> supported_chips();

class CounterHost {
 public:
  /// `chip` is NVIDIA's name, such as GH100. `availability` is the image of the counters that the GPU at hand
  /// leaves free; empty: all. Throws MissingError if CUPTI knows no such chip.
  explicit CounterHost(std::string chip, std::vector<std::uint8_t> availability = {});
  ~CounterHost();
  CounterHost(const CounterHost&) = delete;
  CounterHost& operator=(const CounterHost&) = delete;

  const std::string& chip() const { return chip_; }
  /// Returns counters, ratios or throughputs without a suffix: dram__bytes_read.
  std::vector<std::string> base_names(CUpti_MetricType type) const;
  /// Returns the suffixes that may follow a base name: .sum, .avg.per_second…
  std::vector<std::string> suffixes(const std::string& base, CUpti_MetricType type) const;
  /// Returns nullopt if the chip has no counter of this name.
  std::optional<CounterProperties> properties(const std::string& name) const;
  /// May be called once, with names that exist. Throws UsageError if they cannot be counted together.
  CounterSchedule schedule(const std::vector<std::string>& names);
  /// Evaluates the one range of a counter data image; a value is not finite if the hardware gave none.
  std::vector<double> evaluate(const std::vector<std::uint8_t>& data,
                               const std::vector<std::string>& names) const;

 private:
  // Kept, because CUPTI does not say whether it copies these two.
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// Returns the names as pointers for CUPTI, valid as long as the names.
std::vector<const char*> name_pointers(const std::vector<std::string>& names);

// The counters of a chip by name: which are read by default, and how a typed name is completed.

class ChipCounters {
 public:
  /// `host` must outlive it.
  explicit ChipCounters(const CounterHost& host);

  /// Returns the default set, then the chip's other counters, each with its usual suffix.
  std::vector<Counter> all() const;
  std::vector<Counter> default_set() const;
  /// Returns the counters of these names, or the default set if there are none. A name without a suffix gets
  /// the usual one. Throws UsageError that names the nearest.
  std::vector<Counter> find(const std::vector<std::string>& names) const;

 private:
  Counter find_one(const std::string& name) const;
  Counter described(const std::string& name) const;
  std::string usual_suffix(const std::string& base) const;
  std::string base_of(const std::string& name) const;

  const CounterHost& host_;
  std::map<std::string, CUpti_MetricType> types_;  ///< by base name
};

std::vector<std::string> names_of(const std::vector<Counter>& counters);

}  // namespace jitterscope::cuda
