// The schedule of everything timed in bursts: operations, timing methods, a network in sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/measure.hpp"
#include "measure/decisions.hpp"

namespace jitterscope {

/// Returns a random idle between the shortest and the longest, so that nothing with a fixed period always
/// meets the same rounds.
inline Nanoseconds draw_idle(const MeasureOptions& options, Random& random) {
  return Nanoseconds(random.uniform(options.shortest_idle.value(), options.longest_idle.value()));
}
inline Nanoseconds mean_idle(const MeasureOptions& options) {
  return (options.shortest_idle + options.longest_idle) / 2.0;
}

inline bool is_interrupted(const MeasureOptions& options) {
  return options.interrupted && options.interrupted();
}

/// One turn of a visitor.
struct Visit {
  std::int64_t block = 0;
  Nanoseconds idle;
  bool rests = true;   ///< the visitor idles; false if another has, which this one follows
  Nanoseconds busy{};  ///< how long others have kept the device busy since that idle
};

/// A visitor has one turn in each block until it needs no more.
class BlockVisitor {
 public:
  virtual ~BlockVisitor() = default;
  virtual bool needs_more() = 0;  ///< asked before each block
  virtual void visit(const Visit& visit) = 0;
  virtual std::size_t visits() const = 0;  ///< number so far: the fewest come first
};

/// How many visitors share one idle.
enum class IdleSharing {
  none,    ///< one
  by_time  ///< as many as keep the device busy no longer than a mean idle
};

class Schedule {
 public:
  Schedule(Device& device, Decisions& decisions, const MeasureOptions& options, IdleSharing sharing)
      : device_(device), decisions_(decisions), options_(options), sharing_(sharing), random_(options.seed) {}

  /// Runs one block of the visitors that need more, and removes the others. Their order is random each time,
  /// the least visited first, so that none always follows the same other. Returns false, without a visit, if
  /// none needs more or the user interrupts.
  bool run_block(std::vector<BlockVisitor*>& visitors);

  /// The source of all random choices, also of the visitors' orders.
  Random& random() { return random_; }

 private:
  Device& device_;
  Decisions& decisions_;
  const MeasureOptions& options_;
  IdleSharing sharing_;
  Random random_;
  std::int64_t block_ = -1;
};

// Options that cannot work are refused before anything is launched.

/// Limit for one plain loop.
inline constexpr std::int64_t kMostIterations = 1'000'000;

/// Throws UsageError naming the field and its rule.
void check_options(const MeasureOptions& options);

}  // namespace jitterscope
