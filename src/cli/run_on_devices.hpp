// Times the same work on several GPUs of a host, each alone and all at once.
#pragma once

#include <string>
#include <vector>

#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "cli/run_flags.hpp"
#include "cli/run_request.hpp"
#include "commands/devices/record.hpp"

namespace jitterscope::cli {

/// Fresh processes for each GPU, alone and at once each.
inline constexpr std::int64_t kDeviceProcesses = 4;

/// Fills the record and writes it. Each process has a GPU of its own; this one holds none. A GPU whose
/// process gives nothing is left out, with its reason. If the job has ranks, `devices` are theirs, and their
/// agents start the processes. Throws UsageError if the GPUs are of several kinds, or one is two ranks'.
void run_on_devices(const RunRequest& request, const std::vector<std::string>& devices, DevicesRecord record,
                    RecordFiles& files, const PageFlags& page, Invocation& invocation);

}  // namespace jitterscope::cli
