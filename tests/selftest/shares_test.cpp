#include "selftest/shares.hpp"

#include <gtest/gtest.h>

namespace jitterscope::selftest {
namespace {

TEST(Shares, TextHasTheExactInterval) {
  // Clopper and Pearson's interval of 9 of 10, as tables have it.
  EXPECT_EQ(share_text({9, 10}), "9 of 10: 90.0 % (55.5–99.7 %)");
}

TEST(Shares, ATargetMissesOnlyWhereTheIntervalExcludesIt) {
  EXPECT_EQ(at_least_line("seen", {85, 100}, 0.9, true, "").verdict, Verdict::passed);  // up to 91.4 %
  EXPECT_EQ(at_least_line("seen", {83, 100}, 0.9, true, "").verdict, Verdict::missed);  // up to 89.8 %
  EXPECT_EQ(at_least_line("seen", {100, 100}, 0.9, false, "").verdict, Verdict::missed);
  EXPECT_EQ(at_most_line("alarms", {4, 100}, 0.01, "").verdict, Verdict::missed);  // 1.1 % and more
  EXPECT_EQ(at_most_line("alarms", {3, 100}, 0.01, "").verdict, Verdict::passed);
  EXPECT_EQ(at_most_line("alarms", {3, 100}, 0.01, "").target, "at most 1 %");
}

}  // namespace
}  // namespace jitterscope::selftest
