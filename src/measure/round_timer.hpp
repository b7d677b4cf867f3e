// Times the launches of one round, with one class for each instrument.
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
  /// The constant that was subtracted from each value.
  virtual InstrumentConstant constant() const = 0;
  virtual std::int64_t launches_per_value() const = 0;
  /// True if all work is enqueued before any of it is waited for, so that a held queue can take it.
  virtual bool may_be_held() const { return true; }
  /// Enqueues the timed launches of one round; appends the marks that read() needs.
  virtual void enqueue(std::vector<Mark>& marks) = 0;
  /// Returns the times per launch of a round that the queue has passed.
  virtual std::vector<Nanoseconds> read(const std::vector<Mark>& marks) = 0;
  /// Time that the last read() left out, since other programs had the core; nullopt if that cannot be told.
  virtual std::optional<Nanoseconds> taken_by_others() const { return std::nullopt; }
};

/// Puts marks around each launch, or around each group of `group` launches.
std::unique_ptr<RoundTimer> make_event_timer(const TimedWork&, std::int64_t values, std::int64_t group,
                                             const InstrumentConstant&);

struct SlopeShape {
  std::int64_t short_launches = 40, long_launches = 120;  ///< launches in the two recordings
  std::int64_t pairs = 1;                                 ///< how often both are replayed in a round
};
/// Times recordings of two lengths; their difference has no constant but that of one more node. In evicted
/// cache states both evict equally often, and only the long one launches.
std::unique_ptr<RoundTimer> make_slope_timer(const TimedWork&, const SlopeShape&, const InstrumentConstant&);

/// Reads the host's clock around launch and wait, each launch on its own.
std::unique_ptr<RoundTimer> make_host_timer(const TimedWork&, std::int64_t values);

/// Times the kernels of each launch by the device's tracer, first start to last end; `is_held`: in a held
/// queue.
std::unique_ptr<RoundTimer> make_trace_timer(const TimedWork&, std::int64_t values, bool is_held = true);

/// Releases a queue on every way out. Armed before it is held, so that it undoes even a begin() that fails.
class QueueHold {
 public:
  explicit QueueHold(Queue& queue) : queue_(queue) {}
  ~QueueHold() { queue_.release(); }
  QueueHold(const QueueHold&) = delete;
  QueueHold& operator=(const QueueHold&) = delete;
  void begin() { queue_.hold(); }
  void release() noexcept { queue_.release(); }

 private:
  Queue& queue_;
};

/// Sets the time after which a held queue is released by itself, for this object's lifetime.
class HoldLimit {
 public:
  HoldLimit(Queue& queue, Nanoseconds limit) : queue_(queue) { queue_.limit_hold(limit); }
  ~HoldLimit() { queue_.limit_hold(Nanoseconds(0)); }
  HoldLimit(const HoldLimit&) = delete;
  HoldLimit& operator=(const HoldLimit&) = delete;

 private:
  Queue& queue_;
};

}  // namespace jitterscope
