// A simulated GPU for each detector, on which its cause is at work, and a quiet one where none is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

struct DetectorScene {
  std::string id;                  ///< of the finding
  Scene with, without;             ///< the same but for the cause
  bool is_measured_effect = true;  ///< the cause is to change the mean time by 1 %; else it is plainly there
  std::string cause;               ///< for people
};

/// One for each finding that there is.
std::vector<DetectorScene> detector_scenes();

/// Operations on `quiet` that last 100 µs and more, so that no timer, launch or instrument is large beside
/// them, and a finding of any kind is a false alarm.
std::vector<Scene> quiet_scenes();

}  // namespace jitterscope::selftest
