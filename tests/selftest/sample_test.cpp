#include "selftest/simulated_run.hpp"

#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

Scene quiet_convolution() {
  return {"quiet convolution", one_process("quiet"), long_convolution(), one_load(Load::burst)};
}

TEST(Sample, TheConstantIsThatOfTheParameters) {
  Scene scene = quiet_convolution();
  scene.gpu.instruments.mark_overhead = microseconds(2);
  scene.gpu.instruments.node_overhead = Nanoseconds(100);
  scene.gpu.launch.graph_gap = Nanoseconds(300);
  EXPECT_EQ(true_events_constant(scene.gpu), Nanoseconds(1600));
  EXPECT_EQ(true_events_constant(scene.gpu.without(physics::Mechanism::instrument)), Nanoseconds(-300));
  // And the calibration finds it.
  const SimulatedRun trial = simulate_run(scene, 3);
  EXPECT_NEAR(trial.calibration.events.value.value(), 1600, 5);
  EXPECT_NEAR(constant_error(trial.result.measurements.front(), scene.gpu).value(), 0, 5);
}

TEST(Sample, TheTruthIsTheMedianOfAllRoundsAndIsHeld) {
  Court court;
  const Scene scene = quiet_convolution();
  const Sample sample = run_trials(court.context, scene, "a proof", 20);
  ASSERT_EQ(sample.trials.size(), 20u);
  const Nanoseconds truth = true_time(sample, scene.gpu);
  int held = 0, held_lie = 0;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    EXPECT_NEAR(measurement.time.median / truth, 1.0, 0.001);
    held += holds_time(measurement, scene.gpu, truth) ? 1 : 0;
    held_lie += holds_time(measurement, scene.gpu, truth * 1.001) ? 1 : 0;
  }
  EXPECT_GE(held, 16);  // fewer have a probability of 0.3 % at 95 %
  EXPECT_EQ(held_lie, 0);
}

TEST(Sample, ALinePassesWhereTheIntervalMeetsTheTarget) {
  const ProofLine exact = coverage_line("a", {.hits = 1900, .trials = 2000}, 0.94, 0.96, "");
  EXPECT_EQ(exact.verdict, Verdict::passed);
  EXPECT_EQ(exact.target, "94–96 %");
  EXPECT_EQ(exact.measured, "95.0 % (94.0–95.9) of 2000");
  EXPECT_EQ(coverage_line("a", {.hits = 1800, .trials = 2000}, 0.94, 0.96, "").verdict, Verdict::missed);
  EXPECT_EQ(coverage_line("a", {.hits = 1980, .trials = 2000}, 0.94, 0.96, "").verdict, Verdict::missed);
  EXPECT_EQ(coverage_line("a", {.hits = 1980, .trials = 2000}, 0.90, 1.0, "").target, "at least 90 %");
}

TEST(Sample, AnInterruptionEndsTheProofsAtOnce) {
  Court court(truthful_script(), {.quick = true, .interrupted = [] { return true; }});
  EXPECT_THROW(prove_coverage(court.context), InterruptedError);
  EXPECT_THROW(prove_stress(court.context), InterruptedError);
}

}  // namespace
}  // namespace jitterscope::selftest
