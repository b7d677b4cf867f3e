// The clocks that a GPU can have, and the dynamic power at each.
#pragma once

#include <vector>

#include "physics/parameters.hpp"

namespace jitterscope::physics {

class ClockTable {
 public:
  explicit ClockTable(const Parameters& parameters);

  int top() const { return static_cast<int>(power_share_.size()) - 1; }
  int idle() const { return idle_; }
  Hertz frequency(int index) const { return Hertz(index * step_); }
  /// The highest clock not above `frequency`, at least the first step.
  int at_most(Hertz frequency) const;
  /// (V/Vmax)² · f/fmax
  double power_share(int index) const { return power_share_[static_cast<std::size_t>(index)]; }

 private:
  double step_;
  int idle_ = 1;
  std::vector<double> power_share_;
};

}  // namespace jitterscope::physics
