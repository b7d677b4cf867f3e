// Who else uses the device while a study runs: nothing here can switch that, so it is named.
#pragma once

#include <string>
#include <vector>

#include "explain/explanation.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::explain {

class ProcessWatch {
 public:
  explicit ProcessWatch(Device& device) : device_(device) {}

  /// Asks the device, but once a second at most: it takes longer than a round.
  void look();
  const OtherProcesses& found() const { return found_; }

 private:
  Device& device_;
  std::optional<Nanoseconds> last_look_;
  OtherProcesses found_;
};

/// A sentence about them; empty where there was none.
std::string sentence_of(const OtherProcesses& others, const Observation& observation);

}  // namespace jitterscope::explain
