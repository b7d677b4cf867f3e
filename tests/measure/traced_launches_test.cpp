#include "measure/launch_details.hpp"

#include <gtest/gtest.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

KernelTime kernel_of(std::optional<std::uint64_t> launch, double start, double end) {
  KernelTime kernel{"kernel", Nanoseconds(start), Nanoseconds(end)};
  kernel.launch = launch;
  return kernel;
}

TEST(TracedLaunches, AKernelBelongsToItsLaunchWhereverItStands) {
  const auto launches = kernels_by_launch(
      {kernel_of(1, 0, 9), kernel_of({}, 1, 2), kernel_of(0, 2, 3), kernel_of(1, 4, 6), kernel_of(5, 7, 8)},
      3);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[0].size(), 1u);
  ASSERT_EQ(launches[1].size(), 2u);
  EXPECT_EQ(launches[1][1].start, Nanoseconds(4));
  EXPECT_TRUE(launches[2].empty());
}

// On two streams the one that starts last need not end last.
TEST(TracedLaunches, ALaunchEndsWithTheLastOfItsKernels) {
  EXPECT_EQ(time_of({kernel_of(0, 2, 9), kernel_of(0, 4, 6)}), Nanoseconds(7));
  EXPECT_EQ(time_of({}), Nanoseconds(0));
}

TEST(TracedLaunches, EqualLaunchesHaveAsManyKernels) {
  const KernelTime kernel = kernel_of(0, 0, 1);
  EXPECT_NO_THROW(require_equal_launches({{kernel}, {kernel}}));
  EXPECT_THROW(require_equal_launches({{kernel}, {kernel, kernel}}), FailedError);
}

}  // namespace
}  // namespace jitterscope
