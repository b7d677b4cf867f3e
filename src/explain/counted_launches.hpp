// What hardware counters say of a plain launch and of a treated one.
#pragma once

#include "explain/explanation.hpp"
#include "explain/treated_loop.hpp"

namespace jitterscope::explain {

/// Counts one launch of each kind, apart from all times. Values that neither has are left out. Throws as
/// Device::count does.
class LaunchCounting {
 public:
  explicit LaunchCounting(TreatedLoop& bench);
  std::vector<CountedChange> compare(const Treatment& treatment);

 private:
  TreatedLoop& bench_;
  std::unique_ptr<CounterReader> reader_;
  CounterReading plain_;
};

/// "reads 31 MiB more from DRAM (plain: 12 MiB)"; empty where nothing differs that has words.
std::string counter_words(const std::vector<CountedChange>& changes);

}  // namespace jitterscope::explain
