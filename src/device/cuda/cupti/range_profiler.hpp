// CUPTI's Range Profiler and the host API beside it, opened at run time. A table of its own, since libraries
// before CUDA 12.6 trace kernels and have none of it.
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

// CUPTI's host side for one chip: which counters it has, how many passes they take, what raw data say. It
// needs no GPU.

/// What the hardware is told, to count a set of counters.
struct CounterSchedule {
  std::vector<std::uint8_t> image;
  std::size_t passes = 0;
};

struct CounterProperties {
  std::string description, unit;
};

/// Chips whose counters this CUPTI knows.
std::vector<std::string> supported_chips();

class CounterHost {
 public:
  /// A chip as NVIDIA names it: GH100. `availability` is the image of what the GPU at hand leaves free;
  /// empty: all. Throws MissingError where CUPTI knows no such chip.
  explicit CounterHost(std::string chip, std::vector<std::uint8_t> availability = {});
  ~CounterHost();
  CounterHost(const CounterHost&) = delete;
  CounterHost& operator=(const CounterHost&) = delete;

  const std::string& chip() const { return chip_; }
  /// Counters, ratios or throughputs, without a suffix: dram__bytes_read.
  std::vector<std::string> base_names(CUpti_MetricType type) const;
  /// What may follow a base name: .sum, .avg.per_second…
  std::vector<std::string> suffixes(const std::string& base, CUpti_MetricType type) const;
  /// Nothing where the chip has no counter of this name.
  std::optional<CounterProperties> properties(const std::string& name) const;
  /// To be called once, with names that exist. Throws UsageError where they cannot be counted together.
  CounterSchedule schedule(const std::vector<std::string>& names);
  /// From the one range of a counter data image; not finite where the hardware gave none.
  std::vector<double> evaluate(const std::vector<std::uint8_t>& data,
                               const std::vector<std::string>& names) const;

 private:
  // CUPTI does not say whether it copies what it is made from.
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
};

/// CUPTI takes names as pointers; valid as long as the names.
std::vector<const char*> name_pointers(const std::vector<std::string>& names);

// The counters of a chip by name: which are read by default, and what a typed name means.

class ChipCounters {
 public:
  /// `host` must outlive it.
  explicit ChipCounters(const CounterHost& host);

  /// The default set first; then each of the chip's counters once, with its usual suffix.
  std::vector<Counter> all() const;
  std::vector<Counter> default_set() const;
  /// Those of these names, or the default set where none is named. A name without a suffix gets the usual
  /// one. Throws UsageError that names the nearest.
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
