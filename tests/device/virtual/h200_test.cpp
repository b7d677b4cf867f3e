// The preset h200 against what one H200 showed: medians of rounds of a held queue, 10 to 70 ms of idle
// between.
#include <gtest/gtest.h>

#include "device/virtual/virtual_device.hpp"
#include "measure/session.hpp"

namespace jitterscope::virtual_gpu {
namespace {

Measurement measure_once(const char* text, CacheState cache, Load load) {
  const auto device = open_device("virtual:h200", 11);
  Session session(*device);
  MeasureOptions options;
  options.caches = {cache};
  options.loads = {load};
  const auto prepared = device->prepare(Operation::parse(text), InputData());
  return session.measure(*prepared, text, options).measurements.at(0);
}

double microseconds_of(const Measurement& measurement) { return measurement.time.median.value() * 1e-3; }

constexpr const char* kConvolution = "conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc";
constexpr const char* kProduct = "matmul:m=8192,n=8192,k=8192,dtype=bf16";

TEST(H200, AConvolutionInBursts) {
  const Measurement measurement = measure_once(kConvolution, CacheState::warm, Load::burst);
  EXPECT_NEAR(microseconds_of(measurement), 128.05, 0.03 * 128.05);
  EXPECT_NEAR(measurement.clock->median.value() * 1e-6, 1720, 0.02 * 1720);
}

TEST(H200, AProductInBursts) {
  const Measurement measurement = measure_once(kProduct, CacheState::warm, Load::burst);
  EXPECT_NEAR(microseconds_of(measurement), 1368.8, 0.03 * 1368.8);
  EXPECT_NEAR(measurement.clock->median.value() * 1e-6, 1611, 0.02 * 1611);
}

TEST(H200, AProductUnderThePowerCap) {
  const double time = microseconds_of(measure_once(kProduct, CacheState::warm, Load::sustained));
  EXPECT_GT(time, 1434);
  EXPECT_LT(time, 1793);
  EXPECT_NEAR(time, 1615, 0.05 * 1615);
}

TEST(H200, ALargeCopyRunsAtTheMaximumClock) {
  const Measurement measurement = measure_once("copy:bytes=1Gi", CacheState::warm, Load::burst);
  EXPECT_NEAR(microseconds_of(measurement), 508, 0.03 * 508);
  EXPECT_NEAR(measurement.clock->median.value() * 1e-6, 1978, 0.01 * 1978);
}

// 8 MB: warm 3.26, clean lines elsewhere 4.93, modified lines elsewhere 5.98 us.
TEST(H200, CacheStatesOfACopy) {
  const double warm = microseconds_of(measure_once("copy:bytes=8Mi", CacheState::warm, Load::burst));
  const double cold = microseconds_of(measure_once("copy:bytes=8Mi", CacheState::cold, Load::burst));
  const double dirty = microseconds_of(measure_once("copy:bytes=8Mi", CacheState::dirty, Load::burst));
  EXPECT_NEAR(warm, 3.26, 0.2 * 3.26);
  EXPECT_NEAR(cold, 4.93, 0.2 * 4.93);
  EXPECT_NEAR(dirty, 5.98, 0.2 * 5.98);
  EXPECT_LT(warm, cold);
  EXPECT_LT(cold, dirty);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
