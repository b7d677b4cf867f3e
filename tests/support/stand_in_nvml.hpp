// What the stand-in NVML library answers, for the tests that use it.
#pragma once

namespace jitterscope::stand_in {

/// Of the stand-in driver's first GPU.
inline constexpr const char* kUuid = "GPU-00000000-0000-0000-0000-000000000000";

/// With kGpus = "2" there is a second GPU. Its links lead to a switch, those of the first to the second, but
/// for one that is down and one that leads elsewhere.
inline constexpr const char* kGpus = "STAND_IN_NVML_GPUS";
inline constexpr const char* kSecondUuid = "GPU-01000000-0000-0000-0000-000000000000";

/// File to which the library appends a line for each change: "lock MIN MAX" or "reset".
inline constexpr const char* kStateFile = "STAND_IN_NVML_STATE";
/// Set: changing clocks answers "no permission".
inline constexpr const char* kNoPermission = "STAND_IN_NVML_NO_PERMISSION";
/// Comma-separated names of functions that answer "function not found".
inline constexpr const char* kMissing = "STAND_IN_NVML_MISSING";

/// Set: there is no GPU.
inline constexpr const char* kNoGpu = "STAND_IN_NVML_NO_GPU";

/// Set: the hardware holds the clock, by its power brake.
inline constexpr const char* kBraked = "STAND_IN_NVML_BRAKED";

inline constexpr unsigned kBaseMegahertz = 1500, kMaximumMegahertz = 1980, kStepMegahertz = 15,
                          kMinimumMegahertz = 345;

}  // namespace jitterscope::stand_in
