#include "selftest/proof.hpp"

#include <gtest/gtest.h>

namespace jitterscope::selftest {
namespace {

TEST(Shares, TextHasTheExactInterval) {
  // Clopper and Pearson's interval of 9 of 10, as tables have it.
  EXPECT_EQ(frequency_text({9, 10}), "9 of 10: 90.0 % (55.5–99.7 %)");
}

TEST(Shares, ATargetMissesOnlyWhereTheIntervalExcludesIt) {
  EXPECT_EQ(at_least_line("seen", {91, 100}, 0.9, true, "").verdict, Verdict::passed);  // 83.6 to 95.8 %
  EXPECT_EQ(at_least_line("seen", {83, 100}, 0.9, true, "").verdict, Verdict::missed);  // up to 89.8 %
  EXPECT_EQ(at_least_line("seen", {100, 100}, 0.9, false, "").verdict, Verdict::missed);
  EXPECT_EQ(at_most_line("alarms", {4, 100}, 0.01, "").verdict, Verdict::missed);   // 1.1 % and more
  EXPECT_EQ(at_most_line("alarms", {3, 1000}, 0.01, "").verdict, Verdict::passed);  // up to 0.9 %
  EXPECT_EQ(at_most_line("alarms", {3, 100}, 0.01, "").target, "at most 1 %");
}

TEST(Shares, WhatFitsTheTargetAndTwiceTheFailuresIsInconclusive) {
  EXPECT_EQ(at_least_line("seen", {85, 100}, 0.9, true, "").verdict,
            Verdict::inconclusive);                                                      // 76.5 to 91.4 %
  EXPECT_EQ(at_most_line("alarms", {0, 100}, 0.01, "").verdict, Verdict::inconclusive);  // up to 3.6 %
  EXPECT_EQ(verdict_on({7, 12}, 0.834), Verdict::inconclusive);                          // 27.7 to 84.8 %
  EXPECT_EQ(verdict_on({12, 12}, 0.834), Verdict::passed);                               // from 73.5 %
}

}  // namespace
}  // namespace jitterscope::selftest
