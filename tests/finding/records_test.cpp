// What a record of another run gives rise to.
#include <gmock/gmock.h>

#include "finding/finding.hpp"
#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<Finding> about_engine(const std::string& operation, const std::string& algorithm, bool on_gpu) {
  Result result;
  result.subject = Operation::parse(operation);
  result.provider = "onednn";
  result.algorithm = algorithm;
  return simulated::with_id(find_all(result, simulated::context(on_gpu)), "engine_ignored");
}

TEST(EngineIgnored, AnotherEngineThanTheOneNamedIsSaid) {
  const auto found = about_engine("conv2d:n=1,c=8,hw=8,k=8,rs=3,engine=ConvFwd_eng3_k1=2", "jit:avx2", false);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].sentence, HasSubstr("ConvFwd_eng3_k1=2 was asked for"));
  EXPECT_THAT(found[0].sentence, HasSubstr("ran jit:avx2"));
}

TEST(EngineIgnored, TheNamedOneAndAChoiceAreNone) {
  EXPECT_THAT(about_engine("conv2d:n=1,c=8,hw=8,k=8,rs=3,engine=ConvFwd_eng3", "ConvFwd_eng3", true),
              IsEmpty());
  EXPECT_THAT(about_engine("conv2d:n=1,c=8,hw=8,k=8,rs=3,engine=best", "ConvFwd_eng3", true), IsEmpty());
  EXPECT_THAT(about_engine("conv2d:n=1,c=8,hw=8,k=8,rs=3", "ConvFwd_eng3", true), IsEmpty());
  EXPECT_THAT(about_engine("conv2d:n=1,c=8,hw=8,k=8,rs=3,engine=best", "jit:avx2", false), SizeIs(1));
}

TEST(OtherCudnn, BothVersionsAreSaid) {
  DeviceDescription device = simulated::device();
  device.libraries = {{"cudnn", "9.19.0", "/lib/libcudnn.so.9", ""}};
  FindingContext context = simulated::context();
  const FindingContext here{device, context.calibration, context.ceilings, {}, {}, true, "9.10.2"};
  const auto found = simulated::with_id(machine_findings(here), "other_cudnn");
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].sentence, HasSubstr("9.10.2"));
  EXPECT_THAT(found[0].sentence, HasSubstr("9.19.0"));
  const FindingContext same{device, context.calibration, context.ceilings, {}, {}, true, "9.19.0"};
  EXPECT_THAT(simulated::with_id(machine_findings(same), "other_cudnn"), IsEmpty());
}

Measurement alone(CacheState cache, double time_us, Hertz clock) {
  Measurement measurement;
  measurement.conditions.cache = cache;
  measurement.time = {microseconds(time_us), microseconds(time_us), microseconds(time_us), 10};
  measurement.clock = ClockEstimate{clock, clock, clock};
  return measurement;
}

RunRecord in_sequence(double place_us, Hertz clock) {
  RunRecord record;
  Result result;
  result.flops = 1e9;  // much computing for few bytes: it follows the clock
  result.bytes = Bytes(1000000);
  result.measurements = {alone(CacheState::warm, 100, megahertz(1800)),
                         alone(CacheState::cold, 120, megahertz(1800))};
  record.entries = {{result}};
  record.sequence = SequenceMeasurement();
  record.sequence->clock = clock;
  SequenceCall call{"a", 0, {}};
  call.time = {microseconds(place_us), microseconds(place_us), microseconds(place_us), 10};
  record.sequence->calls = {call};
  return record;
}

TEST(SequenceReason, TheNearestCacheStateIsNamed) {
  const auto layers = layers_in_sequence(in_sequence(119.9, megahertz(1800)));
  ASSERT_THAT(layers, SizeIs(1));
  EXPECT_EQ(layers[0].nearest->cache, CacheState::cold);
  EXPECT_EQ(layers[0].reason, "as cold");
}

TEST(SequenceReason, ALowerClockExplainsItsShare) {
  // 100 us at 1800 MHz are 112.5 us at 1600.
  const auto layers = layers_in_sequence(in_sequence(112.5, megahertz(1600)));
  EXPECT_EQ(layers[0].nearest->cache, CacheState::warm);
  EXPECT_THAT(layers[0].reason, HasSubstr("the network's clock 1600 MHz against 1800 MHz alone: +12.5 %"));
  EXPECT_THAT(layers[0].reason, Not(HasSubstr("not explained")));
}

TEST(SequenceReason, WhatMovesMemoryDoesNotFollowTheClock) {
  RunRecord record = in_sequence(100, megahertz(1600));
  record.entries[0].result.flops = 0.0;
  EXPECT_EQ(layers_in_sequence(record)[0].reason, "as warm");
}

// A short layer may run at another clock than the pass that it is part of.
TEST(SequenceReason, TheNetworksClockExplainsNothingWhereNothingDiffers) {
  EXPECT_EQ(layers_in_sequence(in_sequence(99.84, megahertz(1680)))[0].reason, "as warm");
}

TEST(SequenceReason, TheNetworksClockIsLeftOutWhereItWouldLeaveMoreUnexplained) {
  const auto layers = layers_in_sequence(in_sequence(95, megahertz(1680)));
  EXPECT_EQ(layers[0].reason, "as warm; not explained: -5.0 %");
}

TEST(SequenceReason, WhatBothIntervalsCoverIsNoDifference) {
  RunRecord record = in_sequence(103, megahertz(1800));
  EXPECT_EQ(layers_in_sequence(record)[0].reason, "as warm; not explained: +3.0 %");
  TimeEstimate& place = record.sequence->calls[0].time;
  place.low = microseconds(101);
  place.high = microseconds(105);
  TimeEstimate& warm = record.entries[0].result.measurements[0].time;
  warm.low = microseconds(99);
  warm.high = microseconds(101);
  EXPECT_EQ(layers_in_sequence(record)[0].reason, "as warm");
}

TEST(SequenceReason, WhatIsLeftIsSaidToBeUnexplained) {
  const auto layers = layers_in_sequence(in_sequence(90, megahertz(1800)));
  EXPECT_THAT(layers[0].reason, HasSubstr("not explained: -10.0 %"));
}

}  // namespace
}  // namespace jitterscope
