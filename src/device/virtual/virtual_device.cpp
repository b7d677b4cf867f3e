#include "device/virtual/virtual_device.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/names.hpp"
#include "device/can_run.hpp"
#include "device/clock_request.hpp"
#include "device/fusion.hpp"
#include "device/virtual/timeline.hpp"
#include "device/virtual/virtual_chain.hpp"
#include "device/virtual/virtual_checks.hpp"
#include "device/virtual/virtual_counters.hpp"
#include "device/virtual/virtual_operation.hpp"
#include "device/virtual/virtual_queue.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// A clock read by NVML takes 1 us (H200); five sensors are read.
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
    timeline_.synchronize();
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

class SimulatedDevice final : public VirtualDevice {
 public:
  SimulatedDevice(const physics::Parameters& parameters, std::uint64_t seed, std::string_view id)
      : id_(id), seed_(seed), timeline_(parameters, seed) {
    timeline_.on_launch = [this](const physics::Execution& execution) {
      if (on_launch) on_launch(execution);
    };
  }

  DeviceDescription describe() override;
  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& data) override {
    require_means(operation, id_, capabilities());
    const auto prepare_one = [this](const Operation& one, const InputData& own, std::size_t, std::size_t) {
      return std::make_unique<VirtualOperation>(timeline_, one, own);
    };
    if (!std::holds_alternative<Chain>(operation.parameters())) return prepare_one(operation, data, 0, 0);
    refuse_unfusible(operation, id_, capabilities());
    return prepare_virtual_chain(timeline_, operation, data, prepare_one);
  }
  std::unique_ptr<Queue> make_queue() override { return std::make_unique<VirtualQueue>(timeline_); }
  std::unique_ptr<Queue> adopt_queue(NativeQueue) override {
    throw UsageError(id_ + " is simulated and has no stream of a program's: open cuda:0, or give no stream");
  }
  std::unique_ptr<Queue> make_companion_queue() override {
    return std::make_unique<VirtualQueue>(timeline_, VirtualQueue::Place::beside);
  }
  SensorReading read_sensors() override;
  std::optional<std::vector<std::string>> other_processes() override;
  std::vector<Check> check() override {
    return check_virtual_gpu(timeline_.parameters(), other_processes().value_or(std::vector<std::string>()));
  }
  std::unique_ptr<ClockLock> lock_clocks(std::string_view request) override;
  std::unique_ptr<KernelTracer> trace_kernels() override {
    return std::make_unique<VirtualTracer>(timeline_);
  }
  std::vector<Counter> list_counters() override { return virtual_counters(); }
  void check_counters(const std::vector<std::string>& names) override { find_virtual_counters(names); }
  std::unique_ptr<CounterReader> count(const std::vector<std::string>& names) override {
    return count_virtual_launches(timeline_, names);
  }
  Nanoseconds host_time() override { return timeline_.now(); }
  void idle(Nanoseconds time) override { timeline_.spend(time); }

 private:
  static DeviceCapabilities capabilities();

  std::string id_;
  std::uint64_t seed_;
  Timeline timeline_;
};

DeviceCapabilities SimulatedDevice::capabilities() {
  DeviceCapabilities can;
  can.is_simulated = true;
  can.waits_can_sleep = false;
  can.allocates_memory = false;
  can.pytorch_device = "cpu";
  // What page-locking costs, and what a kernel reads over the bus, is not simulated; nor is an allocator.
  can.host_memories = {HostMemory::pinned, HostMemory::pageable, HostMemory::registered};
  can.allocators = {};
  can.reason_not_fusible = reason_not_fusible_on_gpu;
  return can;
}

DeviceDescription SimulatedDevice::describe() {
  const physics::Parameters& parameters = timeline_.parameters();
  DeviceDescription description;
  description.id = id_;
  description.name = parameters.identity.name + " (simulated)";
  description.processors = parameters.identity.processors;
  description.memory_total = parameters.identity.memory;
  description.memory_free = timeline_.memory_free();
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
  timeline_.spend(kSensorCost);
  timeline_.catch_up();
  physics::MachineSensors machine = timeline_.machine().read_sensors(timeline_.now());
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
  const bool is_seen = timeline_.machine().other_process_is_active(timeline_.now());
  return is_seen ? std::vector<std::string>{"4711 other"} : std::vector<std::string>();
}

std::unique_ptr<ClockLock> SimulatedDevice::lock_clocks(std::string_view request) {
  const physics::Parameters& parameters = timeline_.parameters();
  if (!parameters.sensors.may_lock_clocks) {
    throw UsageError(
        "locking clocks is not allowed on this simulated GPU (its preset says may_lock_clocks = false); "
        "nothing was "
        "changed. Without it the clock of each round is measured and the time at reference clock is given");
  }
  return std::make_unique<VirtualClockLock>(timeline_, requested_clock(request, parameters.governor));
}

}  // namespace

std::unique_ptr<VirtualDevice> make_virtual_device(const physics::Parameters& parameters, std::uint64_t seed,
                                                   std::string_view id) {
  return std::make_unique<SimulatedDevice>(parameters, seed, id);
}

}  // namespace jitterscope::virtual_gpu
