#include "output/cells.hpp"

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

TEST(EstimateText, AWideOrLopsidedIntervalIsARange) {
  EXPECT_EQ(estimate_text({microseconds(25), microseconds(25), microseconds(104), 12}), "25 µs (25–104 µs)");
  EXPECT_EQ(estimate_text({microseconds(100), microseconds(80), microseconds(120), 12}),
            "100 µs (80–120 µs)");
  EXPECT_EQ(estimate_text({microseconds(100), microseconds(99.9), microseconds(105), 12}),
            "100 µs (100–105 µs)");
  EXPECT_EQ(estimate_text({microseconds(100), microseconds(97), microseconds(103.4), 12}), "100 µs ± 3.2 %");
  // Between two steps of a coarse timer an interval is often lopsided, and too narrow for it to matter.
  EXPECT_EQ(estimate_text({microseconds(67.2), microseconds(67.2), microseconds(67.7), 12}),
            "67.2 µs ± 0.37 %");
}

}  // namespace
}  // namespace jitterscope
