// How other tools decide when to stop, on a simulated GPU whose launches are read without error: what is left
// of a tool is its rule and what it does to caches and power.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/virtual/virtual_device.hpp"
#include "selftest/trial.hpp"

namespace jitterscope::selftest {

/// Mean and deviation of a growing sample, in one pass (Welford 1962).
class RunningMean {
 public:
  void add(double value);
  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  double sum() const { return mean_ * static_cast<double>(count_); }
  double deviation() const;  ///< of the sample (n - 1); 0 below two values

 private:
  std::int64_t count_ = 0;
  double mean_ = 0.0, squares_ = 0.0;
};

/// One operation on a queue, as a peer would launch it.
class PeerBench {
 public:
  PeerBench(const Scene& scene, std::uint64_t seed);

  void launch() { queue_->launch(*operation_); }
  /// As a memset of a large buffer does: modified lines of others everywhere.
  void flush() { queue_->set_cache(CacheState::dirty, *operation_); }
  void wait() { queue_->wait(); }
  Queue& queue() { return *queue_; }
  /// Simulated, from the opening of the device.
  Nanoseconds now() { return device_->host_time(); }
  /// True times of all launches that have run.
  const std::vector<Nanoseconds>& times() const { return times_; }

 private:
  std::vector<Nanoseconds> times_;
  std::unique_ptr<virtual_gpu::VirtualDevice> device_;
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<PreparedOperation> operation_;
};

/// What a peer says, and how long that took. Its interval is that of a mean of independent values, which none
/// of them prints but which their users add.
struct PeerReport {
  Nanoseconds mean, half_width;
  std::int64_t samples = 0;
  Nanoseconds duration;
};

/// nvbench's default criterion: after 0.5 s of GPU time, stop when the samples' deviation is under 0.5 % of
/// their mean, or when that noise itself has varied by less than 5 % over its last 512 values.
class StdrelCriterion {
 public:
  void add(Nanoseconds time);
  bool is_finished() const;

 private:
  bool has_steady_noise() const;

  RunningMean times_;
  std::deque<double> noise_;
};

class PeerRule {
 public:
  virtual ~PeerRule() = default;
  virtual std::string_view name() const = 0;
  /// Whether it flushes the cache before each timed launch.
  virtual bool flushes() const = 0;
  virtual PeerReport measure(PeerBench& bench) const = 0;
};

/// nvbench's cold measurement: one launch at a time behind a gate, each after a flush and a wait; at least
/// 10, for at most 15 s.
std::unique_ptr<PeerRule> nvbench_rule();
/// triton.testing.do_bench: 25 ms of warm-up, 100 ms of flushed launches without waiting between.
std::unique_ptr<PeerRule> do_bench_rule();
/// 10 launches, then 100 that count, back to back.
std::unique_ptr<PeerRule> fixed_count_rule();

}  // namespace jitterscope::selftest
