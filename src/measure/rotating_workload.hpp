// One operation on several sets of operands, each launch on the next: data that no launch before has touched.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

class RotatingWorkload final : public Workload {
 public:
  explicit RotatingWorkload(std::vector<std::unique_ptr<PreparedOperation>> sets) : sets_(std::move(sets)) {}

  void run(NativeQueue queue) override {
    sets_[next_]->run(queue);
    next_ = (next_ + 1) % sets_.size();
    ++calls_;
  }
  /// Sets lie in different places, so that launches on them may differ.
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

}  // namespace jitterscope
