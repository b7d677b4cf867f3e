#include "device/cuda/cupti/range_profiler.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/function_table.hpp"
#include "device/cuda/library_names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_range_profiler(RangeProfiler& functions) {
  JITTERSCOPE_RANGE_PROFILER_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

// CUPTI opens libnvperf_host.so by its name alone, and so finds it only in folders of the loader's: in a
// Python wheel it lies beside CUPTI. Opened before, it is found by that name. Where it is missing, CUPTI's
// answer is 15.
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

// Why this machine does not let one count; null where the error says something else.
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
  if (opened.functions) return *opened.functions;
  throw MissingError(
      "hardware counters need CUPTI of CUDA 12.6 or newer, and " + opened.problem +
      "; install it (pip install nvidia-cuda-cupti, or nvidia-cuda-cupti-cu12 for CUDA 12) or name its folder "
      "in JITTERSCOPE_LIBRARY_PATH");
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

}  // namespace jitterscope::cuda
