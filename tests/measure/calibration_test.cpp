#include "measure/session.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <variant>

#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

void expect_covered(const InstrumentConstant& constant, Nanoseconds truth) {
  EXPECT_LE(std::abs((constant.value - truth).value()), constant.uncertainty.value())
      << "read " << constant.value.value() << ", is " << truth.value();
}

TEST(Calibration, RecoversTheEventsConstant) {
  for (int step = 0; step < 40; ++step) {
    Script script;
    script.events_constant = Nanoseconds(1500 + 37.0 * step);
    script.node_constant = Nanoseconds(0);
    Bench bench(script);
    const Calibration calibration = calibrate(bench.device, *bench.queue);
    expect_covered(calibration.events, script.events_constant);
    EXPECT_LE(calibration.events.uncertainty, Nanoseconds(200));
  }
}

TEST(Calibration, TheSlopesBiasIsInTheUncertainty) {
  Script script;
  script.node_constant = Nanoseconds(80);
  Bench bench(script);
  const Calibration calibration = calibrate(bench.device, *bench.queue);
  EXPECT_DOUBLE_EQ(calibration.graph.value.value(), 0.0);
  expect_covered(calibration.graph, script.node_constant);
  expect_covered(calibration.events, script.events_constant);
}

// Events cannot take less than nothing: what a noisy machine reads below it is scatter.
TEST(Calibration, AConstantIsNeverNegative) {
  Script script;
  script.events_constant = Nanoseconds(-700);
  Bench bench(script);
  const Calibration calibration = calibrate(bench.device, *bench.queue);
  EXPECT_EQ(calibration.events.value, Nanoseconds(0));
  expect_covered(calibration.events, script.events_constant);
}

TEST(Calibration, FindsTheTimersGrain) {
  for (const double grain : {32.0, 500.0, 1000.0}) {
    Script script;
    script.grain = Nanoseconds(grain);
    // A period that the grain does not divide, so that neighbouring marks are unequally far apart.
    script.events_constant = Nanoseconds(2345);
    Bench bench(script);
    const Calibration calibration = calibrate(bench.device, *bench.queue);
    EXPECT_NEAR(calibration.events.grain.value(), grain, 1e-3);
    EXPECT_EQ(calibration.graph.grain, calibration.events.grain);
  }
}

TEST(Calibration, OneBlockWhereLaunchesHaveNone) {
  DeviceDescription description;
  description.processors = 4;
  EXPECT_EQ(std::get<Spin>(calibration_operations(description).back().parameters()).blocks, 32);
  description.capabilities.launches_have_blocks = false;
  for (const Operation& operation : calibration_operations(description)) {
    EXPECT_EQ(std::get<Spin>(operation.parameters()).blocks, 1);
  }
}

// Kernels of known length would be read through what else the host does.
TEST(Calibration, OnAHostIsTheSpanBetweenMarks) {
  Script script;
  script.marks_on_device = false;
  script.events_constant = Nanoseconds(25);
  script.mark_cost = Nanoseconds(5);
  script.events_noise = Nanoseconds(3);
  script.grain = Nanoseconds(1);
  Bench bench(script);
  const Calibration calibration = calibrate(bench.device, *bench.queue);
  expect_covered(calibration.events, script.events_constant);
  EXPECT_LE(calibration.events.scatter, Nanoseconds(6));
}

}  // namespace
}  // namespace jitterscope::scripted
