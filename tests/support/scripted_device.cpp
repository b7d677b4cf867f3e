#include "support/scripted_device.hpp"

#include <algorithm>
#include <stdexcept>

#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "support/scripted_operation.hpp"
#include "support/scripted_queue.hpp"

namespace jitterscope::scripted {

void State::note(const LoggedCall& call) {
  log.push_back(call);
  advance(Nanoseconds(0));
  const std::int64_t number = ++counts[call.call];
  if (script.failure && script.failure->call == call.call && script.failure->number == number) {
    throw FailedError("the script fails here");
  }
}

void State::advance(Nanoseconds time) {
  now += time;
  constexpr std::size_t kMostCalls = 20'000'000;
  if (now > script.time_limit || log.size() > kMostCalls) throw std::logic_error("the loop does not end");
}

DeviceDescription ScriptedDevice::describe() {
  DeviceDescription description;
  description.id = "scripted:0";
  description.name = "scripted device";
  description.processors = 132;
  description.memory_total = description.memory_free = Bytes(std::int64_t{100} << 30);
  description.last_level_cache = Bytes(50 << 20);
  description.properties = state_.script.properties;
  description.capabilities.marks_on_device = state_.script.marks_on_device;
  return description;
}

std::unique_ptr<PreparedOperation> ScriptedDevice::prepare(const Operation& operation, const InputData&) {
  for (const DataType missing : state_.script.missing_types) {
    if (operation.dtype() == missing) throw UsageError("the scripted device lacks this data type");
  }
  const std::vector<std::string>& missing = state_.script.missing_engines;
  if (std::find(missing.begin(), missing.end(), engine_of(operation)) != missing.end()) {
    throw FailedError("the scripted device lacks this engine");
  }
  return std::make_unique<ScriptedOperation>(operation, state_);
}

std::unique_ptr<Queue> ScriptedDevice::make_queue() { return std::make_unique<ScriptedQueue>(state_); }
std::unique_ptr<Queue> ScriptedDevice::adopt_queue(NativeQueue stream) {
  return std::make_unique<ScriptedQueue>(state_, static_cast<Stream*>(stream));
}

SensorReading ScriptedDevice::read_sensors() {
  state_.note({Call::sensors});
  state_.advance(state_.script.sensor_cost);
  return state_.script.sensors(state_.now);
}

std::unique_ptr<ClockLock> ScriptedDevice::lock_clocks(std::string_view) {
  throw UsageError("the scripted device has no clock to lock");
}

namespace {

class ScriptedTracer final : public KernelTracer {
 public:
  explicit ScriptedTracer(State& state) : state_(state) { state_.trace = &kernels_; }
  ~ScriptedTracer() override { state_.trace = nullptr; }
  ScriptedTracer(const ScriptedTracer&) = delete;
  ScriptedTracer& operator=(const ScriptedTracer&) = delete;

  void begin_launch(std::uint64_t launch) override { state_.traced_launch = launch; }
  void end_launch() override { state_.traced_launch.reset(); }
  std::vector<KernelTime> stop() override {
    state_.trace = nullptr;
    kernels_.resize(kernels_.size() - static_cast<std::size_t>(state_.script.lost_records));
    return kernels_;
  }

 private:
  State& state_;
  std::vector<KernelTime> kernels_;
};

}  // namespace

std::unique_ptr<KernelTracer> ScriptedDevice::trace_kernels() {
  if (!state_.script.can_trace) throw MissingError("the script has no tracer");
  return std::make_unique<ScriptedTracer>(state_);
}

namespace {

class ScriptedCounterReader final : public CounterReader {
 public:
  explicit ScriptedCounterReader(State& state) : state_(state) {}

  CounterReading read(const std::function<void()>& prepare, const std::function<void()>& launch) override {
    CounterReading reading;
    std::int64_t launches = 0;
    while (reading.passes < state_.script.counter_passes) {
      prepare();
      const std::int64_t before = state_.counts[Call::launch];
      launch();
      launches += state_.counts[Call::launch] - before;
      ++reading.passes;
    }
    reading.values = {{.name = "launches", .value = static_cast<double>(launches)}};
    return reading;
  }

 private:
  State& state_;
};

}  // namespace

std::unique_ptr<CounterReader> ScriptedDevice::count(const std::vector<std::string>& names) {
  if (!state_.script.can_count) throw MissingError("the script lets nobody count");
  for (const std::string& name : names) {
    if (name != "launches") throw UsageError("the script has no counter " + name);
  }
  return std::make_unique<ScriptedCounterReader>(state_);
}

Nanoseconds ScriptedDevice::host_time() {
  state_.advance(Nanoseconds(0));
  return state_.now;
}

void ScriptedDevice::wait_for_all() {
  const std::int64_t launches = state_.counts[Call::launch];
  if (launches > launches_waited_for_) {
    state_.advance(state_.script.left_elsewhere * static_cast<double>(launches - launches_waited_for_) +
                   state_.script.wait_behind_work);
  }
  launches_waited_for_ = launches;
}

void ScriptedDevice::idle(Nanoseconds time) {
  state_.note({Call::idle, CacheState::warm, time});
  state_.advance(time);
}

void ScriptedDevice::idle_awake(Nanoseconds time) {
  state_.note({Call::idle_awake, CacheState::warm, time});
  state_.advance(time);
}

std::vector<Call> ScriptedDevice::queue_calls() const {
  std::vector<Call> calls;
  for (const LoggedCall& logged : state_.log) {
    if (logged.call != Call::elapsed && logged.call != Call::sensors) calls.push_back(logged.call);
  }
  return calls;
}

}  // namespace jitterscope::scripted
