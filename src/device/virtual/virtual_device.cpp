#include "device/virtual/virtual_device.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "device/can_run.hpp"
#include "device/chain.hpp"
#include "device/device.hpp"
#include "device/virtual/timeline.hpp"
#include "device/virtual/virtual_chain.hpp"
#include "device/virtual/virtual_operation.hpp"
#include "device/virtual/virtual_queue.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"
#include "physics/cluster.hpp"
#include "physics/parameters.hpp"

// `doctor` for a virtual GPU: what its preset gives and withholds.

namespace jitterscope::virtual_gpu {

std::vector<Check> check_virtual_gpu(const physics::Parameters& parameters,
                                     const std::vector<std::string>& other_processes);

// Counters of a simulated GPU: the quantities of its model, under the names that a real GPU has for them.

/// The default counters come first.
std::vector<Counter> virtual_counters();

/// Finds counters by name; no names: the default set. Throws UsageError that names the nearest counter.
std::vector<Counter> find_virtual_counters(const std::vector<std::string>& names);

std::unique_ptr<CounterReader> count_virtual_launches(Timeline& timeline,
                                                      const std::vector<std::string>& names);

namespace {

// Reading a clock by NVML takes 1 us (H200), and five sensors are read.
constexpr Nanoseconds kSensorCost = microseconds(5);

std::string mechanisms_off(const physics::Parameters& parameters) {
  std::vector<std::string> off;
  for (std::size_t i = 0; i < physics::kMechanisms; ++i) {
    if (parameters.off[i]) off.emplace_back(to_string(static_cast<physics::Mechanism>(i)));
  }
  return off.empty() ? "none" : joined(off, "+");
}

class VirtualTracer final : public KernelTracer {
 public:
  explicit VirtualTracer(Timeline& timeline) : timeline_(timeline) {
    timeline_.synchronize();
    timeline_.trace = &kernels_;
  }
  ~VirtualTracer() override { end(); }
  VirtualTracer(const VirtualTracer&) = delete;
  VirtualTracer& operator=(const VirtualTracer&) = delete;

  std::vector<KernelTime> stop() override {
    timeline_.synchronize();
    end();
    return kernels_;
  }
  void begin_launch(std::uint64_t launch) override { timeline_.traced_launch = launch; }
  void end_launch() override { timeline_.traced_launch.reset(); }

 private:
  void end() {
    timeline_.trace = nullptr;
    timeline_.traced_launch.reset();
  }

  Timeline& timeline_;
  std::vector<KernelTime> kernels_;
};

class VirtualClockLock final : public ClockLock {
 public:
  VirtualClockLock(Timeline& timeline, Hertz clock) : timeline_(timeline), clock_(clock) {
    timeline_.synchronize();
    timeline_.machine().hold_clock(clock);
  }
  ~VirtualClockLock() override {
    timeline_.settle();
    timeline_.machine().hold_clock(std::nullopt);
  }
  VirtualClockLock(const VirtualClockLock&) = delete;
  VirtualClockLock& operator=(const VirtualClockLock&) = delete;
  Hertz frequency() const override { return clock_; }

 private:
  Timeline& timeline_;
  Hertz clock_;
};

Hertz requested_clock(std::string_view request, const physics::Governor& governor) {
  if (request == "max") return governor.maximum_clock;
  if (request == "base") throw UsageError("this GPU does not tell its base clock; give MHz");
  const Hertz wanted = requested_megahertz(request);
  const double steps = std::round((governor.maximum_clock - wanted) / governor.step);
  const Hertz nearest =
      std::clamp(governor.maximum_clock - governor.step * steps, governor.idle_clock, governor.maximum_clock);
  if (std::abs((nearest - wanted).value()) < 1.0) return nearest;
  throw UsageError(fmt::format("this GPU has no SM clock of {:.0f} MHz: the nearest is {:.0f} MHz",
                               wanted.value() * 1e-6, nearest.value() * 1e-6));
}

// Collectives wait for other ranks, and no rank knows how much of its own side work that would take.
void refuse_streams_of_collectives(const Operation& operation) {
  const auto& chain = std::get<Chain>(operation.parameters());
  const bool is_on_queue =
      chain.streams == 1 && !chain.high_priority && chain.load_ns == 0 && chain.wait == HostWait::none;
  if (is_on_queue || !has_collective(operation)) return;
  throw UsageError(
      "chain: a simulated cluster runs collectives on one stream, without waits, a priority or a load; leave "
      "those out");
}

// Copies move no bytes, they take their time. A link has its bandwidth in each direction.
class SimulatedPeers final : public PeerMemory {
 public:
  SimulatedPeers(const ClusterLink& link, Bytes size) : link_(link), size_(size) {}
  std::unique_ptr<Workload> copy_from(int peer, PeerCopyBy by, bool both_ways) override {
    const physics::Cluster& cluster = link_.cluster();
    if (peer < 0 || peer >= cluster.ranks || peer == link_.rank())
      throw UsageError(fmt::format("rank {} has no link to rank {}", link_.rank(), peer));
    const double bytes = static_cast<double>(size_.value()) / (both_ways ? 2.0 : 1.0);
    auto kernel = std::make_shared<Kernel>();
    kernel->name = "virtual_peer_copy";
    kernel->work.fixed = physics::transfer_time(cluster, link_.rank(), peer, bytes);
    if (by == PeerCopyBy::copy_engine) kernel->engine = Engine::copy_to_device;
    return std::make_unique<PeerCopy>(std::move(kernel));
  }

 private:
  struct PeerCopy final : Workload {
    explicit PeerCopy(std::shared_ptr<Kernel> its_kernel) : kernel(std::move(its_kernel)) {}
    void run(NativeQueue queue) override { static_cast<VirtualQueue*>(queue)->launch_kernel(kernel, false); }
    std::shared_ptr<Kernel> kernel;
  };
  const ClusterLink& link_;
  Bytes size_;
};

// The parts are items of the queue itself, which runs them beside later ones.
class VirtualSideStream final : public SideStream {
 public:
  NativeQueue begin(NativeQueue queue, std::size_t part) override {
    of(queue).begin_part(part);
    return queue;
  }
  void end(NativeQueue queue, std::size_t) override { of(queue).end_part(); }
  void join(NativeQueue queue, std::size_t part) override { of(queue).join_part(part); }

 private:
  static VirtualQueue& of(NativeQueue queue) { return *static_cast<VirtualQueue*>(queue); }
};

class SimulatedDevice final : public VirtualDevice {
 public:
  SimulatedDevice(const physics::Parameters& parameters, std::uint64_t seed, std::string_view id,
                  std::optional<std::int64_t> rank)
      : id_(id), seed_(seed), all_(parameters), rank_(rank) {
    begin(rank.value_or(0));
  }

  DeviceDescription describe() override;
  void join(Ranks& ranks) override;
  std::unique_ptr<PeerMemory> open_to_peers(Ranks& ranks, Bytes size) override {
    if (!link_) return VirtualDevice::open_to_peers(ranks, size);
    return std::make_unique<SimulatedPeers>(*link_, size);
  }
  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& data) override {
    refuse_collective(operation, id_, capabilities(), link_ != nullptr);
    require_means(operation, id_, capabilities());
    const auto prepare_one = [this](const Operation& one, const InputData& own, std::size_t, std::size_t) {
      return std::make_unique<VirtualOperation>(timeline(), one, own);
    };
    if (!std::holds_alternative<Chain>(operation.parameters())) return prepare_one(operation, data, 0, 0);
    refuse_unfusible(operation, id_, capabilities());
    refuse_streams_of_collectives(operation);
    return prepare_virtual_chain(timeline(), operation, data, prepare_one);
  }
  std::unique_ptr<Queue> make_queue() override {
    has_queue_ = true;
    return std::make_unique<VirtualQueue>(timeline());
  }
  std::unique_ptr<Queue> adopt_queue(NativeQueue) override {
    throw UsageError(id_ + " is simulated and has no stream of a program's: open cuda:0, or give no stream");
  }
  std::unique_ptr<Queue> make_companion_queue() override {
    return std::make_unique<VirtualQueue>(timeline(), VirtualQueue::Place::beside);
  }
  std::unique_ptr<SideStream> make_side_stream(std::size_t) override {
    return std::make_unique<VirtualSideStream>();
  }
  SensorReading read_sensors() override;
  std::optional<std::vector<std::string>> other_processes() override;
  std::vector<Check> check() override {
    return check_virtual_gpu(timeline().parameters(), other_processes().value_or(std::vector<std::string>()));
  }
  std::unique_ptr<ClockLock> lock_clocks(std::string_view request) override;
  std::unique_ptr<KernelTracer> trace_kernels() override {
    return std::make_unique<VirtualTracer>(timeline());
  }
  std::vector<Counter> list_counters() override { return virtual_counters(); }
  void check_counters(const std::vector<std::string>& names) override { find_virtual_counters(names); }
  std::unique_ptr<CounterReader> count(const std::vector<std::string>& names) override {
    return count_virtual_launches(timeline(), names);
  }
  Nanoseconds host_time() override { return timeline().host_clock(); }
  void idle(Nanoseconds time) override { timeline().spend(timeline().true_time(time)); }

 private:
  DeviceCapabilities capabilities() const;
  Timeline& timeline() { return *timeline_; }
  /// Begins anew as the GPU of this rank.
  void begin(std::int64_t rank);

  std::string id_;
  std::uint64_t seed_;
  physics::Parameters all_;  ///< before what is a rank's own
  std::optional<std::int64_t> rank_;
  std::unique_ptr<ClusterLink> link_;
  std::unique_ptr<Timeline> timeline_;
  bool has_queue_ = false;
};

void SimulatedDevice::begin(std::int64_t rank) {
  if (all_.cluster) {
    const auto before = static_cast<double>(rank);
    // Ranks are started with one seed, and their GPUs have noise of their own.
    const std::uint64_t own_seed = seed_ ^ Random(static_cast<std::uint64_t>(rank)).next();
    timeline_ = std::make_unique<Timeline>(physics::of_rank(all_, *all_.cluster, rank), own_seed,
                                           all_.cluster->clock_offset * before,
                                           1.0 + all_.cluster->clock_drift * before);
  } else {
    timeline_ = std::make_unique<Timeline>(all_, seed_);
  }
  timeline_->on_launch = [this](const physics::Execution& execution) {
    if (on_launch) on_launch(execution);
  };
  timeline_->on_collective = [this](const CollectiveTimes& times) {
    if (on_collective) on_collective(times);
  };
}

void SimulatedDevice::join(Ranks& ranks) {
  if (!all_.cluster) {
    throw UsageError(
        id_ +
        " is one simulated GPU without links; take a cluster (--device virtual:cluster-2xh200, or a "
        "file with a table [cluster])");
  }
  if (has_queue_) throw std::logic_error("a simulated device must join before it is used");
  if (rank_ && *rank_ != ranks.rank()) {
    throw UsageError(fmt::format("{} names rank {}, and this process is rank {}; leave ',rank=' out", id_,
                                 *rank_, ranks.rank()));
  }
  link_ = std::make_unique<ClusterLink>(*all_.cluster, ranks, seed_, id_);
  begin(ranks.rank());
  timeline_->link = link_.get();
}

DeviceCapabilities SimulatedDevice::capabilities() const {
  DeviceCapabilities can;
  can.is_simulated = true;
  can.has_collectives = all_.cluster.has_value();
  can.waits_can_sleep = false;
  can.allocates_memory = false;
  can.pytorch_device = "cpu";
  // Page-locking costs, kernels that read over the bus, and allocators are not simulated.
  can.host_memories = {HostMemory::pinned, HostMemory::pageable, HostMemory::registered};
  can.allocators = {};
  can.reason_not_fusible = reason_not_fusible_on_gpu;
  return can;
}

DeviceDescription SimulatedDevice::describe() {
  const physics::Parameters& parameters = timeline().parameters();
  DeviceDescription description;
  description.id = id_;
  description.name = parameters.identity.name + " (simulated)";
  description.processors = parameters.identity.processors;
  description.memory_total = parameters.identity.memory;
  description.memory_free = timeline().memory_free();
  description.last_level_cache = parameters.memory.l2_capacity;
  description.maximum_clock = parameters.governor.maximum_clock;
  if (parameters.power.cap > Watts(0)) description.power_limit = parameters.power.cap;
  description.slowdown_temperature = parameters.thermal.slowdown_temperature;
  description.data_types = parameters.identity.data_types;
  description.capabilities = capabilities();
  description.properties = {{"simulated", "yes"},
                            {"preset", parameters.identity.name},
                            {"seed", std::to_string(seed_)},
                            {"mechanisms_off", mechanisms_off(parameters)}};
  return description;
}

SensorReading SimulatedDevice::read_sensors() {
  timeline().spend(kSensorCost);
  timeline().catch_up();
  physics::MachineSensors machine = timeline().machine().read_sensors(timeline().now());
  SensorReading reading;
  reading.sm_clock = machine.clock;
  reading.power = machine.power;
  reading.temperature = machine.temperature;
  reading.energy = machine.energy;
  reading.throttled_power = machine.throttled_power;
  reading.throttled_thermal = machine.throttled_thermal;
  reading.clock_reasons = std::move(machine.clock_reasons);
  return reading;
}

std::optional<std::vector<std::string>> SimulatedDevice::other_processes() {
  const bool is_seen = timeline().machine().other_process_is_active(timeline().now());
  return is_seen ? std::vector<std::string>{"4711 other"} : std::vector<std::string>();
}

std::unique_ptr<ClockLock> SimulatedDevice::lock_clocks(std::string_view request) {
  const physics::Parameters& parameters = timeline().parameters();
  if (!parameters.sensors.may_lock_clocks) {
    throw UsageError(
        "locking clocks is not allowed on this simulated GPU (its preset says may_lock_clocks = false); "
        "nothing was "
        "changed. Without it the clock of each round is measured and the time at reference clock is given");
  }
  return std::make_unique<VirtualClockLock>(timeline(), requested_clock(request, parameters.governor));
}

}  // namespace

std::unique_ptr<VirtualDevice> make_virtual_device(const physics::Parameters& parameters, std::uint64_t seed,
                                                   std::string_view id, std::optional<std::int64_t> rank) {
  return std::make_unique<SimulatedDevice>(parameters, seed, id, rank);
}

namespace {

using Status = Check::Status;

constexpr const char* kRemedy = "take another preset, or a changed copy of this one";

Check check_sensors(const physics::Sensors& sensors) {
  std::vector<std::string> withheld;
  const auto note = [&](bool given, const char* name) {
    if (!given) withheld.emplace_back(name);
  };
  note(sensors.clock, "clock");
  note(sensors.power, "power");
  note(sensors.temperature, "temperature");
  note(sensors.energy, "energy");
  note(sensors.throttle_counters, "time throttled");
  if (withheld.empty()) return {"sensors", Status::good, "all sensors may be read", ""};
  return {"sensors", Status::limits, fmt::format("this preset withholds: {}", joined(withheld)), kRemedy};
}

Check check_clock_lock(const physics::Sensors& sensors) {
  if (sensors.may_lock_clocks) return {"clock locking", Status::good, "clocks may be locked", ""};
  return {"clock locking", Status::limits, "this preset lets nobody lock clocks",
          "not needed: the clock of each round is measured, and the time at reference clock is given"};
}

Check check_power(const physics::Parameters& parameters) {
  const bool has_cap = parameters.power.cap > Watts(0) && parameters.has(physics::Mechanism::power_cap);
  return {"power cap", Status::good,
          has_cap ? fmt::format("power limit {}", power_text(parameters.power.cap)) : "no power limit", ""};
}

Check check_processes(const std::vector<std::string>& others) {
  if (others.empty()) return {"other processes", Status::good, "no other process uses this GPU", ""};
  return {"other processes", Status::limits, fmt::format("others use this GPU: {}", joined(others)),
          "none on a simulated GPU but another preset: while they run, times contain theirs"};
}

Check check_mechanisms(const physics::Parameters& parameters) {
  std::vector<std::string> off;
  for (std::size_t i = 0; i < physics::kMechanisms; ++i) {
    if (parameters.off[i]) off.emplace_back(to_string(static_cast<physics::Mechanism>(i)));
  }
  if (off.empty()) return {"mechanisms", Status::good, "every cause of variation is simulated", ""};
  return {"mechanisms", Status::limits, fmt::format("switched off: {}", joined(off)),
          "leave out ',without=' to have them"};
}

}  // namespace

std::vector<Check> check_virtual_gpu(const physics::Parameters& parameters,
                                     const std::vector<std::string>& other_processes) {
  return {{"simulation", Status::limits,
           fmt::format("{} is simulated: its numbers say nothing about a real GPU", parameters.identity.name),
           "take --device cuda or cpu to measure hardware"},
          check_sensors(parameters.sensors),
          check_clock_lock(parameters.sensors),
          check_power(parameters),
          check_processes(other_processes),
          check_mechanisms(parameters)};
}

namespace {

std::optional<double> percent(double part, double whole) {
  if (!(whole > 0.0)) return std::nullopt;
  return 100.0 * part / whole;
}

double number_of(Bytes bytes) { return static_cast<double>(bytes.value()); }

// The model has no warps, so it knows neither occupancy nor stalls nor active processors.
struct VirtualCounter {
  const char* name;
  const char* unit;
  const char* description;
  CounterQuantity quantity;
  std::optional<double> (*value)(const LaunchCounts&);
};

const std::array kCounters = {
    VirtualCounter{"dram__bytes_read.sum", "byte", "bytes read from DRAM", CounterQuantity::dram_bytes_read,
                   [](const LaunchCounts& counts) -> std::optional<double> {
                     return number_of(counts.traffic.read_misses);
                   }},
    VirtualCounter{"dram__bytes_write.sum", "byte", "bytes written to DRAM",
                   CounterQuantity::dram_bytes_written,
                   [](const LaunchCounts& counts) -> std::optional<double> {
                     return number_of(counts.traffic.write_backs);
                   }},
    VirtualCounter{"lts__t_sector_hit_rate.pct", "percent", "accesses to L2 that hit",
                   CounterQuantity::l2_hit_rate,
                   [](const LaunchCounts& counts) {
                     const Bytes hits = counts.traffic.accessed - counts.traffic.read_misses;
                     return percent(number_of(hits), number_of(counts.traffic.accessed));
                   }},
    VirtualCounter{
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "percent",
        "cycles in which units that multiply matrices work", CounterQuantity::tensor_active,
        [](const LaunchCounts& counts) { return percent(counts.tensor.value(), counts.cycles.value()); }},
    VirtualCounter{"sm__cycles_elapsed.avg", "cycle", "cycles of the SM clock", CounterQuantity::other,
                   [](const LaunchCounts& counts) -> std::optional<double> { return counts.cycles.value(); }},
    VirtualCounter{"gpu__time_duration.sum", "nanosecond", "time of the kernels", CounterQuantity::other,
                   [](const LaunchCounts& counts) -> std::optional<double> { return counts.time.value(); }}};

const VirtualCounter& counter_named(const std::string& name) {
  // A name may lack the part after its dot, as on a GPU.
  const auto found = std::ranges::find_if(kCounters, [&](const VirtualCounter& counter) {
    return counter.name == name || std::string_view(counter.name).starts_with(name + '.');
  });
  if (found != kCounters.end()) return *found;
  std::vector<std::string> known;
  for (const VirtualCounter& counter : kCounters) known.emplace_back(counter.name);
  throw UsageError(fmt::format("a simulated GPU has no counter '{}'{}", name, suggestion(name, known)));
}

Counter described(const VirtualCounter& counter) {
  return {.name = counter.name,
          .unit = counter.unit,
          .description = counter.description,
          .quantity = counter.quantity,
          .is_default = counter.quantity != CounterQuantity::other};
}

class VirtualCounterReader final : public CounterReader {
 public:
  VirtualCounterReader(Timeline& timeline, std::vector<Counter> counters)
      : timeline_(timeline), counters_(std::move(counters)) {}

  CounterReading read(const std::function<void()>& prepare, const std::function<void()>& launch) override {
    prepare();
    timeline_.synchronize();
    const Counting counting(timeline_);
    launch();
    timeline_.synchronize();
    CounterReading reading{.passes = 1, .values = {}};
    for (const Counter& counter : counters_) {
      reading.values.push_back({.name = counter.name,
                                .unit = counter.unit,
                                .quantity = counter.quantity,
                                .value = counter_named(counter.name).value(counting.counts)});
    }
    return reading;
  }

 private:
  struct Counting {
    explicit Counting(Timeline& counted) : timeline(counted) { timeline.counts = &counts; }
    ~Counting() { timeline.counts = nullptr; }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;
    Timeline& timeline;
    LaunchCounts counts;
  };

  Timeline& timeline_;
  std::vector<Counter> counters_;
};

}  // namespace

std::vector<Counter> virtual_counters() {
  std::vector<Counter> counters;
  for (const VirtualCounter& counter : kCounters) counters.push_back(described(counter));
  return counters;
}

std::vector<Counter> find_virtual_counters(const std::vector<std::string>& names) {
  std::vector<Counter> counters;
  for (const std::string& name : names) counters.push_back(described(counter_named(name)));
  if (!names.empty()) return counters;
  counters = virtual_counters();
  std::erase_if(counters, [](const Counter& counter) { return !counter.is_default; });
  return counters;
}

std::unique_ptr<CounterReader> count_virtual_launches(Timeline& timeline,
                                                      const std::vector<std::string>& names) {
  return std::make_unique<VirtualCounterReader>(timeline, find_virtual_counters(names));
}

}  // namespace jitterscope::virtual_gpu
