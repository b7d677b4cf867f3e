// A simulated GPU for each detector, on which its cause is at work, and a quiet one where none is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "selftest/run_proofs.hpp"
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

// What `detectors` is made of.

struct DetectorPlan {
  std::vector<DetectorScene> scenes;
  std::vector<Scene> quiet;
  std::size_t trials = 0;   ///< of each detector's scene, and of all quiet ones together
  std::size_t effects = 0;  ///< trials of each scene in which the true effect is computed
};

DetectorPlan detector_plan(bool quick);
std::vector<ProofLine> prove_detectors(ProofContext& context, const DetectorPlan& plan);

/// How much longer launches truly were with the cause than without it, all else drawn alike.
double true_effect(const DetectorScene& scene, std::uint64_t seed);

}  // namespace jitterscope::selftest
