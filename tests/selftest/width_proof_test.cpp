#include "selftest/width_proof.hpp"

#include "device/virtual/kernel_work.hpp"
#include "physics/machine.hpp"
#include "physics/preset.hpp"
#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

Scene quiet_product() {
  Scene scene{.name = "quiet product",
              .gpu = physics::find_preset("quiet"),
              .operation = Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=bf16"),
              .options = {}};
  scene.options.caches = {CacheState::warm};
  scene.options.loads = {Load::burst};
  return scene;
}

TEST(TraceBurst, FindsTheTimedLaunchesAmongTheOthers) {
  // Marks that add the same each time: a reading is the time of its launch but for a constant.
  Scene scene = quiet_product();
  scene.gpu = scene.gpu.without(physics::Mechanism::timer_grain);
  scene.gpu.instruments.mark_jitter = Nanoseconds(0);
  scene.operation = Operation::parse("conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc");
  const TracedBurst burst = trace_burst(scene, 3);
  const std::vector<Round>& rounds = burst.measurement().rounds;
  ASSERT_EQ(burst.true_rounds.size(), rounds.size());
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    ASSERT_EQ(burst.true_rounds[round].size(), rounds[round].launches.size());
    const double shift = rounds[round].launches[0].value() - burst.true_rounds[round][0];
    for (std::size_t i = 0; i < rounds[round].launches.size(); ++i) {
      EXPECT_NEAR(rounds[round].launches[i].value() - burst.true_rounds[round][i], shift, 1.0);
    }
    EXPECT_NEAR(burst.reading_error().value(), shift, 1.0);
  }
}

TEST(TrueBurst, IsTheTimeOfAQuietKernelAtItsClock) {
  const Scene scene = quiet_product();
  physics::Machine alone(scene.gpu.without(physics::Mechanism::noise), 1);
  std::vector<physics::Buffer> buffers;
  for (const Operand& operand : scene.operation.operands())
    buffers.push_back(alone.allocate(operand.bytes()));
  const physics::KernelWork work =
      virtual_gpu::kernel_work(scene.gpu, scene.operation, buffers, DataKind::normal);
  alone.run(work, alone.free_at());
  const physics::Execution warm = alone.run(work, alone.free_at());
  const TrueBurst truth = true_burst(scene, CacheState::warm, 50, 1);
  EXPECT_NEAR(truth.clock.value() * 1e-6, 1980.0, 1.0);
  EXPECT_NEAR(truth.time / warm.time(), 1.0, 0.0005);
}

WidthPlan small_width_plan() { return {.scenes = {quiet_product()}, .trials = 6, .rounds_of_truth = 50}; }

TEST(WidthProof, HasThreeLinesForEachScene) {
  Court court;
  WidthPlan plan = small_width_plan();
  plan.scenes.front().name = "capped";
  plan.scenes.front().gpu = physics::find_preset("h200");
  const std::vector<ProofLine> lines = prove_width(court.context, plan);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].name, "bias, capped");
  EXPECT_EQ(lines[1].name, "interval holds the truth, capped");
  EXPECT_EQ(lines[2].name, "time needed, capped");
  EXPECT_EQ(lines[0].verdict, Verdict::passed);
  EXPECT_EQ(lines[2].verdict, Verdict::passed);
}

// A process effect is in no interval, and makes the truth of one process a lie about the others.
TEST(WidthProof, TimesAndIntervalsBesideTheTruthMiss) {
  Court court;
  WidthPlan plan = small_width_plan();
  plan.scenes.front().gpu.noise.process_sd = 0.02;
  const std::vector<ProofLine> lines = prove_width(court.context, plan);
  EXPECT_EQ(lines[0].verdict, Verdict::missed);
  EXPECT_EQ(lines[1].verdict, Verdict::missed);
}

TEST(WidthProof, LongerThanASecondMisses) {
  Court court;
  WidthPlan plan = small_width_plan();
  plan.scenes.front().options.minimum_rounds = 400;
  EXPECT_EQ(prove_width(court.context, plan)[2].verdict, Verdict::missed);
}

}  // namespace
}  // namespace jitterscope::selftest
