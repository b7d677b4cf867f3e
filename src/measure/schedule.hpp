// The one schedule of what is timed in bursts: operations, ways to time one, a network in sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/measure.hpp"
#include "measure/decisions.hpp"

namespace jitterscope {

/// An idle before a round: of a random length between the shortest and the longest, so that nothing of a
/// fixed period always meets the same rounds.
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
  bool rests = true;  ///< for the idle; false where another visitor did, behind which this one comes
};

/// Has its turn in block after block, until it needs no more.
class BlockVisitor {
 public:
  virtual ~BlockVisitor() = default;
  virtual bool needs_more() = 0;  ///< asked before each block
  virtual void visit(const Visit& visit) = 0;
  virtual std::size_t visits() const = 0;  ///< so far: the fewest come first
};

/// How many visitors come behind one idle.
enum class IdleSharing {
  none,    ///< one
  by_time  ///< as many as keep the device busy no longer than it rests on average
};

class Schedule {
 public:
  Schedule(Device& device, Decisions& decisions, const MeasureOptions& options, IdleSharing sharing)
      : device_(device), decisions_(decisions), options_(options), sharing_(sharing), random_(options.seed) {}

  /// One block of those that need more; takes the others out. Their order is drawn anew each time, the least
  /// visited first, so that none always follows the same other. False, and no visit, where none needs more or
  /// the user interrupts.
  bool run_block(std::vector<BlockVisitor*>& visitors);

  /// Of which all that is drawn comes, visitors' own orders too.
  Random& random() { return random_; }

 private:
  Device& device_;
  Decisions& decisions_;
  const MeasureOptions& options_;
  IdleSharing sharing_;
  Random random_;
  std::int64_t block_ = -1;
};

// Options that cannot be measured with, said before anything is launched.

/// Of one plain loop.
inline constexpr std::int64_t kMostIterations = 1'000'000;

/// Throws UsageError naming the field and its rule.
void check_options(const MeasureOptions& options);

}  // namespace jitterscope
