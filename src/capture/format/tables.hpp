// The tables of a capture, column by column. The recorder writes them, the program reads them, and any reader
// of Arrow reads them, too: a table's `describe` is its schema.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace jitterscope::capture {

// Times are nanoseconds of CLOCK_REALTIME, as CUPTI and NVML stamp. Device numbers are CUDA's own within the
// process. A table holds the rows of one batch while it is written, and all rows of a process once it is
// read.

/// A kernel's name and shape. A kernel names its row by `id`; a later row with the same id
/// replaces an earlier one, as where the audit found another name.
struct Launches {
  static constexpr const char* kName = "launches";
  std::vector<std::uint32_t> id;
  std::vector<std::string> name;  ///< mangled
  std::vector<std::uint32_t> grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y,
      cluster_z;
  std::vector<std::uint32_t> registers;                      ///< a thread
  std::vector<std::uint32_t> static_shared, dynamic_shared;  ///< bytes a block
  std::vector<std::uint32_t> local_memory;                   ///< bytes a thread
  std::vector<std::uint8_t> audit;                           ///< NameAudit
};
enum class NameAudit : std::uint8_t { none, same, corrected };

struct Kernels {
  static constexpr const char* kName = "kernels";
  std::vector<std::int64_t> start, duration;
  std::vector<std::uint32_t> launch, correlation, stream;
  std::vector<std::uint8_t> device;
  std::vector<std::uint32_t> graph;  ///< 0: launched on its own
  std::vector<std::uint64_t> node;
};

/// One row for each launch of a graph that is recorded as a whole.
struct GraphLaunches {
  static constexpr const char* kName = "graphs";
  std::vector<std::int64_t> start, duration;
  std::vector<std::uint32_t> graph, correlation, stream;
  std::vector<std::uint8_t> device;
};

/// Copies, and sets, whose `from` is MemoryKind::none.
struct Copies {
  static constexpr const char* kName = "copies";
  std::vector<std::int64_t> start, duration;
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint8_t> from, to;  ///< MemoryKind
  std::vector<std::uint32_t> correlation, stream;
  std::vector<std::uint8_t> device, to_device;
  std::vector<std::uint32_t> graph;
  std::vector<std::uint64_t> node;
};
enum class MemoryKind : std::uint8_t { none, pageable, pinned, device, array, managed };

/// Calls of the program to CUDA, and its waits in them.
struct Calls {
  static constexpr const char* kName = "calls";
  std::vector<std::int64_t> start, duration;
  std::vector<std::uint32_t> function;  ///< Texts
  std::vector<std::uint8_t> kind;       ///< CallKind
  std::vector<std::uint32_t> thread, correlation, result;
};
enum class CallKind : std::uint8_t { other, launch, wait, allocation, load, copy };

/// Calls of the program to cuDNN, cuBLASLt and cuBLAS, where `capture --calls` asks for them.
struct Operations {
  static constexpr const char* kName = "operations";
  std::vector<std::uint64_t> id;
  std::vector<std::int64_t> start, duration;  ///< of the call, on the program's thread
  std::vector<std::uint32_t> thread;
  std::vector<std::uint32_t> operation;                   ///< Texts: what it computes, in its library's words
  std::vector<std::uint32_t> provider, version;           ///< Texts: the library
  std::vector<std::uint32_t> engine;                      ///< Texts: tag of the engine or algorithm, or empty
  std::vector<std::uint64_t> workspace, workspace_bytes;  ///< its address, and how large it is
  std::vector<std::uint32_t> first_correlation, last_correlation, launches;  ///< of its kernels
};

/// The kernels of calls: the first dozen of each, so that those of other threads are told apart.
struct OperationLaunches {
  static constexpr const char* kName = "operation_launches";
  std::vector<std::uint64_t> operation;  ///< Operations::id
  std::vector<std::uint32_t> correlation;
};

/// Operands lie in memory that a call reads or writes.
struct Operands {
  static constexpr const char* kName = "operands";
  std::vector<std::uint64_t> operation;  ///< Operations::id
  std::vector<std::uint32_t> name;       ///< Texts: x, w, y, as the library calls it
  std::vector<std::uint8_t> use;         ///< OperandUse
  std::vector<std::uint64_t> address;    ///< 0: not known
  std::vector<std::uint64_t> bytes;      ///< from its first to its last element; 0: not known
};
enum class OperandUse : std::uint8_t { unknown, input, output };

/// Work of the recorder and the driver beside the program's own.
struct Overheads {
  static constexpr const char* kName = "overheads";
  std::vector<std::int64_t> start, duration;
  std::vector<std::uint8_t> kind;  ///< OverheadKind
  std::vector<std::uint32_t> thread;
};
enum class OverheadKind : std::uint8_t {
  other,
  compiler,
  flush,
  instrumentation,
  resource,
  module_load,
  lazy_load,
  full_queue
};

struct Memory {
  static constexpr const char* kName = "memory";
  std::vector<std::int64_t> time;
  std::vector<std::uint8_t> kind;  ///< MemoryEvent
  std::vector<std::uint64_t> bytes, address;
  std::vector<std::uint8_t> memory, device;  ///< `memory` is a MemoryKind
};
enum class MemoryEvent : std::uint8_t { allocate, free };

/// NVTX: a range that the program named, or a mark, whose duration is 0.
struct Ranges {
  static constexpr const char* kName = "ranges";
  std::vector<std::int64_t> start, duration;
  std::vector<std::uint32_t> text, domain;  ///< Texts
  std::vector<std::uint32_t> thread;
};

/// Texts that other tables name by `id`.
struct Texts {
  static constexpr const char* kName = "texts";
  std::vector<std::uint32_t> id;
  std::vector<std::string> text;
};

/// From when to when how much was recorded. The last row is open: the stream's end is its end.
struct Windows {
  static constexpr const char* kName = "windows";
  std::vector<std::int64_t> from;
  std::vector<std::uint8_t> detail;          ///< Detail
  std::vector<std::uint8_t> between_ranges;  ///< 1: off since no range of the name that was asked for goes on
  std::vector<std::uint8_t> operations;      ///< 1: calls of libraries, too
};
enum class Detail : std::uint8_t { off, light, full };

/// How many launches the program had begun by then, of kernels and graphs. They are counted in windows
/// without recording, too: the two rates side by side are what recording costs.
struct LaunchCounts {
  static constexpr const char* kName = "launch_counts";
  std::vector<std::int64_t> time;
  std::vector<std::uint64_t> launches;
};

/// Everything that is known to be missing.
struct Losses {
  static constexpr const char* kName = "losses";
  std::vector<std::int64_t> from, to;
  std::vector<std::uint8_t> kind;    ///< LossKind
  std::vector<std::uint64_t> count;  ///< records; 0: not known
  std::vector<std::string> sentence;
};
enum class LossKind : std::uint8_t { dropped, no_buffer, no_time, taken_over, disk, not_recorded };

struct Devices {
  static constexpr const char* kName = "devices";
  std::vector<std::uint8_t> device;
  std::vector<std::string> uuid, name;
  std::vector<std::uint32_t> multiprocessors, clock_mhz;  ///< the largest clock
};

/// NVML's readings in the process that watches, for each GPU in turn.
struct Sensors {
  static constexpr const char* kName = "sensors";
  std::vector<std::int64_t> time;
  std::vector<std::uint8_t> gpu;  ///< of capture.json's list
  std::vector<std::uint32_t> clock_mhz, memory_clock_mhz, power_mw, temperature;
  std::vector<std::uint64_t> energy_mj;  ///< since the driver began; read every 100 ms, 0 in between
  std::vector<std::uint64_t> throttled_power, throttled_thermal,
      throttled_brake;  ///< ns since the driver began
  std::vector<std::uint64_t> reasons;
  std::vector<std::uint32_t> read_ns;          ///< how long the reading took
  std::vector<std::uint32_t> other_processes;  ///< with work on the GPU, as of the last second
};

/// Pairs of clocks, each second: a step of CLOCK_REALTIME shows in them.
struct Clocks {
  static constexpr const char* kName = "clocks";
  std::vector<std::int64_t> realtime, monotonic_raw;
};

// `describe` calls `column(name, vector)` for each column, in the order of the file.

#define JITTERSCOPE_COLUMNS(TYPE)                         \
  template <class Table, class Function>                  \
  requires std::same_as<std::remove_const_t<Table>, TYPE> \
  void describe(Table& t, Function&& column)

JITTERSCOPE_COLUMNS(Launches) {
  column("id", t.id);
  column("name", t.name);
  column("grid_x", t.grid_x);
  column("grid_y", t.grid_y);
  column("grid_z", t.grid_z);
  column("block_x", t.block_x);
  column("block_y", t.block_y);
  column("block_z", t.block_z);
  column("cluster_x", t.cluster_x);
  column("cluster_y", t.cluster_y);
  column("cluster_z", t.cluster_z);
  column("registers", t.registers);
  column("static_shared", t.static_shared);
  column("dynamic_shared", t.dynamic_shared);
  column("local_memory", t.local_memory);
  column("audit", t.audit);
}
JITTERSCOPE_COLUMNS(Kernels) {
  column("start", t.start);
  column("duration", t.duration);
  column("launch", t.launch);
  column("correlation", t.correlation);
  column("stream", t.stream);
  column("device", t.device);
  column("graph", t.graph);
  column("node", t.node);
}
JITTERSCOPE_COLUMNS(GraphLaunches) {
  column("start", t.start);
  column("duration", t.duration);
  column("graph", t.graph);
  column("correlation", t.correlation);
  column("stream", t.stream);
  column("device", t.device);
}
JITTERSCOPE_COLUMNS(Copies) {
  column("start", t.start);
  column("duration", t.duration);
  column("bytes", t.bytes);
  column("from", t.from);
  column("to", t.to);
  column("correlation", t.correlation);
  column("stream", t.stream);
  column("device", t.device);
  column("to_device", t.to_device);
  column("graph", t.graph);
  column("node", t.node);
}
JITTERSCOPE_COLUMNS(Calls) {
  column("start", t.start);
  column("duration", t.duration);
  column("function", t.function);
  column("kind", t.kind);
  column("thread", t.thread);
  column("correlation", t.correlation);
  column("result", t.result);
}
JITTERSCOPE_COLUMNS(Operations) {
  column("id", t.id);
  column("start", t.start);
  column("duration", t.duration);
  column("thread", t.thread);
  column("operation", t.operation);
  column("provider", t.provider);
  column("version", t.version);
  column("engine", t.engine);
  column("workspace", t.workspace);
  column("workspace_bytes", t.workspace_bytes);
  column("first_correlation", t.first_correlation);
  column("last_correlation", t.last_correlation);
  column("launches", t.launches);
}
JITTERSCOPE_COLUMNS(OperationLaunches) {
  column("operation", t.operation);
  column("correlation", t.correlation);
}
JITTERSCOPE_COLUMNS(Operands) {
  column("operation", t.operation);
  column("name", t.name);
  column("use", t.use);
  column("address", t.address);
  column("bytes", t.bytes);
}
JITTERSCOPE_COLUMNS(Overheads) {
  column("start", t.start);
  column("duration", t.duration);
  column("kind", t.kind);
  column("thread", t.thread);
}
JITTERSCOPE_COLUMNS(Memory) {
  column("time", t.time);
  column("kind", t.kind);
  column("bytes", t.bytes);
  column("address", t.address);
  column("memory", t.memory);
  column("device", t.device);
}
JITTERSCOPE_COLUMNS(Ranges) {
  column("start", t.start);
  column("duration", t.duration);
  column("text", t.text);
  column("domain", t.domain);
  column("thread", t.thread);
}
JITTERSCOPE_COLUMNS(Texts) {
  column("id", t.id);
  column("text", t.text);
}
JITTERSCOPE_COLUMNS(Windows) {
  column("from", t.from);
  column("detail", t.detail);
  column("between_ranges", t.between_ranges);
  column("operations", t.operations);
}
JITTERSCOPE_COLUMNS(LaunchCounts) {
  column("time", t.time);
  column("launches", t.launches);
}
JITTERSCOPE_COLUMNS(Losses) {
  column("from", t.from);
  column("to", t.to);
  column("kind", t.kind);
  column("count", t.count);
  column("sentence", t.sentence);
}
JITTERSCOPE_COLUMNS(Devices) {
  column("device", t.device);
  column("uuid", t.uuid);
  column("name", t.name);
  column("multiprocessors", t.multiprocessors);
  column("clock_mhz", t.clock_mhz);
}
JITTERSCOPE_COLUMNS(Sensors) {
  column("time", t.time);
  column("gpu", t.gpu);
  column("clock_mhz", t.clock_mhz);
  column("memory_clock_mhz", t.memory_clock_mhz);
  column("power_mw", t.power_mw);
  column("temperature", t.temperature);
  column("energy_mj", t.energy_mj);
  column("throttled_power", t.throttled_power);
  column("throttled_thermal", t.throttled_thermal);
  column("throttled_brake", t.throttled_brake);
  column("reasons", t.reasons);
  column("read_ns", t.read_ns);
  column("other_processes", t.other_processes);
}
JITTERSCOPE_COLUMNS(Clocks) {
  column("realtime", t.realtime);
  column("monotonic_raw", t.monotonic_raw);
}
#undef JITTERSCOPE_COLUMNS

}  // namespace jitterscope::capture
