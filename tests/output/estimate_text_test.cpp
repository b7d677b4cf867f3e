#include "output/estimate_text.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace jitterscope {
namespace {

const Nanoseconds kNan = Nanoseconds(std::numeric_limits<double>::quiet_NaN());

TEST(EstimateText, WithAndWithoutInterval) {
  EXPECT_EQ(estimate_text({Nanoseconds(3312), Nanoseconds(3309), Nanoseconds(3315.6), 12}),
            "3.312 µs ± 0.1 %");
  EXPECT_EQ(estimate_text({Nanoseconds(3312), kNan, kNan, 3}), "3.31 µs, no interval (3 rounds)");
  EXPECT_EQ(estimate_text({Nanoseconds(3312), Nanoseconds(3312), Nanoseconds(3312), 1}),
            "3.31 µs, no interval (1 round)");
  EXPECT_EQ(estimate_text({}), "–");
}

}  // namespace
}  // namespace jitterscope
