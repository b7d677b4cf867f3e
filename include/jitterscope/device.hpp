// The interface of devices: queues, marks, clock stamps, recordings, sensors. No CUDA type appears here.
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

/// State of the caches when a launch begins.
enum class CacheState {
  warm,      ///< operands as the last launch left them
  cold,      ///< no operand cached, other lines clean
  dirty,     ///< no operand cached, modified lines of other data everywhere (as after a memset)
  produced,  ///< inputs just written by another kernel, the rest dirty
};
/// Values of the operands. Zeros save power, so they are used only when asked for.
enum class DataKind { normal, uniform, zeros, ones, sparse };

std::string_view to_string(CacheState);
std::string_view to_string(DataKind);

class PreparedOperation;

/// An operand that shares memory with (a part of) another operation's operand on the same device: data that
/// one call of a network writes and the next one reads.
struct SharedOperand {
  std::size_t operand = 0;                   ///< index in the operation that is prepared
  const PreparedOperation* owner = nullptr;  ///< must outlive that operation
  std::size_t owner_operand = 0;
  Bytes offset = {};  ///< where it begins in the owner's operand
};

/// Distance between the rows of a matrix in memory: its leading dimension.
struct RowStride {
  std::int64_t padding = 0;   ///< unused elements after each row
  bool power_of_two = false;  ///< rows begin at multiples of the next power of two above their length
  auto operator<=>(const RowStride&) const = default;
  /// Returns the distance in elements for rows of the given length.
  std::int64_t of(std::int64_t length) const {
    if (!power_of_two) return length + padding;
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length) + 1));
  }
};

struct InputData {
  DataKind kind = DataKind::normal;
  std::uint64_t seed = 1;
  std::vector<SharedOperand> shared = {};  ///< the other operands get memory of their own
  /// Seed for the blocks of device memory that operands lie in; they can then be moved (place_anew). Empty:
  /// the driver places them. A device whose memory is managed by others ignores it.
  std::optional<std::uint64_t> placement = {};
  /// Scales drawn weights so that values keep their size through many layers. With weights from N(0, 1) they
  /// grow by the square root of fan_in in each layer and overflow f16 after a few.
  bool scaled_weights = false;
  /// Operands with memory of their own begin this many bytes later: a multiple of
  /// PreparedOperation::operand_alignment. A device whose memory is managed by others ignores it.
  Bytes offset = {};
  /// Leading dimension of matrices. Only if PreparedOperation::has_row_strides.
  RowStride rows = {};
  /// Operands with memory of their own are put together from pieces of this many pages, scattered over a heap
  /// whose other pieces are in use. 0: each lies in one stretch, as from a heap that is not fragmented. Only
  /// if PreparedOperation::lies_in_pages.
  std::int64_t heap_piece = 0;
};

/// A device's native handle of a queue: a CUstream on CUDA, null on the CPU.
using NativeQueue = void*;
/// A device's native handle of recorded work: a CUgraph on CUDA.
using NativeGraph = void*;

/// A range of memory that a workload reads or writes (a device address on CUDA).
struct MemoryRegion {
  void* address = nullptr;
  Bytes size;
};

/// Work that the measuring loop launches repeatedly.
class Workload {
 public:
  virtual ~Workload() = default;
  /// Launches once. On CUDA it enqueues on the stream and returns; on the CPU it runs to the end.
  virtual void run(NativeQueue queue) = 0;
  /// Launches several times in a row. Override it if a call is expensive, as a function of another language
  /// is.
  virtual void run_in_a_row(NativeQueue queue, std::int64_t launches) {
    for (std::int64_t i = 0; i < launches; ++i) run(queue);
  }
  /// True if run() is known to wait for its queue (a copy from pageable memory does). In a held queue that
  /// would last until the hold times out, so a queue releases its hold before it launches such work.
  virtual bool waits_for_queue() const { return false; }
  /// Returns the number of launches so far if launches may differ (a program's function); nullopt if all are
  /// alike, as an operation's are.
  virtual std::optional<std::int64_t> calls() const { return std::nullopt; }
  /// Called before a recording of this work begins, while the queue is not held.
  virtual void prepare_recording(NativeQueue) {}
  /// Returns a recording of one launch by the owner of its memory (PyTorch's allocator must know of it),
  /// valid while the workload lives; null if there is none. Recordings contain it in place of run().
  virtual NativeGraph graph() const { return nullptr; }
  /// Called with the reason if recording failed and launches are timed one by one instead.
  virtual void not_recorded(std::string_view) {}
  /// Writes every input again with the values it has, by another kernel (CacheState::produced). Returns false
  /// if the workload cannot do that.
  virtual bool produce_inputs(NativeQueue) { return false; }
  /// Returns the memory that the workload touches; empty if unknown.
  virtual std::vector<MemoryRegion> memory() const { return {}; }
  /// Moves the operands and their content to other memory of the device. Addresses stay, so recordings remain
  /// valid. Waits for the device. Returns false if the workload cannot do that.
  virtual bool place_anew() { return false; }
};

/// A rank of a collective, and what it takes to know the inputs of all.
struct RankData {
  std::int64_t rank = 0;
  DataKind kind = DataKind::normal;
  std::uint64_t seed = 1;
};

/// Memory that an allocator took from its device for one launch, beginning with none.
struct HeldMemory {
  Bytes asked;                        ///< peak of the memory in use
  Bytes held;                         ///< peak of the memory taken from the device
  std::optional<Bytes> largest_free;  ///< largest unused block at the peak of `held`; nullopt if unknown
};

/// An operation ready to launch: operands allocated and filled, algorithm chosen.
class PreparedOperation : public Workload {
 public:
  virtual const Operation& operation() const = 0;
  virtual std::string provider() const = 0;   ///< onednn, cudnn, cublaslt, builtin, virtual
  virtual std::string algorithm() const = 0;  ///< the provider's name for its choice; may be empty
  virtual Bytes workspace() const { return Bytes(0); }
  virtual bool is_stand_in() const { return false; }  ///< our own kernel instead of PyTorch's
  /// True if its outputs come from the loops of the float64 reference, perhaps in another type. A comparison
  /// then shows rounding and unwritten elements, but not a wrong formula.
  virtual bool runs_reference_loops() const { return false; }
  /// Called after launches: throws FailedError if they wrote outside of the operands, as far as that can be
  /// detected.
  virtual void check_launches() {}
  /// Operands may begin at any multiple of this (InputData::offset); nullopt if they cannot be moved by
  /// bytes.
  virtual std::optional<Bytes> operand_alignment() const { return std::nullopt; }
  /// True if InputData::rows may change its matrices' leading dimension.
  virtual bool has_row_strides() const { return false; }
  /// True if its operands get the memory that InputData::heap_piece asks for. It has no effect on a simulated
  /// device.
  virtual bool lies_in_pages() const { return false; }
  /// Returns a value for operations that allocate in each launch.
  virtual std::optional<HeldMemory> held_memory() const { return std::nullopt; }
  /// Returns a value for collectives alone.
  virtual std::optional<RankData> rank_data() const { return std::nullopt; }
  /// Fills the outputs with NaN bit patterns, so that unwritten elements are found. A collective in place
  /// gets its input anew, and the pattern elsewhere.
  virtual void poison_outputs() = 0;
  /// Returns operand `index` of operation().operands() in its dense order, as double. Waits for the device.
  virtual std::vector<double> read_operand(std::size_t index) = 0;
};

/// A point in queue order whose time can be read once the queue has passed it.
struct Mark {
  std::uint32_t slot = 0;
};
/// A point in queue order at which the device's cycle counter and clock are read together.
struct ClockStamp {
  std::uint32_t slot = 0;
};
struct ClockReading {
  Hertz frequency;
  Nanoseconds window;  ///< time between the two stamps
};

/// Work recorded once and replayed as one unit (a CUDA graph).
class Recording {
 public:
  virtual ~Recording() = default;
};

/// Source of temporary memory.
enum class MemorySource {
  driver,  ///< allocated and freed at once (cuMemAlloc), which waits for the device
  pool,    ///< in queue order, from memory freed before (cuMemAllocAsync)
};
/// Temporary memory, freed on destruction; must be destroyed before its queue.
class TemporaryMemory {
 public:
  virtual ~TemporaryMemory() = default;
};

/// Work in order on a device. Not thread-safe. Failures of the device are thrown as FailedError by the call
/// that notices them.
class Queue {
 public:
  /// Marks and stamps are kept in rings: a slot is reused after this many further ones.
  static constexpr std::uint32_t kRingSize = 4096;

  virtual ~Queue() = default;
  /// Holds the queue: later work waits until release. The hold ends by itself after at least 5 s; the next
  /// wait() then throws HoldTimeoutError.
  virtual void hold() = 0;
  /// Sets the time limit of later holds; zero restores the usual one. Returns false if the queue takes any
  /// number of launches, so that no hold lasts.
  virtual bool limit_hold(Nanoseconds) { return false; }
  virtual void release() noexcept = 0;  ///< releases the hold; harmless if there is none
  virtual void launch(Workload& workload) = 0;
  /// Launches several times with nothing in between. If the queue runs them itself: Workload::run_in_a_row.
  virtual void launch_in_a_row(Workload& workload, std::int64_t launches) {
    for (std::int64_t i = 0; i < launches; ++i) launch(workload);
  }
  virtual Mark mark() = 0;
  virtual ClockStamp stamp_clock() = 0;
  /// Brings the caches into a state, in queue order. Throws UsageError if the workload cannot do that.
  virtual void set_cache(CacheState state, Workload& workload) = 0;
  virtual std::unique_ptr<Recording> record(const std::function<void(Queue&)>& work) = 0;
  virtual void replay(Recording& recording) = 0;
  virtual void wait() = 0;          ///< until all work so far is done
  virtual void wait_for(Mark) = 0;  ///< until the queue has passed the mark
  /// Like wait(), but the thread sleeps until the device's interrupt wakes it. The same as wait() if
  /// DeviceCapabilities::waits_can_sleep is false.
  virtual void wait_asleep() { wait(); }
  /// True if the queue has passed the mark; a queue that cannot tell at once waits for it.
  virtual bool has_passed(Mark mark) {
    wait_for(mark);
    return true;
  }
  /// Returns null if DeviceCapabilities::allocates_memory is false.
  virtual std::unique_ptr<TemporaryMemory> allocate(Bytes, MemorySource) { return nullptr; }
  /// Time between two passed marks.
  virtual Nanoseconds elapsed(Mark from, Mark to) = 0;
  /// Part of the time between two passed marks in which other programs had the core of a queue that runs in
  /// the calling thread. nullopt if the device cannot tell it, or if the work waited for something itself.
  virtual std::optional<Nanoseconds> taken_by_others(Mark, Mark) { return std::nullopt; }
  /// Clock between two passed stamps; nullopt if the device cannot tell.
  virtual std::optional<ClockReading> clock_between(ClockStamp from, ClockStamp to) = 0;
  virtual NativeQueue native() = 0;
};

/// One reading of a device's sensors; values that the device lacks are empty.
struct SensorReading {
  std::optional<Hertz> sm_clock, memory_clock;
  std::optional<Watts> power;
  std::optional<Celsius> temperature;
  std::optional<Joules> energy;  ///< cumulative; on a GPU read each 100 ms, since reading takes milliseconds
  /// Cumulative time in which the clock was held down, by cause.
  std::optional<Nanoseconds> throttled_power, throttled_thermal, throttled_brake;
  /// Names of the reasons that limit the clock now: idle, power_cap, thermal, hardware, sync_boost…
  std::vector<std::string> clock_reasons;
};

struct Property {
  std::string key;  ///< snake_case
  std::string value;
  bool operator==(const Property&) const = default;
};

/// A shared library and whether it was found.
struct LibraryInfo {
  std::string name;     ///< cudnn, cublaslt, cupti, nccl, nvml, onednn
  std::string version;  ///< empty if it was not found
  std::string path;
  std::string problem;  ///< why it was not found or is unusable; empty if it is usable
};

/// Abilities and differences of a device. Code asks for these, never for a device's name. Defaults are a
/// GPU's.
struct DeviceCapabilities {
  bool is_host = false;       ///< the host's processors, shared with other programs; `auto` falls back to it
  bool is_simulated = false;  ///< runs in virtual time and cannot run a caller's code
  bool launches_return_early = true;  ///< before their work is done
  bool launches_have_blocks = true;   ///< blocks spread one launch over the processors
  bool chains_have_streams = true;    ///< a Chain may ask for streams, waits, a priority and a load
  bool marks_on_device = true;        ///< read by the device's timer, in queue order; else by the host's
  bool traces_kernels = true;         ///< trace_kernels does not throw for lack of kernels
  bool owns_last_level_cache = true;  ///< else other programs fill it, too
  bool copies_depend_on_data = true;  ///< in power, and so in time
  bool waits_can_sleep = true;        ///< Queue::wait_asleep differs from wait
  bool allocates_memory = true;       ///< Queue::allocate returns memory
  bool runs_queues_beside = true;     ///< Device::make_companion_queue returns a queue
  bool has_collectives = true;        ///< Device::join works
  bool operator_outputs_stay = true;  ///< an operator of PyTorch writes to the same addresses at each launch
  Layout fast_layout = Layout::nhwc;  ///< faster layout for convolutions
  std::string pytorch_device = "cuda";  ///< PyTorch's name of a device that runs the same
  /// Kinds of host memory that it copies to and from, and allocators that it has; empty: none. Not in
  /// records.
  std::vector<HostMemory> host_memories = {HostMemory::pinned, HostMemory::pageable, HostMemory::registered,
                                           HostMemory::registered_anew, HostMemory::mapped};
  /// NUMA nodes on which the host side of a copy may lie.
  std::vector<int> memory_nodes = {0};
  std::vector<Allocator> allocators = {Allocator::malloc, Allocator::pool,       Allocator::pool_kept,
                                       Allocator::cache,  Allocator::expandable, Allocator::preallocated};
  /// Returns why it cannot run the steps of a chain as one launch; empty if it can. Null: it fuses nothing.
  std::string (*reason_not_fusible)(const Chain&) = nullptr;
};

/// Sizes that keep the whole device busy, far exceed its caches, and are done soon.
struct LargeWork {
  Bytes copy = Bytes(1 << 30);
  std::int64_t product = 8192;         ///< m = n = k
  DataType slow_type = DataType::f32;  ///< a type without a matrix unit of its own
  std::int64_t product_in_slow_type = 4096;
};

struct DeviceDescription {
  std::string id;      ///< cpu, cuda:0, virtual:h200; open_device takes it
  std::string name;    ///< NVIDIA H200
  std::string uuid;    ///< empty if there is none
  int processors = 0;  ///< SMs, or usable CPU cores
  Bytes memory_total, memory_free;
  Bytes last_level_cache;
  std::optional<Hertz> maximum_clock;
  std::optional<Watts> power_limit;
  std::optional<Celsius> slowdown_temperature;  ///< above it, heat lowers the clock
  std::vector<DataType> data_types;
  std::vector<DataType> further_types;  ///< supported except in products (conv2d, matmul, linear)
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
  std::string remedy;  ///< empty if there is nothing to do
};

/// One way in which a provider can run an operation.
struct EngineListing {
  enum class Source {
    heuristic,  ///< the provider's first proposals, in its order: PyTorch takes the first that runs
    fallback,   ///< tried by PyTorch after them
    other,      ///< not tried by PyTorch
  };
  std::string tag;  ///< value for Conv2d::engine and Matmul::engine
  Bytes workspace;
  Source source = Source::heuristic;
  std::string notes;  ///< "tensor core, nondeterministic"; may be empty
};

/// Locks the clock at one frequency while it exists. The clock is restored on destruction, and after a crash.
class ClockLock {
 public:
  virtual ~ClockLock() = default;
  virtual Hertz frequency() const = 0;
};

/// The processes of a collective, one for each device. All call the same functions in the same order.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;   ///< this process's number, from 0
  virtual int count() const = 0;  ///< how many there are
  /// Gives a short text to all others and returns all texts, by rank. Waits until each has called it.
  virtual std::vector<std::string> exchange(const std::string& own) = 0;
};

/// A second stream beside a queue, for parts of a workload that run beside the rest of its launch. Parts are
/// numbered from 0 in each launch, begin one after the other, and are joined before the launch is complete.
class SideStream {
 public:
  virtual ~SideStream() = default;
  /// Returns where to launch a part. It begins once all that `queue` holds by now has ended, and the part
  /// before it.
  virtual NativeQueue begin(NativeQueue queue, std::size_t part) = 0;
  /// The part has been launched.
  virtual void end(NativeQueue queue, std::size_t part) = 0;
  /// Makes `queue` wait for the part's end before it begins later work.
  virtual void join(NativeQueue queue, std::size_t part) = 0;
};

enum class PeerCopyBy { copy_engine, kernel };

/// A buffer of each rank, which the devices of all ranks reach over their links. Copies
/// must be destroyed before it. Ranks meet (Ranks::exchange) after the last copy and before it is destroyed.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  /// Returns work that copies another rank's whole buffer to this one's. Both ways: half of it, while the
  /// other rank does the same from this one's. Throws UsageError if `peer` is no other rank.
  virtual std::unique_ptr<Workload> copy_from(int peer, PeerCopyBy by, bool both_ways) = 0;
  /// Returns in few words over what the peer is reached ("NV18"); empty if that is not known.
  virtual std::string way_to(int) const { return {}; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceDescription describe() = 0;
  /// Throws UsageError if the device lacks the data type or layout, or if the operands do not fit (checked
  /// before allocating); MissingError if a library is not available.
  virtual std::unique_ptr<PreparedOperation> prepare(const Operation&, const InputData&) = 0;
  /// After it collectives can be prepared, with the operation's `ranks` filled in; all ranks prepare and
  /// launch the same ones in the same order. `ranks` must outlive the device, and waits for the others.
  /// Throws UsageError if the device has no collectives, or if two ranks have the same device.
  virtual void join(Ranks& ranks);
  /// Opens a buffer of `size`, a multiple of 32 bytes, to all ranks; waits for the others. Throws UsageError
  /// on every rank if one cannot: it has no links, or its memory cannot be reached.
  virtual std::unique_ptr<PeerMemory> open_to_peers(Ranks& ranks, Bytes size);
  /// Returns a stream for so many parts in each launch. Throws UsageError if the device has no streams.
  virtual std::unique_ptr<SideStream> make_side_stream(std::size_t parts);
  /// Returns all engines that can run an operation, in the order in which PyTorch would try them with
  /// benchmark on; a tag may appear twice. Empty if the device has no choice: it then ignores an operation's
  /// engine.
  virtual std::vector<EngineListing> list_engines(const Operation&) { return {}; }
  /// May be called again: each queue has its own hold, marks and stamps. One is enough to measure with. On
  /// CUDA all share one stream, because work on a second stream makes recordings slower (docs/method.md).
  virtual std::unique_ptr<Queue> make_queue() = 0;
  /// Makes a queue on the caller's stream (a CUstream on CUDA, such as PyTorch's current one; null on the
  /// CPU). The stream must outlive the queue, which waits for it at the end and does not destroy it. Throws
  /// UsageError if the stream is not this device's.
  virtual std::unique_ptr<Queue> adopt_queue(NativeQueue stream) = 0;
  /// Makes a queue whose work runs beside that of all others; null if DeviceCapabilities::runs_queues_beside
  /// is false. On CUDA it has its own stream, so recordings are slower from its first launches until the
  /// process ends: make all other comparisons before.
  virtual std::unique_ptr<Queue> make_companion_queue() { return nullptr; }
  /// Waits until all work of this process on the device is done, on all streams.
  virtual void wait_for_all() {}
  virtual SensorReading read_sensors() = 0;
  /// Returns other processes that use the device now, as "pid name"; nullopt if that cannot be known.
  virtual std::optional<std::vector<std::string>> other_processes() { return std::nullopt; }
  virtual std::vector<Check> check() = 0;
  /// Takes "base", "max" or MHz. Throws UsageError without the permission or if there is no such clock.
  virtual std::unique_ptr<ClockLock> lock_clocks(std::string_view request) = 0;

  /// Throws MissingError with the reason if the device cannot be traced.
  virtual std::unique_ptr<KernelTracer> trace_kernels() = 0;

  /// Returns the counters that the device offers, the default set first. Throws MissingError if there are
  /// none, or if that cannot be known.
  virtual std::vector<Counter> list_counters();
  /// Throws UsageError that names the nearest counter if a name is unknown. A device that cannot know yet
  /// accepts it. Does not affect times.
  virtual void check_counters(const std::vector<std::string>& names);
  /// Prepares these counters, or the default set if `names` is empty. No kernels may be traced meanwhile.
  /// Throws UsageError like check_counters; MissingError if the device has no counters or does not let this
  /// user read them; FailedError if another program holds them.
  virtual std::unique_ptr<CounterReader> count(const std::vector<std::string>& names);

  /// The host's clock. A simulated device has its own, so the measuring loop uses only these three functions.
  virtual Nanoseconds host_time() = 0;
  /// Lets the host sleep.
  virtual void idle(Nanoseconds) = 0;
  /// Like idle(), but the host keeps its core busy, so that it is afterwards as fast as in a program that
  /// does not sleep. By default the same as idle().
  virtual void idle_awake(Nanoseconds time) { idle(time); }
};

/// Opens `auto`, `cpu`, `cuda`, `cuda:N`, or a simulated GPU: `virtual`, `virtual:PRESET` or
/// `virtual:FILE.toml`, each with `,without=MECHANISM+MECHANISM` if wanted. `auto` never opens a simulated
/// GPU. `seed` seeds a simulated GPU's random numbers. Throws UsageError for an unknown name; MissingError
/// with the reason if the device is not available.
std::unique_ptr<Device> open_device(std::string_view name, std::uint64_t seed = 1);

struct DeviceListing {
  std::string id, name;
  std::string problem;  ///< why it cannot be used; empty if it can
};
std::vector<DeviceListing> list_devices();

}  // namespace jitterscope
