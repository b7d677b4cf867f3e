// Captures as files that other programs read.
#pragma once

#include <filesystem>
#include <string>

#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

// Each writes one file, which must not exist, and throws FailedError if it cannot be written.

/// One row for each kernel, copy and memset: process, GPU, stream, begin in ns, duration in ns, name, grid,
/// block, bytes.
void export_csv(const Timeline& timeline, const std::filesystem::path& file);
/// The trace event format of Chrome, as torch.profiler writes it: for chrome://tracing and tools that read
/// its traces.
void export_chrome(const Timeline& timeline, const std::filesystem::path& file);
/// For https://ui.perfetto.dev: a track for each stream and each process's calls, counters of NVML's sensors.
void export_perfetto(const Timeline& timeline, const std::filesystem::path& file);
/// A database with the table names of Nsight Systems' own export, so that queries written for that one run on
/// it.
void export_sqlite(const Timeline& timeline, const std::filesystem::path& file);

/// Reads what Nsight Systems exports (nsys export --type sqlite), or what export_sqlite wrote. Throws
/// UsageError if it is no such database.
Timeline read_nsight_systems(const std::filesystem::path& file);

/// Reads a capture's folder, a trace of torch.profiler or a database of Nsight Systems; its content tells
/// which. Throws UsageError if it is none of them.
Timeline read_timeline(const std::filesystem::path& path);

}  // namespace jitterscope::timeline
