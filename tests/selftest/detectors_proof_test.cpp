#include "selftest/detectors_proof.hpp"

#include <algorithm>

#include "device/virtual/virtual_device.hpp"
#include "physics/preset.hpp"
#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

const DetectorScene& scene_of(const std::vector<DetectorScene>& scenes, const std::string& id) {
  return *std::ranges::find(scenes, id, &DetectorScene::id);
}

TEST(DetectorsProof, EachFindingIsSeenAndKeepsSilent) {
  Court court;
  DetectorPlan plan = detector_plan(true);
  plan.trials = 4;
  plan.effects = 4;
  const std::vector<ProofLine> lines = prove_detectors(court.context, plan);
  ASSERT_EQ(lines.size(), 2 * detector_scenes().size());
  for (const ProofLine& line : lines)
    EXPECT_NE(line.verdict, Verdict::missed) << line.name << ": " << line.note;  // four trials show no more
  EXPECT_EQ(lines.front().name, "seen, no_steady_state");
  EXPECT_EQ(lines.front().measured, "4 of 4: 100.0 % (39.8–100.0 %)");
  EXPECT_EQ(lines.back().name, "false alarms, pageable");
}

TEST(DetectorsProof, ADetectorThatNeverFiresMisses) {
  Court court;
  DetectorScene silent = scene_of(detector_scenes(), "timer_grain");
  silent.with = quiet_scenes().front();
  const std::vector<ProofLine> lines = prove_detectors(
      court.context, {.scenes = {silent}, .quiet = quiet_scenes(), .trials = 4, .effects = 0});
  EXPECT_EQ(verdicts(lines), (std::vector{Verdict::missed, Verdict::inconclusive}));
}

TEST(DetectorsProof, ADetectorThatAlwaysFiresMisses) {
  Court court;
  const DetectorScene loud = scene_of(detector_scenes(), "timer_grain");
  const std::vector<ProofLine> lines =
      prove_detectors(court.context, {.scenes = {loud}, .quiet = {loud.with}, .trials = 4, .effects = 0});
  EXPECT_EQ(verdicts(lines), (std::vector{Verdict::inconclusive, Verdict::missed}));
}

TEST(DetectorsProof, AnEffectThatIsNotOnePercentMisses) {
  Court court;
  DetectorScene strong = scene_of(detector_scenes(), "other_process");
  strong.with.gpu.contention.bandwidth_loss = 0.03;
  const std::vector<ProofLine> lines = prove_detectors(
      court.context, {.scenes = {strong}, .quiet = quiet_scenes(), .trials = 4, .effects = 2});
  EXPECT_EQ(lines.front().verdict, Verdict::missed);
  EXPECT_THAT(lines.front().note, testing::HasSubstr("true effect on the time +3.1 %"));
}

TEST(DetectorsProof, TheEffectIsThatOfTheCauseAlone) {
  // A hundredth of the bandwidth gone: 1/0.99 - 1, on a kernel that is all memory but for its start.
  EXPECT_NEAR(true_effect(scene_of(detector_scenes(), "other_process"), 3), 0.0101, 1e-4);
  DetectorScene none = scene_of(detector_scenes(), "drift");
  none.with = none.without;
  EXPECT_EQ(true_effect(none, 3), 0.0);
}

TEST(DetectorsProof, AnInterruptionEndsItAtOnce) {
  Court court(truthful_script(), {.quick = true, .interrupted = [] { return true; }});
  EXPECT_THROW(prove_detectors(court.context), InterruptedError);
}

}  // namespace
}  // namespace jitterscope::selftest
