#include "device/cuda/nvml.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "support/stand_in_nvml.hpp"

namespace jitterscope::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NvmlTest : public testing::Test {
 protected:
  void SetUp() override { setenv("JITTERSCOPE_NVML", STAND_IN_NVML_LIBRARY, 1); }
  void TearDown() override {
    unsetenv(stand_in::kMissing);
    unsetenv(stand_in::kBraked);
  }
  NvmlDevice device() {
    std::string problem;
    auto found = NvmlDevice::find(stand_in::kUuid, &problem);
    EXPECT_TRUE(found) << problem;
    return *found;
  }
};

TEST_F(NvmlTest, ReadsEverySensorInItsUnit) {
  const SensorReading reading = device().read_sensors(seconds(1));
  EXPECT_EQ(reading.sm_clock, megahertz(1755));
  EXPECT_EQ(reading.memory_clock, megahertz(3201));
  EXPECT_EQ(reading.power, Watts(512.5));
  EXPECT_EQ(reading.temperature, Celsius(47));
  EXPECT_EQ(reading.energy, Joules(5000));
  EXPECT_EQ(reading.throttled_power, milliseconds(7));
  EXPECT_GE(reading.throttled_thermal, Nanoseconds(1200));  // by software 1000, by hardware the rest
  EXPECT_EQ(reading.throttled_brake, std::nullopt);
  EXPECT_THAT(reading.clock_reasons, ElementsAre("power_cap", "thermal"));
}

// They take milliseconds on an H200, and rounds last one.
TEST_F(NvmlTest, SlowSensorsAreReadTenTimesASecond) {
  NvmlDevice gpu = device();
  const SensorReading first = gpu.read_sensors(seconds(1));
  const SensorReading soon = gpu.read_sensors(seconds(1.099));
  EXPECT_EQ(soon.energy, std::nullopt);
  EXPECT_EQ(soon.throttled_thermal, first.throttled_thermal);
  EXPECT_EQ(soon.power, first.power);
  EXPECT_EQ(soon.throttled_power, first.throttled_power);
  const SensorReading later = gpu.read_sensors(seconds(1.1));
  EXPECT_EQ(later.energy, Joules(5000));
  EXPECT_EQ(later.throttled_thermal, *first.throttled_thermal + Nanoseconds(200));
}

TEST_F(NvmlTest, SlowSensorsAreReadWhileTheHardwareHoldsTheClock) {
  NvmlDevice gpu = device();
  const SensorReading first = gpu.read_sensors(seconds(1));
  setenv(stand_in::kBraked, "1", 1);
  const SensorReading braked = gpu.read_sensors(seconds(1.001));
  EXPECT_THAT(braked.clock_reasons, ElementsAre("power_brake"));
  EXPECT_EQ(braked.throttled_thermal, *first.throttled_thermal + Nanoseconds(200));
}

TEST_F(NvmlTest, OlderFunctionsServeWhereNewOnesAreMissing) {
  setenv(stand_in::kMissing, "nvmlDeviceGetFieldValues,nvmlDeviceGetCurrentClocksEventReasons", 1);
  const SensorReading reading = device().read_sensors(seconds(1));
  EXPECT_EQ(reading.power, Watts(400));
  EXPECT_EQ(reading.throttled_power, std::nullopt);
  EXPECT_THAT(reading.clock_reasons, ElementsAre("idle"));
}

TEST_F(NvmlTest, WhatIsMissingIsAbsent) {
  setenv(stand_in::kMissing,
         "nvmlDeviceGetClockInfo,nvmlDeviceGetTemperature,nvmlDeviceGetSupportedMemoryClocks", 1);
  const SensorReading reading = device().read_sensors(seconds(1));
  EXPECT_EQ(reading.sm_clock, std::nullopt);
  EXPECT_EQ(reading.temperature, std::nullopt);
  EXPECT_THAT(device().supported_sm_clocks(), IsEmpty());
  EXPECT_EQ(device().virtualisation(), std::nullopt);
  EXPECT_EQ(device().power_limit(), std::nullopt);
  EXPECT_EQ(device().persistence(), true);
}

TEST_F(NvmlTest, SupportedClocksAreThoseOfTheFastestMemory) {
  const std::vector<Hertz> clocks = device().supported_sm_clocks();
  ASSERT_EQ(clocks.size(), 110u);
  EXPECT_EQ(clocks.front(), megahertz(345));
  EXPECT_EQ(clocks.back(), megahertz(1980));
}

TEST_F(NvmlTest, ProblemsNameTheirCause) {
  std::string problem;
  EXPECT_FALSE(NvmlDevice::find("GPU-unknown", &problem));
  EXPECT_THAT(problem, HasSubstr("GPU-unknown"));
  setenv(stand_in::kMissing, "nvmlInit_v2", 1);
  EXPECT_FALSE(NvmlDevice::find(stand_in::kUuid, &problem));
  EXPECT_THAT(problem, HasSubstr("Function Not Found"));
  setenv("JITTERSCOPE_NVML", "/nonexistent/libnvidia-ml.so.1", 1);
  EXPECT_FALSE(NvmlDevice::find(stand_in::kUuid, &problem));
  EXPECT_THAT(problem, HasSubstr("cannot open shared object file"));
}

TEST_F(NvmlTest, OtherProcessesHaveNamesWhereTheyAreTold) {
  const auto processes = device().processes();
  ASSERT_TRUE(processes);
  EXPECT_THAT(others_among(*processes, 77), ElementsAre("4242 /usr/bin/train"));
  EXPECT_THAT(others_among(*processes, 4242), ElementsAre("77 (name hidden)"));
}

TEST(OtherProcesses, OneEntryIsThisProcessEvenWherePidsDiffer) {
  EXPECT_THAT(others_among({{123456, ""}}, 7), IsEmpty());
  EXPECT_THAT(others_among({{123456, ""}, {5, "/bin/jitterscope"}}, 7), ElementsAre("123456 (name hidden)"));
  EXPECT_THAT(others_among({}, 7), IsEmpty());
}

}  // namespace
}  // namespace jitterscope::cuda
