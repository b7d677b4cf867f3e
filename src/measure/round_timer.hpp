// How the launches of one round are timed. One class for each instrument.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// A workload in one cache state on one queue.
struct TimedWork {
  Device& device;
  Queue& queue;
  Workload& workload;
  CacheState cache = CacheState::warm;
};

class RoundTimer {
 public:
  virtual ~RoundTimer() = default;
  virtual Instrument instrument() const = 0;
  /// What was taken off each value read.
  virtual InstrumentConstant constant() const = 0;
  virtual std::int64_t launches_per_value() const = 0;
  /// Whether all work is enqueued before any of it is waited for, so that a gate may hold it.
  virtual bool may_be_gated() const { return true; }
  /// Enqueues the timed launches of one round; appends the marks that read() needs.
  virtual void enqueue(std::vector<Mark>& marks) = 0;
  /// Times per launch of a round that the queue has passed.
  virtual std::vector<Nanoseconds> read(const std::vector<Mark>& marks) = 0;
};

/// Marks around each launch, or around each group of `group` launches.
std::unique_ptr<RoundTimer> make_event_timer(const TimedWork&, std::int64_t values, std::int64_t group,
                                             const InstrumentConstant&);

struct SlopeShape {
  std::int64_t short_launches = 40, long_launches = 120;  ///< launches in the two recordings
  std::int64_t pairs = 1;                                 ///< how often both are replayed in a round
};
/// Recordings of two lengths; their difference has no constant but that of one more node. In a cache
/// state that eviction sets, both recordings evict equally often, and only the long one launches.
std::unique_ptr<RoundTimer> make_slope_timer(const TimedWork&, const SlopeShape&, const InstrumentConstant&);

/// The host's clock around launch and wait, each launch on its own.
std::unique_ptr<RoundTimer> make_host_timer(const TimedWork&, std::int64_t values);

/// The kernels of each launch as the device's tracer reports them, first start to last end; `gated`: behind a
/// gate.
std::unique_ptr<RoundTimer> make_trace_timer(const TimedWork&, std::int64_t values, bool gated = true);

// Opens a queue's gate on every way out.

/// Armed before the gate is closed, so that even a close that fails half-way is undone.
class GateGuard {
 public:
  explicit GateGuard(Queue& queue) : queue_(queue) {}
  ~GateGuard() { queue_.open_gate(); }
  GateGuard(const GateGuard&) = delete;
  GateGuard& operator=(const GateGuard&) = delete;
  void close() { queue_.close_gate(); }
  void open() noexcept { queue_.open_gate(); }

 private:
  Queue& queue_;
};

/// The time after which the gate opens by itself, while this lives; then the usual one again.
class GateLimit {
 public:
  GateLimit(Queue& queue, Nanoseconds limit) : queue_(queue) { queue_.limit_gate(limit); }
  ~GateLimit() { queue_.limit_gate(Nanoseconds(0)); }
  GateLimit(const GateLimit&) = delete;
  GateLimit& operator=(const GateLimit&) = delete;

 private:
  Queue& queue_;
};

}  // namespace jitterscope
