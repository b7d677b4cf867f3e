// Holding a GPU's SM clock for those who may, and restoring it on every way out. Needs NVML and a UUID only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

/// First argument that makes the guardian executable call run_clock_guardian: FILE kGuardianArgument UUID FD.
inline constexpr const char* kGuardianArgument = "__restore-clocks";

/// The command line tool calls this with its own path. Without it nothing can be locked: a program that uses
/// the library must not find itself started a second time.
void set_guardian_executable(const std::string& path);

/// Locks the SM clock of the GPU `uuid` at `request`: base, max or MHz. A guardian process in a session of
/// its own, started first, resets the clock when this process ends in any way. Throws UsageError without the
/// right or where there is no such clock, MissingError without NVML; nothing is changed then.
std::unique_ptr<ClockLock> lock_gpu_clock(const std::string& uuid, std::string_view request);

/// The guardian's whole life: says on `fd` that it is ready, waits for the other end to say that all is
/// restored or to vanish, and in that case resets the clock. Returns the exit status of the process.
int run_clock_guardian(std::string_view uuid, int fd);

}  // namespace jitterscope::cuda
