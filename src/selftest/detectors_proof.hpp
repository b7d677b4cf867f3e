// Proves that detectors find their causes: simulated GPUs with each cause at work, and quiet GPUs without.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

struct DetectorScene {
  std::string id;                  ///< the finding's id
  Scene with, without;             ///< differ only in the cause
  bool is_measured_effect = true;  ///< the cause changes the mean time by 1 %; else it is plainly there
  std::string cause;               ///< description for people
};

/// Returns a scene for each finding.
std::vector<DetectorScene> detector_scenes();

/// Returns operations on the preset `quiet` that last at least 100 µs. Timer, launch and instrument errors
/// are then small, and any finding is a false alarm.
std::vector<Scene> quiet_scenes();

// Below: the proof `detectors`.

struct DetectorPlan {
  std::vector<DetectorScene> scenes;
  std::vector<Scene> quiet;
  std::size_t trials = 0;   ///< for each detector's scene, and for all quiet scenes together
  std::size_t effects = 0;  ///< trials of each scene with a true effect
};

DetectorPlan detector_plan(bool quick);
std::vector<ProofLine> prove_detectors(ProofContext& context, const DetectorPlan& plan);

/// Returns the relative increase of the launches' true mean time by the cause, with the same random numbers.
double true_effect(const DetectorScene& scene, std::uint64_t seed);

}  // namespace jitterscope::selftest
