// A device that does what a script says, in virtual time: nothing sleeps, nothing is random but by seed.
// It is strict where hardware hangs or lies: a wait on a held queue and a read of a mark that the queue has
// not passed throw std::logic_error, and so does a loop that does not end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::scripted {

enum class Call {
  idle,
  idle_awake,
  hold,
  release,
  set_cache,
  launch,
  mark,
  stamp,
  record,
  replay,
  wait,
  wait_for,
  elapsed,
  sensors
};

struct LoggedCall {
  Call call;
  CacheState cache = CacheState::warm;  ///< (set_cache)
  Nanoseconds amount = {};              ///< (idle, idle_awake)
};

/// What a launch's time may depend on.
struct LaunchContext {
  std::int64_t index;  ///< of this workload's launches on the device
  Nanoseconds time;    ///< virtual, at its start
  CacheState cache;
  Hertz clock;                           ///< zero without a clock in the script
  const Operation* operation = nullptr;  ///< null for a callable
};

struct Failure {
  Call call;
  std::int64_t number;  ///< counted from 1
};

struct Script {
  std::function<Nanoseconds(const LaunchContext&)> launch_time = [](auto&) { return microseconds(100); };
  std::function<Hertz(Nanoseconds time)> clock;  ///< empty: the device cannot tell
  std::function<SensorReading(Nanoseconds time)> sensors = [](auto) { return SensorReading(); };
  /// Host time of launch `index` of a workload; spin operations always cost 2 us.
  std::function<Nanoseconds(std::int64_t index)> launch_cost = [](auto) { return microseconds(2); };
  Nanoseconds mark_cost = microseconds(0.5), wait_cost = microseconds(5), sensor_cost = microseconds(20);
  Nanoseconds events_constant = microseconds(2);  ///< GPU time between two neighbouring marks
  Nanoseconds events_noise = Nanoseconds(40);     ///< uniform, either way
  Nanoseconds node_constant = Nanoseconds(100);   ///< added to each launch in a recording
  Nanoseconds grain = Nanoseconds(32);            ///< marks are read as multiples of this; zero: exact
  Nanoseconds eviction_time = microseconds(50);
  bool can_record = true;
  bool marks_on_device = true;
  bool can_limit_hold = false;                            ///< as a GPU's queue, which holds few launches
  std::int64_t kernels_per_launch = 1, lost_records = 0;  ///< (tracer)
  /// That a launch's kernels are on in turn, by the tracer: side by side where a gate held the launch, else
  /// one after the other, as behind a slow host.
  std::int64_t kernel_streams = 1;
  std::int64_t stray_kernels = 0;  ///< that each call of set_cache runs (tracer)
  Nanoseconds tracer_error;        ///< added to each kernel that it reports
  double clock_error = 0.0;        ///< relative, of each clock that stamps give
  /// How much longer than the queue's the work of each launch on other streams lasts.
  Nanoseconds left_elsewhere = Nanoseconds(0);
  /// What a wait for the whole device takes right behind work, however little is left: a slow host.
  Nanoseconds wait_behind_work = Nanoseconds(0);
  bool can_trace = true;
  bool can_count = true;
  std::int64_t counter_passes = 1;
  std::vector<Property> properties;
  std::vector<DataType> missing_types;
  std::vector<EngineListing> engines;        ///< that list_engines gives
  std::vector<std::string> missing_engines;  ///< of these, that prepare fails for
  /// Changes what an operation computed.
  std::function<void(std::vector<double>& output)> spoil = [](auto&) {};
  /// What a kernel of the user's leaves in a buffer that it writes.
  std::function<std::vector<double>(const CudaKernel&, const Operand&)> kernel = [](const auto&,
                                                                                    const auto& operand) {
    return std::vector<double>(static_cast<std::size_t>(operand.count));
  };
  bool writes_outside = false;                                ///< of its operands
  std::function<std::vector<std::string>()> other_processes;  ///< empty: the device cannot tell
  std::optional<Failure> failure;
  Nanoseconds time_limit = seconds(1000);
};

/// What an empty spin kernel takes, as its launch's reported time less the amount asked for.
constexpr Nanoseconds kSpinOverhead = Nanoseconds(600);

/// One kernel's counters; launches of it are told apart by them.
struct Kernel {
  std::optional<Nanoseconds> fixed_time;
  Cycles fixed_cycles = {};  ///< on top of fixed_time, where the script has a clock
  const Operation* operation = nullptr;
  std::int64_t enqueued = 0, executed = 0;
};

/// What all objects of one device share.
struct State {
  Script script;
  Nanoseconds now;
  std::vector<LoggedCall> log;
  std::map<Call, std::int64_t> counts;
  std::vector<KernelTime>* trace = nullptr;
  std::optional<std::uint64_t> traced_launch = {};  ///< that the tracer was told of
  std::uint32_t calls = 0;                          ///< that put something on the device
  std::int64_t times_dry = 0;                       ///< launches that found the queue empty and its gate open
  bool is_held = false;

  /// Notes a call; throws the failure that the script wants here.
  void note(const LoggedCall& call);
  /// Throws where a loop does not end.
  void advance(Nanoseconds time);
};

class ScriptedQueue;
/// What a NativeQueue points to; a test may own one, as a program owns a CUDA stream.
struct Stream {
  ScriptedQueue* queue = nullptr;  ///< that runs on it
};

/// What a callable does to launch one kernel on the queue that it is given.
void launch_kernel(NativeQueue queue);
/// What a callable does that waits for the queue itself: in a held queue, until that is released.
void wait_for_queue(NativeQueue queue);

class ScriptedDevice : public Device {
 public:
  explicit ScriptedDevice(Script script = {}) { state_.script = std::move(script); }

  DeviceDescription describe() override;
  std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputData& input) override;
  std::vector<EngineListing> list_engines(const Operation&) override { return state_.script.engines; }
  std::unique_ptr<Queue> make_queue() override;
  std::unique_ptr<Queue> adopt_queue(NativeQueue stream) override;
  void wait_for_all() override;
  std::optional<std::vector<std::string>> other_processes() override {
    if (!state_.script.other_processes) return std::nullopt;
    return state_.script.other_processes();
  }
  SensorReading read_sensors() override;
  std::vector<Check> check() override { return {}; }
  std::unique_ptr<ClockLock> lock_clocks(std::string_view request) override;
  std::unique_ptr<KernelTracer> trace_kernels() override;
  /// The one counter "launches", of the launches that are counted.
  std::unique_ptr<CounterReader> count(const std::vector<std::string>& names) override;
  Nanoseconds host_time() override;
  void idle(Nanoseconds time) override;
  void idle_awake(Nanoseconds time) override;

  Script& script() { return state_.script; }
  State& state() { return state_; }
  std::vector<LoggedCall>& log() { return state_.log; }
  /// The log less reads and sensors: what the queue was told, in order.
  std::vector<Call> queue_calls() const;

 private:
  State state_;
  std::int64_t launches_waited_for_ = 0;  // on all streams
};

}  // namespace jitterscope::scripted
