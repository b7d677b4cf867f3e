// One operation on several sets of operands, and the plain loop that every benchmark begins with.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measure.hpp"
#include "measure/session.hpp"

namespace jitterscope {

class RotatingWorkload final : public Workload {
 public:
  explicit RotatingWorkload(std::vector<std::unique_ptr<PreparedOperation>> sets) : sets_(std::move(sets)) {}

  void run(NativeQueue queue) override {
    sets_[next_]->run(queue);
    next_ = (next_ + 1) % sets_.size();
    ++calls_;
  }
  /// Sets lie in different places, so launches on them may differ.
  std::optional<std::int64_t> calls() const override {
    return sets_.size() > 1 ? std::optional(calls_) : std::nullopt;
  }
  bool waits_for_queue() const override { return sets_.front()->waits_for_queue(); }
  bool produce_inputs(NativeQueue queue) override { return sets_[next_]->produce_inputs(queue); }
  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> all;
    for (const auto& set : sets_) {
      const std::vector<MemoryRegion> regions = set->memory();
      all.insert(all.end(), regions.begin(), regions.end());
    }
    return all;
  }
  bool place_anew() override { return sets_.size() == 1 && sets_.front()->place_anew(); }
  PreparedOperation& first() { return *sets_.front(); }
  std::size_t sets() const { return sets_.size(); }

 private:
  std::vector<std::unique_ptr<PreparedOperation>> sets_;
  std::size_t next_ = 0;
  std::int64_t calls_ = 0;
};

// Operands are the same for all launches, or each launch has a set that leaves the cache before its next use.

/// Returns how many sets fresh data needs: three times the last-level cache passes between two launches on
/// one set. Throws UsageError, with the numbers and a remedy, if these exceed the memory or what can be
/// prepared in reasonable time, or if the size of the cache is unknown.
std::size_t sets_for_fresh_data(const DeviceDescription& device, const Operation& operation);

inline constexpr std::size_t kAnyNumberOfLaunches = std::numeric_limits<std::size_t>::max();
/// Prepares one set, or those for fresh data if the options ask for it, but never more than launches.
RotatingWorkload prepare_sets(Device& device, const Operation& operation, const MeasureOptions& options,
                              std::size_t launches);

// The loop that every benchmark begins with shows how a launch's time depends on the number of launches.

/// For each count of options.iterations, prepares the operation anew, lets the device rest for
/// kIterationRest, and makes that many launches without a wait between them. An interruption, checked before
/// each launch, ends the loop and keeps the results so far.
std::vector<IterationRun> run_iterations(Session& session, const Operation& operation,
                                         const MeasureOptions& options);

/// Long enough for the SM clock of an idle GPU to leave its maximum if the driver lets it, and for its
/// temperature to fall by most of what a short load added.
inline constexpr Nanoseconds kIterationRest = seconds(1);

}  // namespace jitterscope
