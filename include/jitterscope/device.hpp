// Where work runs: devices, queues, marks, clock stamps and recordings. No CUDA type appears here.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/counters.hpp"
#include "jitterscope/kernel_trace.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

/// What the caches hold when a launch begins.
enum class CacheState {
  warm,      ///< operands as the last launch left them
  cold,      ///< no operand cached, other lines clean
  dirty,     ///< no operand cached, other data's modified lines everywhere (what a memset leaves)
  produced,  ///< inputs just written by another kernel, the rest dirty
};
/// What the operands hold. Zeros save power and are used only when asked for.
enum class DataKind { normal, uniform, zeros, ones, sparse };

std::string_view to_string(CacheState);
std::string_view to_string(DataKind);

class PreparedOperation;

/// An operand that lies in the memory of another operation's on the same device, or in a part of it: what one
/// call of a network writes and the next one reads.
struct SharedOperand {
  std::size_t operand = 0;                   ///< of the operation that is prepared
  const PreparedOperation* owner = nullptr;  ///< must outlive it
  std::size_t owner_operand = 0;
  Bytes offset = {};  ///< where in the owner's operand it begins
};

/// How far the rows of a matrix lie apart in memory: its leading dimension.
struct RowStride {
  std::int64_t padding = 0;   ///< elements behind each row that belong to none
  bool power_of_two = false;  ///< a row begins at each multiple of the next power of two above its length
  auto operator<=>(const RowStride&) const = default;
  /// In elements, of rows of a length.
  std::int64_t of(std::int64_t length) const {
    if (!power_of_two) return length + padding;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length) + 1));
  }
};

struct InputData {
  DataKind kind = DataKind::normal;
  std::uint64_t seed = 1;
  std::vector<SharedOperand> shared = {};  ///< the others get memory of their own
  /// Operands lie in blocks of the device's memory drawn by this number, and can be placed anew.
  /// Nothing: where the driver puts them. A device whose memory is given out by others ignores it.
  std::optional<std::uint64_t> placement = {};
  /// Drawn weights are scaled so that what passes through many layers keeps its size: of N(0, 1) it would
  /// grow by the root of fan_in in each, and overflow f16 after a few.
  bool scaled_weights = false;
  /// Operands with memory of their own begin so many bytes behind where they would: a multiple of
  /// PreparedOperation::operand_alignment. A device whose memory is given out by others ignores it.
  Bytes offset = {};
  /// Of matrices; packed unless it is given. Only where PreparedOperation::has_row_strides.
  RowStride rows = {};
  /// Operands with memory of their own are put together of pieces of so many pages, from all over a heap of
  /// which the pieces between are in use; 0: each lies in one stretch, as from a heap that is not fragmented.
  /// Only where PreparedOperation::lies_in_pages.
  std::int64_t heap_piece = 0;
};

/// A device's own handle of a queue: a CUstream on CUDA, null on the CPU.
using NativeQueue = void*;
/// A device's own handle of recorded work: a CUgraph on CUDA.
using NativeGraph = void*;

/// A stretch of memory that a workload reads or writes (a device address on CUDA).
struct MemoryRegion {
  void* address = nullptr;
  Bytes size;
};

/// Work that the measuring loop launches over and over.
class Workload {
 public:
  virtual ~Workload() = default;
  /// One launch. On CUDA it enqueues on the stream and returns; on the CPU it runs to the end.
  virtual void run(NativeQueue queue) = 0;
  /// As many launches in a row. For work that costs something to call, as a function of another language
  /// does.
  virtual void run_in_a_row(NativeQueue queue, std::int64_t launches) {
    for (std::int64_t i = 0; i < launches; ++i) run(queue);
  }
  /// Whether run() is known to wait for its queue (a copy from pageable memory does): behind a closed gate
  /// that would last until the gate gives up, so a queue opens its gate before it launches such work.
  virtual bool waits_for_queue() const { return false; }
  /// The number of launches so far, where one may differ from the next (a program's function). Nothing where
  /// all are alike, as an operation's are.
  virtual std::optional<std::int64_t> calls() const { return std::nullopt; }
  /// Called before a recording of it begins, while the queue is open.
  virtual void prepare_recording(NativeQueue) {}
  /// One launch as whoever owns its memory recorded it (PyTorch's allocator must know of a recording); it
  /// stays while the workload lives. Recordings hold it in place of run(). Null where there is none.
  virtual NativeGraph graph() const { return nullptr; }
  /// Told why it could not be recorded, where its launches are timed one by one in place of that.
  virtual void not_recorded(std::string_view) {}
  /// Writes every input anew with the values it has, by another kernel (CacheState::produced).
  /// Returns false where the workload cannot do that.
  virtual bool produce_inputs(NativeQueue) { return false; }
  /// What the workload touches; empty where unknown.
  virtual std::vector<MemoryRegion> memory() const { return {}; }
  /// Moves the operands to other memory of the device, with what they hold; their addresses stay, so that
  /// recordings hold. Waits for the device. False where the workload cannot do that.
  virtual bool place_anew() { return false; }
};

/// What an allocator took of its device for one launch, begun with nothing.
struct HeldMemory {
  Bytes asked;                        ///< most that was in use at once
  Bytes held;                         ///< most that the device gave for it
  std::optional<Bytes> largest_free;  ///< of the unused blocks when most was held; nothing where unknown
};

/// An operation with operands allocated and filled, its algorithm chosen, ready to launch.
class PreparedOperation : public Workload {
 public:
  virtual const Operation& operation() const = 0;
  virtual std::string provider() const = 0;   ///< onednn, cudnn, cublaslt, builtin, virtual
  virtual std::string algorithm() const = 0;  ///< the provider's name of what it chose; may be empty
  virtual Bytes workspace() const { return Bytes(0); }
  virtual bool is_stand_in() const { return false; }  ///< our own kernel in place of PyTorch's
  /// Its outputs come from the loops of the float64 reference, if in another type: comparing the two shows
  /// what rounding does and whether all was written, but not whether the formula is right.
  virtual bool runs_reference_loops() const { return false; }
  /// Once launches are done: throws FailedError where they wrote what is none of the operands, as far as that
  /// can be seen.
  virtual void check_launches() {}
  /// Operands may begin at any multiple of it (InputData::offset); nothing where they cannot be moved by
  /// bytes.
  virtual std::optional<Bytes> operand_alignment() const { return std::nullopt; }
  /// Whether InputData::rows may move the rows of its matrices apart.
  virtual bool has_row_strides() const { return false; }
  /// Whether its operands are given the memory that InputData::heap_piece asks for. On a simulated device
  /// that changes nothing.
  virtual bool lies_in_pages() const { return false; }
  /// Of operations that allocate in each launch.
  virtual std::optional<HeldMemory> held_memory() const { return std::nullopt; }
  /// Fills the outputs with NaN bit patterns, so that elements never written are found.
  virtual void poison_outputs() = 0;
  /// Operand `index` of operation().operands(), in its dense order, as double. Waits for the device.
  virtual std::vector<double> read_operand(std::size_t index) = 0;
};

/// A point in queue order whose time can be read once the queue has passed it.
struct Mark {
  std::uint32_t slot = 0;
};
/// A point in queue order where the device's cycle counter and clock were read together.
struct ClockStamp {
  std::uint32_t slot = 0;
};
struct ClockReading {
  Hertz frequency;
  Nanoseconds window;  ///< between the two stamps
};

/// Work recorded once and replayed as one unit (a CUDA graph).
class Recording {
 public:
  virtual ~Recording() = default;
};

/// Where memory comes from that is needed for a moment.
enum class MemorySource {
  driver,  ///< asked for and given back at once (cuMemAlloc), which waits for the device
  pool,    ///< in queue order, of what was given back before (cuMemAllocAsync)
};
/// Given back when it is destroyed, before its queue.
class TemporaryMemory {
 public:
  virtual ~TemporaryMemory() = default;
};

/// An ordered line of work. Not thread-safe. Failures of the device are thrown as FailedError,
/// by the call that notices them.
class Queue {
 public:
  /// Marks and stamps live in rings: a slot is reused after this many further ones.
  static constexpr std::uint32_t kRingSize = 4096;

  virtual ~Queue() = default;
  /// Later work waits until open_gate. The gate opens by itself after a time limit of at least 5 s;
  /// the next wait() then throws GateTimeoutError.
  virtual void close_gate() = 0;
  /// Another time limit for the closings from now on, zero for the usual one. False where the device's queue
  /// holds any number of launches, so that no closing ever lasts.
  virtual bool limit_gate(Nanoseconds) { return false; }
  virtual void open_gate() noexcept = 0;  ///< harmless when the gate is open
  virtual void launch(Workload& workload) = 0;
  /// So many, with nothing between them. A queue that runs them itself calls Workload::run_in_a_row.
  virtual void launch_in_a_row(Workload& workload, std::int64_t launches) {
    for (std::int64_t i = 0; i < launches; ++i) launch(workload);
  }
  virtual Mark mark() = 0;
  virtual ClockStamp stamp_clock() = 0;
  /// Puts the caches in a state, in queue order. Throws UsageError where the workload cannot.
  virtual void set_cache(CacheState state, Workload& workload) = 0;
  virtual std::unique_ptr<Recording> record(const std::function<void(Queue&)>& work) = 0;
  virtual void replay(Recording& recording) = 0;
  virtual void wait() = 0;          ///< until all work so far is done
  virtual void wait_for(Mark) = 0;  ///< until the queue has passed the mark
  /// As wait(), but the thread sleeps until the device's interrupt wakes it. Where
  /// DeviceCapabilities::waits_can_sleep is false it is wait().
  virtual void wait_asleep() { wait(); }
  /// Whether the queue has passed the mark; a queue that cannot tell at once waits for it.
  virtual bool has_passed(Mark mark) {
    wait_for(mark);
    return true;
  }
  /// Null where DeviceCapabilities::allocates_memory is false.
  virtual std::unique_ptr<TemporaryMemory> allocate(Bytes, MemorySource) { return nullptr; }
  /// Between two passed marks.
  virtual Nanoseconds elapsed(Mark from, Mark to) = 0;
  /// Clock between two passed stamps; nothing where the device cannot tell.
  virtual std::optional<ClockReading> clock_between(ClockStamp from, ClockStamp to) = 0;
  virtual NativeQueue native() = 0;
};

/// One reading of a device's sensors; what it does not have is absent.
struct SensorReading {
  std::optional<Hertz> sm_clock, memory_clock;
  std::optional<Watts> power;
  std::optional<Celsius> temperature;
  std::optional<Joules> energy;  ///< cumulative; on a GPU each 100 ms, as reading it takes milliseconds
  /// Cumulative time that the clock was held down, by cause.
  std::optional<Nanoseconds> throttled_power, throttled_thermal, throttled_brake;
  /// Names of the reasons that hold the clock now: idle, power_cap, thermal, hardware, sync_boost…
  std::vector<std::string> clock_reasons;
};

struct Property {
  std::string key;  ///< snake_case
  std::string value;
  bool operator==(const Property&) const = default;
};

/// A shared library that was looked for.
struct LibraryInfo {
  std::string name;     ///< cudnn, cublaslt, cupti, nvml, onednn
  std::string version;  ///< empty where it was not found
  std::string path;
  std::string problem;  ///< empty, or why it was not found or is not usable
};

/// What a device can do, and how it differs from others. Who asks for these needs no device's name. The
/// defaults are those of a GPU.
struct DeviceCapabilities {
  bool is_host = false;       ///< the machine's own processors, shared with its other programs: `auto` falls
                              ///< back to them
  bool is_simulated = false;  ///< runs in virtual time, and none of a caller's code
  bool launches_return_early = true;  ///< before their work is done
  bool launches_have_blocks = true;   ///< which spread one launch over the processors
  bool chains_have_streams = true;    ///< a Chain may ask for streams, waits, a priority and a load
  bool marks_on_device = true;        ///< read by a timer of its own, in queue order; else by the host's
  bool traces_kernels = true;         ///< trace_kernels does not throw for want of kernels
  bool owns_last_level_cache = true;  ///< else other programs fill it too
  bool copies_depend_on_data = true;  ///< in power, and so in time
  bool waits_can_sleep = true;        ///< Queue::wait_asleep is another way to wait than wait
  bool allocates_memory = true;       ///< Queue::allocate does
  bool runs_queues_beside = true;     ///< Device::make_companion_queue makes one
  bool operator_outputs_stay = true;  ///< an operator of PyTorch writes to the same addresses at each launch
  Layout fast_layout = Layout::nhwc;  ///< of a convolution
  std::string pytorch_device = "cuda";  ///< PyTorch's word for what runs the same there
  /// Between which and the device it copies, and what gives its memory; what runs there, not part of a
  /// record.
  std::vector<HostMemory> host_memories = {HostMemory::pinned, HostMemory::pageable, HostMemory::registered,
                                           HostMemory::registered_anew, HostMemory::mapped};
  /// NUMA nodes that the host's side of a copy may lie on.
  std::vector<int> memory_nodes = {0};
  std::vector<Allocator> allocators = {Allocator::malloc, Allocator::pool,       Allocator::pool_kept,
                                       Allocator::cache,  Allocator::expandable, Allocator::preallocated};
  /// Why it cannot run the steps of a chain as one launch; empty where it can. Null: it fuses nothing.
  std::string (*reason_not_fusible)(const Chain&) = nullptr;
};

/// Sizes that keep all of a device busy, far from its caches, and are soon done.
struct LargeWork {
  Bytes copy = Bytes(1 << 30);
  std::int64_t product = 8192;         ///< m = n = k
  DataType slow_type = DataType::f32;  ///< no unit of its own multiplies it
  std::int64_t product_in_slow_type = 4096;
};

struct DeviceDescription {
  std::string id;      ///< cpu, cuda:0, virtual:h200; open_device takes it
  std::string name;    ///< NVIDIA H200
  std::string uuid;    ///< empty where there is none
  int processors = 0;  ///< SMs, or CPU cores that may be used
  Bytes memory_total, memory_free;
  Bytes last_level_cache;
  std::optional<Hertz> maximum_clock;
  std::optional<Watts> power_limit;
  std::optional<Celsius> slowdown_temperature;  ///< above it heat lowers the clock
  std::vector<DataType> data_types;
  std::vector<DataType> further_types;  ///< for all but products (conv2d, matmul, linear)
  DeviceCapabilities capabilities;
  LargeWork large_work;
  std::vector<LibraryInfo> libraries;
  std::vector<Property> properties;  ///< driver, ecc, mig, persistence, governor, …
};

/// One line of `doctor`.
struct Check {
  enum class Status { good, limits, missing };
  std::string subject;
  Status status = Status::good;
  std::string sentence;
  std::string remedy;  ///< empty where nothing is to be done
};

/// One of the ways in which a provider can run an operation.
struct EngineListing {
  enum class Source {
    heuristic,  ///< the provider's first proposals, in its order: PyTorch takes the first that runs
    fallback,   ///< what PyTorch tries after them
    other,      ///< what PyTorch does not try
  };
  std::string tag;  ///< what Conv2d::engine and Matmul::engine take
  Bytes workspace;
  Source source = Source::heuristic;
  std::string notes;  ///< "tensor core, nondeterministic"; may be empty
};

/// Holds the clock at one frequency while it lives; restores on destruction, and on a crash.
class ClockLock {
 public:
  virtual ~ClockLock() = default;
  virtual Hertz frequency() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceDescription describe() = 0;
  /// Throws UsageError where the device lacks the data type or layout, or the operands do not fit
  /// (said before allocating), MissingError where a library is not there.
  virtual std::unique_ptr<PreparedOperation> prepare(const Operation&, const InputData&) = 0;
  /// All engines that can run an operation, in the order in which PyTorch would try them with benchmark on; a
  /// tag may appear twice. Empty where the device has nothing to choose from: it then ignores an engine that
  /// an operation names.
  virtual std::vector<EngineListing> list_engines(const Operation&) { return {}; }
  /// May be called again: each queue has gate, marks and stamps of its own. One is enough to measure with. On
  /// CUDA all share one stream, as work on a second stream makes recordings slower (docs/method.md).
  virtual std::unique_ptr<Queue> make_queue() = 0;
  /// A queue on a stream of the caller's (a CUstream on CUDA, PyTorch's current one too; null on the CPU,
  /// which has none). The stream must outlive the queue, which waits for it at its end and does not destroy
  /// it. Throws UsageError where the stream is not this device's.
  virtual std::unique_ptr<Queue> adopt_queue(NativeQueue stream) = 0;
  /// A queue whose work runs beside that of all others. Null where DeviceCapabilities::runs_queues_beside is
  /// false. On CUDA it has a stream of its own, so that recordings are slower from its first launches on,
  /// until the process ends: whoever uses it has made all other comparisons before.
  virtual std::unique_ptr<Queue> make_companion_queue() { return nullptr; }
  /// Until all that this process has put on the device is done, on whichever stream.
  virtual void wait_for_all() {}
  virtual SensorReading read_sensors() = 0;
  /// Other processes that use the device now, as "pid name"; nothing where that cannot be known.
  virtual std::optional<std::vector<std::string>> other_processes() { return std::nullopt; }
  virtual std::vector<Check> check() = 0;
  /// "base", "max" or MHz. Throws UsageError without the right or where there is no such clock.
  virtual std::unique_ptr<ClockLock> lock_clocks(std::string_view request) = 0;

  /// Throws MissingError where the device cannot be traced, with the reason.
  virtual std::unique_ptr<KernelTracer> trace_kernels() = 0;

  /// What can be counted of a launch, the default set first. Throws MissingError where that is nothing, or
  /// cannot be known.
  virtual std::vector<Counter> list_counters();
  /// Throws UsageError that names the nearest where a name is none of them. A device that cannot know yet
  /// lets it pass. Leaves alone what times depend on.
  virtual void check_counters(const std::vector<std::string>& names);
  /// Those of these names; the default set where none is named. No kernels may be traced meanwhile. Throws
  /// UsageError as check_counters does, MissingError where the device has no counters or does not let this
  /// user read them, FailedError where another program holds them.
  virtual std::unique_ptr<CounterReader> count(const std::vector<std::string>& names);

  /// The host's clock. A simulated device has its own, so the measuring loop uses only these three.
  virtual Nanoseconds host_time() = 0;
  /// The host sleeps.
  virtual void idle(Nanoseconds) = 0;
  /// The device rests as in idle(), and the host keeps its core busy, so that it is as fast afterwards as in
  /// a program that does not sleep. By default idle().
  virtual void idle_awake(Nanoseconds time) { idle(time); }
};

/// Opens `auto`, `cpu`, `cuda`, `cuda:N`, or a simulated GPU: `virtual`, `virtual:PRESET` or
/// `virtual:FILE.toml`, each with `,without=MECHANISM+MECHANISM` if wanted. `auto` is never a simulated one.
/// The seed is that of a simulated GPU's random streams. Throws UsageError for a name that is not one,
/// MissingError where the device is not there, with the reason.
std::unique_ptr<Device> open_device(std::string_view name, std::uint64_t seed = 1);

struct DeviceListing {
  std::string id, name;
  std::string problem;  ///< empty, or why it cannot be used
};
std::vector<DeviceListing> list_devices();

}  // namespace jitterscope
