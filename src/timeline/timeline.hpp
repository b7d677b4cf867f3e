// A program's work on GPUs, as columns: read from a capture's folder, from a trace of torch.profiler, or
// from what Nsight Systems exported. The analyses see nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/capture_info.hpp"
#include "capture/format/tables.hpp"

namespace jitterscope::timeline {

/// Nanoseconds of the source's clock; in a capture of CLOCK_REALTIME.
using Time = std::int64_t;
/// No time and no duration is taken for longer, 73 years from 1970 on, so that the sum of any two fits.
inline constexpr Time kLatest = Time{1} << 61;
struct Span {
  Time begin = 0, end = 0;
  Time length() const { return end - begin; }
};

enum class WorkKind : std::uint8_t { kernel, copy, set, graph };

/// A kind of work without its times: a kernel with its shape, or a copy between two kinds of memory.
struct WorkName {
  WorkKind kind = WorkKind::kernel;
  std::string name;  ///< of a kernel, mangled
  std::uint32_t grid[3] = {}, block[3] = {};
  capture::NameAudit audit = capture::NameAudit::none;
  capture::MemoryKind from = capture::MemoryKind::none, to = capture::MemoryKind::none;

  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
};

/// The work that one process had one GPU do, by the time when it began.
struct DeviceWork {
  std::uint32_t device = 0;  ///< the process's number of it
  std::vector<Time> begin, end;
  std::vector<std::uint32_t> what;  ///< index of Process::names
  std::vector<std::uint32_t> stream, correlation;
  std::vector<std::uint64_t> bytes;  ///< of copies and sets; empty where there are none

  std::size_t size() const { return begin.size(); }
  Span span() const;
};

/// Lists the places of each kind of work in a DeviceWork, in the order of time.
class PlacesByName {
 public:
  PlacesByName(const DeviceWork& work, std::size_t names);
  std::span<const std::uint32_t> of(std::size_t what) const {
    return {places_.data() + first_[what], places_.data() + first_[what + 1]};
  }
  std::size_t names() const { return first_.size() - 1; }

 private:
  std::vector<std::uint32_t> first_, places_;  // one kind behind the other
};

/// A range of the program's own (NVTX), or a step that torch.profiler marked.
struct NamedRange {
  std::string name;
  Span span;
};

/// A part of the time in which so much was recorded.
struct RecordedWindow {
  Span span;
  capture::Detail detail = capture::Detail::light;
  bool between_ranges = false;  ///< off, as the program did other things than what is recorded
  bool operations = false;      ///< calls of libraries were recorded, too
};

struct Loss {
  Span span;
  capture::LossKind kind = capture::LossKind::dropped;
  std::uint64_t count = 0;  ///< 0: not known
  std::string sentence;
};

struct ProcessDevice {
  std::uint32_t device = 0;
  std::string uuid, name;
};

struct Process {
  std::string label;  ///< "pid 4711 python3 train.py"
  std::optional<std::uint32_t> rank;
  std::string problem;      ///< why nothing was recorded
  bool is_complete = true;  ///< it ended by itself, and its files were finished
  std::vector<WorkName> names;
  std::vector<DeviceWork> devices;
  std::vector<ProcessDevice> device_names;
  capture::Calls calls;
  std::vector<std::string> texts;  ///< what Calls::function and the columns of calls of libraries name
  capture::Operations operations;  ///< calls of libraries (captured_calls.hpp)
  capture::OperationLaunches operation_launches;
  capture::Operands operands;
  capture::Overheads overheads;
  capture::Memory memory;
  std::vector<NamedRange> ranges;
  std::vector<RecordedWindow> windows;
  capture::LaunchCounts launch_counts;
  std::vector<Loss> losses;

  std::size_t work() const;
};

struct Timeline {
  std::string source;                        ///< as the user named it
  std::optional<capture::CaptureInfo> info;  ///< of a capture
  std::vector<Process> processes;
  capture::Sensors sensors;
  std::vector<std::string> gpus;      ///< UUIDs, as Sensors::gpu counts them
  std::vector<std::string> problems;  ///< what could not be read
  bool holds_operators = false;  ///< a trace that has PyTorch's operators with the shapes of their inputs
};

/// Sorts a device's work by its begin, as DeviceWork promises.
void sort_by_begin(DeviceWork& work);

/// Reads a capture's folder as far as it is whole. Throws UsageError if it is none.
Timeline read_capture(const std::string& folder);
/// Reads a trace of torch.profiler (export_chrome_trace), gzip or not and of any size, as far as it is whole.
/// Throws UsageError if it is none.
Timeline read_profiler_trace(const std::filesystem::path& file);

}  // namespace jitterscope::timeline
