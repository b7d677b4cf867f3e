#include "device/cuda/cupti/range_profiler.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/shared_library.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_range_profiler(RangeProfiler& functions) {
  JITTERSCOPE_RANGE_PROFILER_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

// CUPTI opens libnvperf_host.so by its name alone, and so only finds it in the loader's folders; in a Python
// wheel it lies beside CUPTI. Once opened here, it is found by that name. If it is missing, CUPTI answers 15.
FunctionTable<RangeProfiler> open_with_host_library() {
  auto opened =
      open_functions(names_for_driver({"libcupti.so.13", "libcupti.so.12"}), look_up_range_profiler);
  std::vector<std::string> folders = nvidia_library_folders();
  folders.insert(folders.begin(), std::filesystem::path(opened.path).parent_path().string());
  std::string ignored;
  if (opened.functions) SharedLibrary::open({"libnvperf_host.so"}, folders, &ignored);
  return opened;
}

std::string text_of(CUptiResult result) {
  const char* text = nullptr;
  range_profiler().cuptiGetResultString(result, &text);
  return fmt::format("{} (CUPTI error {})", text == nullptr ? "unknown error" : text,
                     static_cast<int>(result));
}

constexpr const char* kHeld =
    "another tool holds this GPU's hardware counters (ncu, nsys, torch.profiler or DCGM): end it, or ask the "
    "administrator to release them (dcgmi profile --pause), and run again";

// Returns why this machine does not allow counting; null if the error means something else.
const char* refusal(CUptiResult result) {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators read hardware counters: ask the administrator to load the "
             "nvidia module with NVreg_RestrictProfilingToAdminUsers=0, or to run this with CAP_SYS_ADMIN (in a "
             "container --cap-add SYS_ADMIN); see https://developer.nvidia.com/ERR_NVGPUCTRPERM";
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return "hardware counters cannot be read on this part of a split GPU: ask the administrator for a whole "
             "one (MIG off), or for a MIG part with profiling rights";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "hardware counters cannot be read on this virtual GPU: ask the administrator to enable profiling "
             "for the vGPU, or for a whole GPU";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return "hardware counters cannot be read while confidential computing is on: ask the administrator for a "
             "GPU without it";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "CUPTI cannot read this GPU's hardware counters here (compute capability below 7.0, SLI, WSL or a "
             "mining GPU): take another GPU";
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "CUPTI cannot begin: libnvperf_host.so, which it needs for counters, is not beside it; install the "
             "whole package (pip install nvidia-cuda-cupti), or name its folder in JITTERSCOPE_LIBRARY_PATH";
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return "this CUPTI does not know the GPU's counters: install a newer one (pip install -U "
             "nvidia-cuda-cupti)";
    default: return nullptr;
  }
}

}  // namespace

const RangeProfiler& range_profiler() {
  static const FunctionTable<RangeProfiler> opened = open_with_host_library();
  return opened.require("hardware counters need CUPTI of CUDA 12.6 or newer", kCuptiPackages);
}

void check_counting(CUptiResult result, std::string_view what) {
  switch (result) {
    case CUPTI_SUCCESS: return;
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
      throw FailedError(fmt::format("{} ({}: {})", kHeld, what, text_of(result)));
    default: break;
  }
  if (const char* why = refusal(result)) {
    throw MissingError(fmt::format("{} ({}: {})", why, what, text_of(result)));
  }
  throw FailedError(fmt::format(
      "hardware counters could not be read, {}: {}; run again without other profilers, or leave --counters out",
      what, text_of(result)));
}

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
  // CUPTI 13.0 answers 27 for counters of the whole device (pcie__read_bytes) beside those of a context, and
  // 1 for an unknown name (17 only if its properties are asked for).
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

namespace {

// The first counter that the chip has is used for each quantity. Consumer chips of Blackwell (GB202) have
// dram__bytes_op_*; those that share the host's memory (GA10B, GB10B, GB20B) have neither. CUPTI 13.0 accepts
// all for 29 chips from GV100 to GB20B. On GH100 they take 2 passes, with stall reasons 7.
struct DefaultCounter {
  CounterQuantity quantity;
  std::string_view name;
};
constexpr std::array kDefaultCounters = {
    DefaultCounter{CounterQuantity::dram_bytes_read, "dram__bytes_read.sum"},
    DefaultCounter{CounterQuantity::dram_bytes_read, "dram__bytes_op_read.sum"},
    DefaultCounter{CounterQuantity::dram_bytes_written, "dram__bytes_write.sum"},
    DefaultCounter{CounterQuantity::dram_bytes_written, "dram__bytes_op_write.sum"},
    DefaultCounter{CounterQuantity::l2_hit_rate, "lts__t_sector_hit_rate.pct"},
    DefaultCounter{CounterQuantity::processors_active, "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"},
    DefaultCounter{CounterQuantity::tensor_active,
                   "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"},
    DefaultCounter{CounterQuantity::occupancy, "sm__warps_active.avg.pct_of_peak_sustained_active"}};

// "smsp__warp_issue_stalled_REASON_per_warp_active.pct" is the share of warps, over cycles, that wait for it.
constexpr std::string_view kStallBegin = "smsp__warp_issue_stalled_", kStallEnd = "_per_warp_active";
constexpr std::string_view kShareSuffix = ".pct";
// Not a wait: these warps issue an instruction.
constexpr std::string_view kNoWait = "selected";

// Returns the stall reason of a base name; empty if it counts something else.
std::string stall_reason(std::string_view base) {
  if (!base.starts_with(kStallBegin) || !base.ends_with(kStallEnd)) return {};
  base.remove_prefix(kStallBegin.size());
  base.remove_suffix(std::min(base.size(), kStallEnd.size()));
  return base == kNoWait ? std::string() : std::string(base);
}

void set_quantity(Counter& counter) {
  const auto known =
      std::ranges::find(kDefaultCounters, std::string_view(counter.name), &DefaultCounter::name);
  if (known != kDefaultCounters.end()) counter.quantity = known->quantity;
  const std::string_view name = counter.name;
  if (!name.ends_with(kShareSuffix)) return;
  counter.stall_reason = stall_reason(name.substr(0, name.size() - kShareSuffix.size()));
  if (!counter.stall_reason.empty()) counter.quantity = CounterQuantity::stalled;
}

}  // namespace

ChipCounters::ChipCounters(const CounterHost& host) : host_(host) {
  for (const CUpti_MetricType type :
       {CUPTI_METRIC_TYPE_COUNTER, CUPTI_METRIC_TYPE_RATIO, CUPTI_METRIC_TYPE_THROUGHPUT}) {
    for (const std::string& base : host_.base_names(type)) types_.emplace(base, type);
  }
}

std::string ChipCounters::usual_suffix(const std::string& base) const {
  switch (types_.at(base)) {
    case CUPTI_METRIC_TYPE_COUNTER: return ".sum";
    case CUPTI_METRIC_TYPE_THROUGHPUT: return ".avg.pct_of_peak_sustained_elapsed";
    default: break;
  }
  const std::vector<std::string> known = host_.suffixes(base, CUPTI_METRIC_TYPE_RATIO);
  if (std::ranges::find(known, kShareSuffix) != known.end() || known.empty())
    return std::string(kShareSuffix);
  const bool has_ratio = std::ranges::find(known, ".ratio") != known.end();
  return has_ratio ? ".ratio" : known.front();
}

// Returns the longest base name that the chip has, since some contain points
// (SM_C.TriageCompute.sm__cycles_active); empty if it has none.
std::string ChipCounters::base_of(const std::string& name) const {
  for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('.', end - 1)) {
    if (types_.contains(name.substr(0, end))) return name.substr(0, end);
  }
  return {};
}

Counter ChipCounters::described(const std::string& name) const {
  Counter counter{.name = name};
  if (auto properties = host_.properties(name)) {
    counter.unit = std::move(properties->unit);
    counter.description = std::move(properties->description);
  }
  set_quantity(counter);
  return counter;
}

Counter ChipCounters::find_one(const std::string& name) const {
  const std::string base = base_of(name);
  if (base.empty()) {
    std::vector<std::string> known;
    for (const auto& [each, type] : types_) known.push_back(each);
    const std::string nearest = nearest_name(name.substr(0, name.find('.')), known);
    throw UsageError(fmt::format(
        "{} has no counter '{}'{}; jitterscope list counters shows them", host_.chip(), name,
        nearest.empty() ? "" : fmt::format(" (did you mean '{}{}'?)", nearest, usual_suffix(nearest))));
  }
  if (base == name) return described(base + usual_suffix(base));
  const std::string suffix = name.substr(base.size());
  const std::vector<std::string> known = host_.suffixes(base, types_.at(base));
  if (std::ranges::find(known, suffix) == known.end()) {
    throw UsageError(fmt::format("the counter {} has no '{}'{}", base, suffix, suggestion(suffix, known)));
  }
  return described(name);
}

std::vector<Counter> ChipCounters::default_set() const {
  std::vector<Counter> counters;
  std::set<CounterQuantity> found;
  const auto add = [&](const std::string& name) {
    counters.push_back(described(name));
    counters.back().is_default = true;
  };
  for (const DefaultCounter& wanted : kDefaultCounters) {
    const std::string name(wanted.name);
    if (!base_of(name).empty() && found.insert(wanted.quantity).second) add(name);
  }
  for (const auto& [base, type] : types_) {
    if (type == CUPTI_METRIC_TYPE_RATIO && !stall_reason(base).empty()) add(base + std::string(kShareSuffix));
  }
  return counters;
}

std::vector<Counter> ChipCounters::all() const {
  std::vector<Counter> counters = default_set();
  const std::vector<std::string> first = names_of(counters);
  for (const auto& [base, type] : types_) {
    const std::string name = base + usual_suffix(base);
    if (std::ranges::find(first, name) == first.end()) counters.push_back(described(name));
  }
  return counters;
}

std::vector<Counter> ChipCounters::find(const std::vector<std::string>& names) const {
  if (names.empty()) return default_set();
  std::vector<Counter> counters;
  for (const std::string& name : names) counters.push_back(find_one(name));
  return counters;
}

std::vector<std::string> names_of(const std::vector<Counter>& counters) {
  std::vector<std::string> names;
  for (const Counter& counter : counters) names.push_back(counter.name);
  return names;
}

}  // namespace jitterscope::cuda
