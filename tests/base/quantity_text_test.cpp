#include "base/quantity_text.hpp"

#include <gtest/gtest.h>

namespace jitterscope::base {
namespace {

TEST(QuantityText, TimesTakeTheUnitThatFits) {
  EXPECT_EQ(time_text(Nanoseconds(32), 3), "32.0 ns");
  EXPECT_EQ(time_text(microseconds(127.84)), "127.8 µs");
  EXPECT_EQ(time_text(milliseconds(1.3684)), "1.368 ms");
  EXPECT_EQ(time_text(seconds(9.5), 3), "9.50 s");
  EXPECT_EQ(time_text(Nanoseconds(0)), "0.000 ns");
  EXPECT_EQ(time_text(microseconds(-1.5), 2), "-1.5 µs");
}

TEST(QuantityText, RoundingUpTakesTheNextUnit) {
  EXPECT_EQ(time_text(Nanoseconds(999.96)), "1.000 µs");
  EXPECT_EQ(time_text(Nanoseconds(999.94)), "999.9 ns");
}

TEST(QuantityText, SharesAndChanges) {
  EXPECT_EQ(percent_text(0.0052), "0.52 %");
  EXPECT_EQ(percent_text(0.0996), "10 %");
  EXPECT_EQ(percent_text(1.0), "100 %");
  EXPECT_EQ(percent_text(0.814, 3), "81.4 %");
  EXPECT_EQ(change_text(0.141), "+14.1 %");
  EXPECT_EQ(change_text(-0.0052), "-0.52 %");
}

TEST(QuantityText, ClocksAndPowers) {
  EXPECT_EQ(clock_text(megahertz(1611.6)), "1612 MHz");
  EXPECT_EQ(power_text(Watts(700)), "700 W");
}

}  // namespace
}  // namespace jitterscope::base
