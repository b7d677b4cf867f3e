// What `detectors` is made of.
#pragma once

#include <vector>

#include "selftest/detector_scenes.hpp"
#include "selftest/proof_context.hpp"

namespace jitterscope::selftest {

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
