// Locks a GPU's SM clock, and restores it however the process ends. Needs only NVML and a UUID.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// First argument that makes the guardian executable call run_clock_guardian: FILE kGuardianArgument UUID FD.
inline constexpr const char* kGuardianArgument = "__restore-clocks";

/// Sets the executable that is started as guardian; the command line tool passes its own path. Without it
/// nothing can be locked: a program that uses the library must not find itself started a second time.
void set_guardian_executable(const std::string& path);

/// Locks the SM clock of the GPU `uuid` at `request`: base, max or MHz. Starts a guardian process in its own
/// session first, which resets the clock when this process ends in any way. Throws UsageError without the
/// right or if there is no such clock, MissingError without NVML; then nothing has been changed.
std::unique_ptr<ClockLock> lock_gpu_clock(const std::string& uuid, std::string_view request);

/// Runs the guardian: says on `fd` that it is ready, then waits until the other end reports that the clock is
/// restored, or closes; if it closes, resets the clock. Returns the exit status of the process.
int run_clock_guardian(std::string_view uuid, int fd);

}  // namespace jitterscope::cuda
