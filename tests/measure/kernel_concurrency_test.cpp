#include "measure/launch_details.hpp"

#include <gtest/gtest.h>

#include "measuring.hpp"

namespace jitterscope {
namespace {

KernelTime kernel_on(std::uint32_t stream, double start, double end, const std::string& name = "kernel") {
  KernelTime kernel{name, Nanoseconds(start), Nanoseconds(end)};
  kernel.stream = stream;
  return kernel;
}

TEST(KernelConcurrency, IsOneWhereKernelsFollowEachOther) {
  const auto found = concurrency_of({kernel_on(1, 0, 10), kernel_on(2, 10, 20), kernel_on(1, 25, 30)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->streams, 2);
  EXPECT_EQ(found->most_at_once, 1) << "one ends as the next one starts";
  EXPECT_DOUBLE_EQ(found->mean_at_once, 1.0) << "when nothing runs does not count";
}

TEST(KernelConcurrency, IsTheirTimesOverThatInWhichAnyRan) {
  // 10 + 10 + 6 ns, in 0 to 15 and 40 to 46: 26 / 21.
  const auto found = concurrency_of({kernel_on(7, 0, 10), kernel_on(8, 5, 15), kernel_on(9, 40, 46)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->streams, 3);
  EXPECT_EQ(found->most_at_once, 2);
  EXPECT_DOUBLE_EQ(found->mean_at_once, 26.0 / 21.0);
}

TEST(KernelConcurrency, HoldsForAKernelWithinAnotherAndForAnyOrder) {
  const auto found = concurrency_of({kernel_on(2, 4, 6), kernel_on(1, 0, 10), kernel_on(3, 5, 9)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->most_at_once, 3);
  EXPECT_DOUBLE_EQ(found->mean_at_once, 1.6);
}

TEST(KernelConcurrency, WhatTakesNoTimeRanBesideNothing) {
  EXPECT_FALSE(concurrency_of({}));
  EXPECT_FALSE(concurrency_of({kernel_on(1, 5, 5)}));
  const auto found = concurrency_of({kernel_on(1, 0, 10), kernel_on(2, 5, 5)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->streams, 1);
  EXPECT_EQ(found->most_at_once, 1);
}

// The second launch starts before the first one's kernels have ended.
TEST(KernelConcurrency, EachLaunchIsTakenOnItsOwn) {
  const KernelsOfLaunch one = {kernel_on(1, 0, 10), kernel_on(2, 0, 10)},
                        next = {kernel_on(1, 5, 15), kernel_on(2, 15, 25)},
                        third = {kernel_on(1, 30, 40), kernel_on(2, 35, 45)};
  const auto found = median_concurrency({one, next, third, {}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->streams, 2);
  EXPECT_EQ(found->most_at_once, 2) << "of 2, 1 and 2";
  EXPECT_DOUBLE_EQ(found->mean_at_once, 20.0 / 15.0) << "of 2, 1 and 1.33";
  EXPECT_FALSE(median_concurrency({{}, {}}));
}

// On two streams either kernel may start first.
TEST(KernelsOverStreams, AKernelIsComparedWithItselfInAnotherLaunch) {
  const KernelsOfLaunch first = {kernel_on(1, 0, 100, "large"), kernel_on(2, 1, 5, "small")},
                        other = {kernel_on(2, 0, 6, "small"), kernel_on(1, 1, 103, "large")};
  const auto kernels = summarise_kernels({first, other});
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "large");
  EXPECT_EQ(kernels[0].minimum, Nanoseconds(100));
  EXPECT_EQ(kernels[0].maximum, Nanoseconds(102));
  EXPECT_EQ(kernels[1].maximum, Nanoseconds(6));
}

TEST(KernelsOverStreams, KernelsOfOneNameAreToldByTheirStreams) {
  const KernelsOfLaunch first = {kernel_on(1, 0, 100), kernel_on(2, 1, 5)},
                        other = {kernel_on(2, 0, 5), kernel_on(1, 1, 101)};
  EXPECT_EQ(in_order_of(first, other).front().stream, 1u);
}

TEST(KernelsOverStreams, WhereStreamsChangeNamesTell) {
  const KernelsOfLaunch first = {kernel_on(1, 0, 9, "a"), kernel_on(2, 1, 5, "b")},
                        other = {kernel_on(8, 0, 5, "b"), kernel_on(9, 1, 9, "a")},
                        unlike = {kernel_on(1, 0, 5, "c"), kernel_on(2, 1, 9, "a")};
  EXPECT_EQ(in_order_of(first, other).front().name, "a");
  EXPECT_EQ(in_order_of(first, unlike).front().name, "c") << "as they came";
}

}  // namespace
}  // namespace jitterscope

namespace jitterscope::scripted {
namespace {

const Operation kTracedAdd = Operation::parse("add:count=1024");

TracedWork traced_over_streams(std::int64_t streams, Holding holding) {
  Laboratory laboratory;
  laboratory.device.script().kernels_per_launch = 8;
  laboratory.device.script().kernel_streams = streams;
  const auto prepared = laboratory.device.prepare(kTracedAdd, {});
  return trace_launch(laboratory.device, laboratory.session.queue(), *prepared, holding);
}

TEST(TracedConcurrency, IsThatOfLaunchesThatAGateHeld) {
  const auto found = traced_over_streams(4, Holding::possible).concurrency;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->streams, 4);
  EXPECT_EQ(found->most_at_once, 4);
  EXPECT_NEAR(found->mean_at_once, 4.0, 1e-6);
}

TEST(TracedConcurrency, IsAsLaunchedWhereNoGateIsPossible) {
  const auto found = traced_over_streams(4, Holding::impossible).concurrency;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->streams, 4);
  EXPECT_NEAR(found->mean_at_once, 1.0, 1e-6);
}

TEST(TracedConcurrency, OneStreamNeedsNoGate) {
  Laboratory laboratory;
  const auto prepared = laboratory.device.prepare(kTracedAdd, {});
  const auto gates = [&] { return laboratory.device.state().counts[Call::hold]; };
  const std::int64_t before = gates();
  const TracedWork traced =
      trace_launch(laboratory.device, laboratory.session.queue(), *prepared, Holding::possible);
  EXPECT_EQ(gates(), before);
  ASSERT_TRUE(traced.concurrency);
  EXPECT_EQ(traced.concurrency->streams, 1);
}

TEST(TracedConcurrency, StandsInTheResultBesideTheKernels) {
  Laboratory laboratory;
  laboratory.device.script().kernels_per_launch = 8;
  laboratory.device.script().kernel_streams = 2;
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.kernels = true;
  const Result gated = measure_operation(laboratory.session, kTracedAdd, options, false);
  ASSERT_TRUE(gated.concurrency);
  EXPECT_NEAR(gated.concurrency->mean_at_once, 2.0, 1e-6);
  options.queue = QueueMode::eager;
  const Result eager = measure_operation(laboratory.session, kTracedAdd, options, false);
  ASSERT_TRUE(eager.concurrency);
  EXPECT_NEAR(eager.concurrency->mean_at_once, 1.0, 1e-6) << "as a program launches it";
}

}  // namespace
}  // namespace jitterscope::scripted
