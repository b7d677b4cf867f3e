#include "measure/timing_methods.hpp"

#include <gmock/gmock.h>

namespace jitterscope {
namespace {

using testing::HasSubstr;

MethodReading reading(const char* id, std::vector<double> microsecond_times,
                      CacheState cache = CacheState::warm) {
  MethodReading result;
  result.id = id;
  result.cache = cache;
  for (const double time : microsecond_times) result.times.push_back(microseconds(time));
  return result;
}

MethodComparison comparison_with(std::vector<MethodReading> readings) {
  MethodComparison comparison;
  comparison.reference = readings.front().id;
  comparison.calibration.events.uncertainty = microseconds(0.1);
  comparison.readings = std::move(readings);
  return comparison;
}

MethodComparison short_kernel() { return comparison_with({reading("cupti", {3.31, 3.32, 3.33})}); }

TEST(MethodSentences, OverheadInNumbers) {
  EXPECT_EQ(method_sentences::events_behind_gate(short_kernel(), reading("x", {6.22, 6.24, 6.25})),
            "adds 2.9 µs of event overhead (+88.0 % of this operation)");
}

TEST(MethodSentences, ALaunchCostNearTheKernelIsChance) {
  const MethodComparison comparison = short_kernel();
  EXPECT_EQ(method_sentences::wall_without_wait(comparison, reading("x", {3.1, 3.1, 3.1})),
            "reads the host's launch cost, not the kernel: 3.1 µs each, which comes near the kernel's time "
            "by chance");
  EXPECT_EQ(method_sentences::wall_without_wait(comparison, reading("x", {2.2, 2.2, 2.2})),
            "reads the host's launch cost, not the kernel: 2.2 µs each");
}

TEST(MethodSentences, ACpuLaunchWaitsByItself) {
  MethodComparison comparison = comparison_with({reading("events_less_constant", {50, 50.1, 50.2})});
  comparison.launches_return_early = false;
  EXPECT_THAT(
      method_sentences::wall_without_wait(comparison, reading("x", {50.2, 50.3, 50.4})),
      HasSubstr("which waits here by itself), which hardly matters for an operation this long: +0.40 %"));
}

TEST(MethodSentences, TooLittleOverheadIsNotBlamed) {
  EXPECT_THAT(method_sentences::events_behind_gate(short_kernel(), reading("x", {3.2, 3.4, 3.9})),
              HasSubstr("which the noise hides here (+2.4 %)"));
}

TEST(MethodSentences, OneInterruptedRepetitionDoesNotHideADifference) {
  const MethodComparison comparison = comparison_with({reading("cupti", {3.31, 3.31, 3.32, 3.33, 900})});
  EXPECT_THAT(method_sentences::wall_with_wait(comparison, reading("x", {8.1, 8.2, 8.3, 8.4, 8.5})),
              HasSubstr("adds 5 µs"));
}

TEST(MethodSentences, BelowTheReferenceNothingWasAdded) {
  EXPECT_EQ(method_sentences::wall_with_wait(short_kernel(), reading("x", {2.9, 2.9, 2.9})),
            "reads 420 ns less than the reference (-12.7 %): it adds launching and waiting, so the operation "
            "itself "
            "ran faster then");
}

TEST(MethodSentences, WhatTheConstantExplainsIsRight) {
  EXPECT_EQ(method_sentences::events_less_constant(short_kernel(), reading("x", {3.4, 3.4, 3.4})),
            "right within its known uncertainty: 80 ns (+2.4 %) of ± 100 ns");
  EXPECT_EQ(method_sentences::events_less_constant(short_kernel(), reading("x", {3.6, 3.6, 3.7})),
            "off by 280 ns (+8.4 %), while its repetitions spread by 2.8 %");
}

TEST(MethodSentences, CachesThatMakeNoDifferenceAreSaidToMakeNone) {
  const MethodComparison comparison =
      comparison_with({reading("events_less_constant", {10, 10, 10}),
                       reading("cold", {10.05, 10.05, 10.05}, CacheState::cold)});
  EXPECT_THAT(method_sentences::cold(comparison, comparison.readings[1]),
              HasSubstr("no different from the warm time here (+0.50 %)"));
  EXPECT_THAT(method_sentences::dirty(comparison, reading("dirty", {12.06, 12.06, 12.06}, CacheState::dirty)),
              HasSubstr("against the cold time: +20.0 %"));
}

TEST(MethodSentences, WithoutAReferenceNoDistanceIsClaimed) {
  MethodComparison comparison;
  EXPECT_EQ(method_sentences::graph_slope(comparison, reading("graph_slope", {3.3})),
            "there is no reference to say how far off it is");
  EXPECT_THAT(method_sentences::wall_with_wait(comparison, reading("x", {8.1})), HasSubstr("no reference"));
}

}  // namespace
}  // namespace jitterscope
