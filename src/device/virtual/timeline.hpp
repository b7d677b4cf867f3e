// Schedules launches on several streams, side by side if there is room (a pure function: no clock, no noise),
// and holds the state of a virtual device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/virtual/cluster_link.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/units.hpp"
#include "physics/machine.hpp"

namespace jitterscope::virtual_gpu {

/// A copy engine runs one copy at a time, and takes no processors.
enum class Engine { processors, copy_to_device, copy_to_host };

struct StreamLaunch {
  struct Dependency {
    std::size_t launch = 0;
    Nanoseconds delay;  ///< from that launch's end
  };
  Nanoseconds time;         ///< if it runs alone
  double processors = 1.0;  ///< share that its blocks fill
  double bandwidth = 0.0;   ///< share of the memory's that it takes alone
  Engine engine = Engine::processors;
  std::size_t stream = 0;
  std::vector<Dependency> dependencies = {};  ///< beyond its predecessor on its stream
  Nanoseconds earliest = {};                  ///< when the stream may begin with it
};

struct StreamCosts {
  Nanoseconds gap;       ///< between neighbours on a stream
  Nanoseconds dispatch;  ///< between starts of kernels on different streams
};

/// Other blocks on all processors, in waves: a launch waits for one wave to end, or for all of them.
struct StreamLoad {
  Nanoseconds time, wave;
  bool is_passed = false;  ///< the launches have the higher priority
};

struct Span {
  Nanoseconds start, end;
};

/// Returns spans from a common start, 0. A launch starts when its stream has reached it and a processor, or
/// its copy engine, is free. Blocks of launches that started earlier come first; others take the room left,
/// and the rest of their blocks follow later. If more bandwidth is wanted than there is, all that want some
/// are slower.
std::vector<Span> schedule_streams(const std::vector<StreamLaunch>& launches, const StreamCosts& costs,
                                   const std::optional<StreamLoad>& load = std::nullopt);

// The state shared by all objects of one virtual device: its GPU, the host's clock, and the queues between.

/// A workload's kernel. Items of queues and recordings share it, so that it outlives its operation.
struct Kernel {
  physics::KernelWork work;
  bool is_one_block = false;  ///< a spin that leaves the processors to other queues
  Cycles tensor = {};         ///< matrix-unit cycles at full rate
  std::string name = {};
  bool has_run = false;         ///< since its outputs were poisoned
  bool read_too_early = false;  ///< its last run read data not yet written
  double processors = 1.0;      ///< share that it fills
  Engine engine = Engine::processors;
};

/// Sums over workloads' kernels, for counters.
struct LaunchCounts {
  physics::Traffic traffic;
  Cycles cycles, tensor;
  Nanoseconds time;
};

/// A queue, for the timeline.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// True if a collective waits that is not behind a queue that is still held.
  virtual bool reaches_collective() const { return false; }
  /// Start of the oldest item; nullopt if none waits.
  virtual std::optional<Nanoseconds> next_start() const = 0;
  virtual void run_next() = 0;
  /// Called when all that starts until `time` has run: a held queue keeps the GPU busy until then.
  virtual void hold_until(Nanoseconds time) = 0;
};

/// The GPU runs an item only when the host's clock has reached its start, so that sensors never see future
/// work. Collectives are the exception: wherever the host looks at the GPU, all that were launched are run at
/// once. Ranks whose clocks differ by a little then still exchange the same collectives at the same place.
class Timeline {
 public:
  /// `clock_rate`: how fast the clocks of host and GPU run; `clock_offset`: how far ahead the host's is.
  Timeline(const physics::Parameters& parameters, std::uint64_t seed, Nanoseconds clock_offset = {},
           double clock_rate = 1.0);

  const physics::Parameters& parameters() const { return machine_.parameters(); }
  physics::Machine& machine() { return machine_; }
  physics::HostCosts& host_costs() { return host_costs_; }
  physics::Timers& timers() { return timers_; }

  Nanoseconds now() const { return now_; }
  /// Readings of this machine's clocks.
  Nanoseconds host_clock() const { return clock_offset_ + now_ * clock_rate_; }
  Nanoseconds gpu_clock(Nanoseconds truth) const { return truth * clock_rate_; }
  /// True time in which the host's clock advances by `time`.
  Nanoseconds true_time(Nanoseconds time) const { return time / clock_rate_; }
  /// The host computes or sleeps.
  void spend(Nanoseconds time) { now_ += time; }
  /// The host calls the driver, which a tracer slows.
  void spend_in_driver(Nanoseconds time) { now_ += time * slowdown(); }
  void wait_until(Nanoseconds time) { now_ = std::max(now_, time); }
  /// Slowdown of everything between kernels.
  double slowdown() const;

  /// Returns when a call that the host made at `time` reaches the GPU.
  Nanoseconds arrival(Nanoseconds time) const { return time + parameters().launch.latency * slowdown(); }

  void catch_up() {
    run_collectives();
    run_until(now_);
  }
  /// The host waits until `source` has nothing left.
  void drain(WorkSource& source);
  /// The host waits for all queues.
  void synchronize();
  /// The host waits for one queue, or for all, in a destructor: if an error is on its way, collectives are
  /// left behind, as the other ranks do not wait for them any more.
  void settle(WorkSource* source = nullptr) noexcept;

  void add(WorkSource& source) { sources_.push_back(&source); }
  void remove(WorkSource& source) { std::erase(sources_, &source); }

  Bytes memory_free() const { return parameters_.identity.memory - allocated_; }
  physics::Buffer allocate(Bytes size);
  void release(physics::Buffer buffer, Bytes size);

  /// Runs a workload's kernel and reports it. `origin` is the part of a trace entry known beforehand.
  /// It takes `stretch` times as long.
  Nanoseconds run(Kernel& kernel, Nanoseconds earliest, const KernelTime& origin, double stretch = 1.0);
  /// The reports of run(): count() adds to counters, tell() gives times to tracers and on_launch.
  void count(const Kernel& kernel, const physics::Execution& execution);
  void tell(const Kernel& kernel, const physics::Execution& execution, const KernelTime& origin);
  /// Runs one of the device's own kernels.
  Nanoseconds run_helper(const physics::KernelWork& work, Nanoseconds earliest);

  /// Runs a collective whose times the ranks have agreed on, and reports it.
  void run_collective(Kernel& kernel, const CollectiveTimes& times, const KernelTime& origin);
  /// Reports one that runs beside other work.
  void tell_collective(Kernel& kernel, const CollectiveTimes& times, const KernelTime& origin);

  /// True once for each kind of operation, whose code must then be loaded.
  bool is_first_launch(const std::string& name);

  std::function<void(const physics::Execution&)> on_launch;
  std::function<void(const CollectiveTimes&)> on_collective;
  ClusterLink* link = nullptr;  ///< null: it has joined no ranks
  std::vector<KernelTime>* trace = nullptr;
  LaunchCounts* counts = nullptr;                   ///< set while kernels are counted
  std::optional<std::uint64_t> traced_launch = {};  ///< that the host is making
  std::uint32_t next_correlation() { return ++correlation_; }
  std::uint32_t next_stream() { return ++stream_; }

 private:
  void run_until(Nanoseconds time);
  void run_collectives();

  physics::Parameters parameters_;
  physics::Machine machine_;
  physics::HostCosts host_costs_;
  physics::Timers timers_;
  Nanoseconds now_, clock_offset_;
  double clock_rate_;
  Bytes allocated_;
  std::uint32_t correlation_ = 0, stream_ = 0;
  std::vector<WorkSource*> sources_;
  std::vector<std::string> loaded_;
};

}  // namespace jitterscope::virtual_gpu
