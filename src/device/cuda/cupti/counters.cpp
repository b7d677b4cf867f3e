#include "device/cuda/cupti/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/names.hpp"
#include "device/cuda/cupti/kernel_trace.hpp"
#include "device/cuda/cupti/range_profiler.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

/// CUPTI's hooks in the driver, while this lives.
class ProfilerHooks {
 public:
  ProfilerHooks() {
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_Initialize_Params);
    check_counting(range_profiler().cuptiProfilerInitialize(&parameters), "cuptiProfilerInitialize");
  }
  ~ProfilerHooks() {
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_DeInitialize_Params);
    range_profiler().cuptiProfilerDeInitialize(&parameters);
  }
  ProfilerHooks(const ProfilerHooks&) = delete;
  ProfilerHooks& operator=(const ProfilerHooks&) = delete;
};

void check_supported(CUdevice device) {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_DeviceSupported_Params);
  parameters.cuDevice = device;
  parameters.api = CUPTI_PROFILER_RANGE_PROFILING;
  check_counting(range_profiler().cuptiProfilerDeviceSupported(&parameters), "cuptiProfilerDeviceSupported");
  if (parameters.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return;
  std::vector<std::string> reasons;
  const auto add = [&](CUpti_Profiler_Support_Level level, const char* reason) {
    if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
      reasons.emplace_back(reason);
  };
  add(parameters.architecture, "its compute capability is below 7.0");
  add(parameters.sli, "SLI is on");
  add(parameters.vGpu, "profiling of this vGPU is off");
  add(parameters.confidentialCompute, "confidential computing is on");
  add(parameters.cmp, "it is a mining GPU");
  add(parameters.wsl, "this WSL has no profiling");
  throw MissingError(fmt::format(
      "hardware counters cannot be read on this GPU ({}): ask the administrator to change that, or for another "
      "GPU",
      reasons.empty() ? "CUPTI does not say why" : joined(reasons)));
}

std::string chip_name(const CountedGpu& gpu) {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Device_GetChipName_Params);
  parameters.deviceIndex = static_cast<std::size_t>(gpu.ordinal);
  check_counting(range_profiler().cuptiDeviceGetChipName(&parameters), "cuptiDeviceGetChipName");
  return parameters.pChipName == nullptr ? "" : parameters.pChipName;
}

std::string supported_chip(const CountedGpu& gpu) {
  check_supported(gpu.device);
  return chip_name(gpu);
}

// Returns the image of the counters that other tools and the driver leave free.
std::vector<std::uint8_t> availability(CUcontext context) {
  auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params);
  parameters.ctx = context;
  constexpr const char* kCall = "cuptiProfilerGetCounterAvailability";
  check_counting(range_profiler().cuptiProfilerGetCounterAvailability(&parameters), kCall);
  std::vector<std::uint8_t> image(parameters.counterAvailabilityImageSize);
  parameters.pCounterAvailabilityImage = image.data();
  check_counting(range_profiler().cuptiProfilerGetCounterAvailability(&parameters), kCall);
  return image;
}

/// The range profiler of a context, enabled while this lives. The destructor ends what was begun, so that an
/// error leaves nothing behind, and ignores errors of ending.
class RangeSession {
 public:
  explicit RangeSession(CUcontext context) {
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable_Params);
    parameters.ctx = context;
    check_counting(range_profiler().cuptiRangeProfilerEnable(&parameters), "cuptiRangeProfilerEnable");
    profiler_ = parameters.pRangeProfilerObject;
  }
  ~RangeSession() {
    if (is_in_range_) pop_range();
    if (is_started_) stop_pass();
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Disable_Params);
    parameters.pRangeProfilerObject = profiler_;
    range_profiler().cuptiRangeProfilerDisable(&parameters);
  }
  RangeSession(const RangeSession&) = delete;
  RangeSession& operator=(const RangeSession&) = delete;

  /// Configures one range that we repeat ourselves. Kernel replay would save and restore memory through the
  /// cache whose state is asked for, and has no ranges of several kernels. We launch again as for times,
  /// which also lets operations work in place, and evict again before each pass.
  void configure(const CounterSchedule& schedule, const std::vector<std::string>& names) {
    make_image(names);
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params);
    parameters.pRangeProfilerObject = profiler_;
    parameters.pConfig = schedule.image.data();
    parameters.configSize = schedule.image.size();
    parameters.pCounterDataImage = image_.data();
    parameters.counterDataImageSize = image_.size();
    parameters.range = CUPTI_UserRange;
    parameters.replayMode = CUPTI_UserReplay;
    parameters.maxRangesPerPass = 1;
    parameters.numNestingLevels = 1;
    parameters.minNestingLevel = 1;
    parameters.passIndex = 0;
    parameters.targetNestingLevel = 1;
    check_counting(range_profiler().cuptiRangeProfilerSetConfig(&parameters), "cuptiRangeProfilerSetConfig");
  }

  /// Returns true if it was the last pass. `prepare` puts the caches in their state between start and range,
  /// because starting a pass itself runs on the GPU.
  bool run_pass(const std::function<void()>& prepare, const std::function<void()>& launch) {
    auto start = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_;
    check_counting(range_profiler().cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart");
    is_started_ = true;
    prepare();
    auto push = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = profiler_;
    push.pRangeName = "launch";
    check_counting(range_profiler().cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
    is_in_range_ = true;
    launch();
    check_counting(pop_range(), "cuptiRangeProfilerPopRange");
    const auto [result, is_last] = stop_pass();
    check_counting(result, "cuptiRangeProfilerStop");
    return is_last;
  }

  /// Returns the counter data image with the one range, for evaluation.
  const std::vector<std::uint8_t>& decode() {
    auto decoded = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params);
    decoded.pRangeProfilerObject = profiler_;
    check_counting(range_profiler().cuptiRangeProfilerDecodeData(&decoded), "cuptiRangeProfilerDecodeData");
    auto info = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = image_.data();
    info.counterDataImageSize = image_.size();
    check_counting(range_profiler().cuptiRangeProfilerGetCounterDataInfo(&info),
                   "cuptiRangeProfilerGetCounterDataInfo");
    if (info.numTotalRanges != 1 || decoded.numOfRangeDropped != 0) {
      throw FailedError(fmt::format(
          "CUPTI counted {} ranges and dropped {} where there was one launch: end other profilers, and run again",
          info.numTotalRanges, decoded.numOfRangeDropped));
    }
    return image_;
  }

 private:
  void make_image(const std::vector<std::string>& names) {
    std::vector<const char*> pointers = name_pointers(names);
    auto size = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = pointers.data();
    size.numMetrics = pointers.size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    check_counting(range_profiler().cuptiRangeProfilerGetCounterDataSize(&size),
                   "cuptiRangeProfilerGetCounterDataSize");
    image_.assign(size.counterDataSize, 0);
    auto initial = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    initial.pRangeProfilerObject = profiler_;
    initial.counterDataSize = image_.size();
    initial.pCounterData = image_.data();
    check_counting(range_profiler().cuptiRangeProfilerCounterDataImageInitialize(&initial),
                   "cuptiRangeProfilerCounterDataImageInitialize");
  }
  CUptiResult pop_range() {
    is_in_range_ = false;
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_PopRange_Params);
    parameters.pRangeProfilerObject = profiler_;
    return range_profiler().cuptiRangeProfilerPopRange(&parameters);
  }
  std::pair<CUptiResult, bool> stop_pass() {
    is_started_ = false;
    auto parameters = JITTERSCOPE_CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop_Params);
    parameters.pRangeProfilerObject = profiler_;
    const CUptiResult result = range_profiler().cuptiRangeProfilerStop(&parameters);
    return {result, parameters.isAllPassSubmitted != 0};
  }

  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<std::uint8_t> image_;
  bool is_started_ = false, is_in_range_ = false;
};

class RangeCounterReader final : public CounterReader {
 public:
  RangeCounterReader(const CountedGpu& gpu, const std::vector<std::string>& names)
      : context_(gpu.context),
        host_(supported_chip(gpu), availability(gpu.context)),
        counters_(ChipCounters(host_).find(names)),
        names_(names_of(counters_)),
        schedule_(host_.schedule(names_)) {}

  CounterReading read(const std::function<void()>& prepare, const std::function<void()>& launch) override {
    RangeSession session(context_);
    session.configure(schedule_, names_);
    CounterReading reading;
    // The host API tells the number of passes; a profiler that asks for far more would never end.
    const auto most = static_cast<std::int64_t>(2 * schedule_.passes + 8);
    for (bool is_last = false; !is_last; ++reading.passes) {
      if (reading.passes == most) {
        throw FailedError(
            fmt::format("CUPTI asks for more than {} passes where {} were to do: end other "
                        "profilers, or ask for fewer counters",
                        most, schedule_.passes));
      }
      is_last = session.run_pass(prepare, launch);
    }
    const std::vector<double> values = host_.evaluate(session.decode(), names_);
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const Counter& counter = counters_[i];
      reading.values.push_back({.name = counter.name,
                                .unit = counter.unit,
                                .quantity = counter.quantity,
                                .stall_reason = counter.stall_reason,
                                .value = std::isfinite(values[i]) ? std::optional(values[i]) : std::nullopt});
    }
    return reading;
  }

 private:
  ProfilerHooks hooks_;
  CUcontext context_;
  CounterHost host_;
  std::vector<Counter> counters_;
  std::vector<std::string> names_;
  CounterSchedule schedule_;
};

}  // namespace

std::vector<Counter> list_chip_counters(const std::string& chip) {
  const std::vector<std::string> known = supported_chips();
  if (std::ranges::find(known, chip) == known.end()) {
    throw UsageError(fmt::format("CUPTI knows no counters of a chip '{}'{}", chip, suggestion(chip, known)));
  }
  const CounterHost host(chip);
  return ChipCounters(host).all();
}

std::vector<Counter> list_gpu_counters(const CountedGpu& gpu) {
  const ProfilerHooks hooks;
  const CounterHost host(chip_name(gpu));
  return ChipCounters(host).all();
}

void check_gpu_counters(const CountedGpu& gpu, const std::vector<std::string>& names) {
  if (names.empty()) return;  // then no call to CUPTI precedes the times
  try {
    const ProfilerHooks hooks;  // without them cuptiDeviceGetChipName ends the process (CUPTI 13.0)
    CounterHost host(chip_name(gpu));
    host.schedule(names_of(ChipCounters(host).find(names)));
  } catch (const UsageError&) {
    throw;
  } catch (const Error&) {  // reported when they are read: the times come first
  }
}

std::unique_ptr<CounterReader> count_gpu_launches(const CountedGpu& gpu,
                                                  const std::vector<std::string>& names) {
  if (KernelTrace::is_recording()) {
    throw FailedError("counters cannot be read while kernels are traced: stop the trace first");
  }
  return std::make_unique<RangeCounterReader>(gpu, names);
}

}  // namespace jitterscope::cuda
