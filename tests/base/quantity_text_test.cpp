#include "base/quantity_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace jitterscope {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
const Nanoseconds kNan = Nanoseconds(std::numeric_limits<double>::quiet_NaN());

TEST(QuantityText, OneIsNoPlural) {
  EXPECT_EQ(counted(1, "round"), "1 round");
  EXPECT_EQ(counted(0, "round"), "0 rounds");
  EXPECT_EQ(counted(6, "different operation"), "6 different operations");
  EXPECT_EQ(counted(1, "process"), "1 process");
  EXPECT_EQ(counted(2, "process"), "2 processes");
}

TEST(TimeText, ShowsTheDigitsThatTheIntervalSupports) {
  EXPECT_EQ(time_text(Nanoseconds(3312.4), 0.001), "3.312 µs");
  EXPECT_EQ(time_text(Nanoseconds(127912), 0.001), "127.9 µs");
  EXPECT_EQ(time_text(milliseconds(1.3684), 0.001), "1.368 ms");
  EXPECT_EQ(time_text(seconds(2.4123), 0.005), "2.41 s");
  EXPECT_EQ(time_text(seconds(2.4123), 0.05), "2.4 s");
  EXPECT_EQ(time_text(seconds(2.4123), kInfinite), "2.41 s");
}

TEST(TimeText, RoundingNeverReachesAThousand) {
  EXPECT_EQ(time_text(Nanoseconds(999960), 0.001), "1.000 ms");
  EXPECT_EQ(time_text(Nanoseconds(999400), 0.001), "999 µs");
  EXPECT_EQ(time_text(Nanoseconds(999.6), 0.005), "1.000 µs");
}

TEST(TimeText, OddValues) {
  EXPECT_EQ(time_text(Nanoseconds(0)), "0 ns");
  EXPECT_EQ(time_text(Nanoseconds(-20)), "-20.0 ns");
  EXPECT_EQ(time_text(kNan), "–");
  EXPECT_EQ(time_text(seconds(12345), 0.01), "12345 s");
}

TEST(TimeText, EveryTimeReadsBackWithinItsPrecision) {
  for (double value = 0.37; value < 1e12; value *= 1.7) {
    for (const double precision : {1e-4, 1e-3, 5e-3, 5e-2}) {
      const std::string text = time_text(Nanoseconds(value), precision);
      double number = 0;
      char unit[8] = {};
      ASSERT_EQ(std::sscanf(text.c_str(), "%lf %7s", &number, unit), 2) << text;
      const std::string name = unit;
      const double size = name == "ns" ? 1 : name == "µs" ? 1e3 : name == "ms" ? 1e6 : 1e9;
      EXPECT_NEAR(number * size, value, value * precision / 2 + 1e-9) << text;
      if (name != "s") {
        EXPECT_LT(number, 1000) << text;
      }
    }
  }
}

TEST(TimeRangeText, BothEndsShareAUnit) {
  EXPECT_EQ(time_range_text(Nanoseconds(127800), Nanoseconds(128060), 0.001), "127.8–128.1 µs");
  EXPECT_EQ(time_range_text(Nanoseconds(950), Nanoseconds(1200), 0.01), "0.95–1.20 µs");
  EXPECT_EQ(time_range_text(kNan, kNan), "–");
  // More digits than any timer has would be needed to tell the ends apart.
  EXPECT_EQ(time_range_text(Nanoseconds(2693.59), Nanoseconds(2693.61), 1e-5), "2.6936 µs");
}

TEST(TimeWithErrorText, BothInOneUnit) {
  EXPECT_EQ(time_with_error_text(microseconds(4.35), microseconds(0.05)), "4.35 ± 0.05 µs");
  EXPECT_EQ(time_with_error_text(Nanoseconds(-3), Nanoseconds(20)), "-3 ± 20 ns");
  EXPECT_EQ(time_with_error_text(Nanoseconds(0), Nanoseconds(0)), "0 ± 0 ns");
  EXPECT_EQ(time_with_error_text(kNan, kNan), "–");
}

TEST(DurationText, GrowsFromMicrosecondsToHours) {
  EXPECT_EQ(duration_text(Nanoseconds(4130)), "4.1 µs");
  EXPECT_EQ(duration_text(seconds(4.12)), "4.1 s");
  EXPECT_EQ(duration_text(seconds(30)), "30 s");
  EXPECT_EQ(duration_text(seconds(59.8)), "1 min 0 s");
  EXPECT_EQ(duration_text(seconds(125)), "2 min 5 s");
  EXPECT_EQ(duration_text(seconds(3720)), "1 h 2 min");
}

TEST(RateText, UsesDecimalPrefixes) {
  EXPECT_EQ(rate_text(795.4e12, "FLOP/s"), "795 TFLOP/s");
  EXPECT_EQ(rate_text(4.312e12, "B/s"), "4.31 TB/s");
  EXPECT_EQ(rate_text(999.9e9, "B/s"), "1.00 TB/s");
  EXPECT_EQ(rate_text(kInfinite, "B/s"), "–");
}

TEST(BytesText, UsesBinaryPrefixes) {
  EXPECT_EQ(bytes_text(Bytes(0)), "0 B");
  EXPECT_EQ(bytes_text(Bytes(1000)), "1000 B");
  EXPECT_EQ(bytes_text(Bytes(65536)), "64 KiB");
  EXPECT_EQ(bytes_text(Bytes(3 << 19)), "1.5 MiB");
  EXPECT_EQ(bytes_text(Bytes(std::int64_t{1} << 40)), "1 TiB");
}

TEST(PercentText, TwoDigits) {
  EXPECT_EQ(percent_text(0.001), "0.1 %");
  EXPECT_EQ(percent_text(0.00123), "0.12 %");
  EXPECT_EQ(percent_text(0.794), "79 %");
  EXPECT_EQ(percent_text(1.337), "134 %");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(kInfinite), "–");
}

TEST(ChangeText, IsSigned) {
  EXPECT_EQ(change_text(0.141), "+14.1 %");
  EXPECT_EQ(change_text(-0.0052), "-0.52 %");
  EXPECT_EQ(change_text(13.4), "14.4 times");
  EXPECT_EQ(change_text(1 / 14.4 - 1), "1/14.4");
  EXPECT_EQ(change_text(4999), "5000 times");
  EXPECT_EQ(change_text(0.99), "+99.0 %");
  EXPECT_EQ(change_text(-0.49), "-49.0 %");
  EXPECT_EQ(time_change_text(13.4), "14.4 times as long");
  EXPECT_EQ(time_change_text(1 / 14.4 - 1), "1/14.4 of the time");
  EXPECT_EQ(time_change_text(-0.267), "-26.7 %");
  EXPECT_EQ(change_text(kInfinite), "–");
}

TEST(FixedText, ZeroHasNoMinus) {
  EXPECT_EQ(fixed_text(-0.004, 2), "0.00");
  EXPECT_EQ(fixed_text(-0.4, 0), "0");
  EXPECT_EQ(fixed_text(-0.0, 1), "0.0");
  EXPECT_EQ(fixed_text(-0.006, 2), "-0.01");
  EXPECT_EQ(fixed_text(12.5, 1), "12.5");
  EXPECT_EQ(signed_text(-0.004, 2), "+0.00");
  EXPECT_EQ(signed_text(-1.5, 1), "-1.5");
  EXPECT_EQ(change_text(-1e-6), "+0.00 %");
  EXPECT_EQ(percent_text(-0.0), "0 %");
  EXPECT_EQ(time_with_error_text(Nanoseconds(-0.1), Nanoseconds(30)), "0 ± 30 ns");
  EXPECT_EQ(time_range_text(Nanoseconds(-0.01), Nanoseconds(100)), "0.0–100.0 ns");
}

TEST(PowerText, InWatts) { EXPECT_EQ(power_text(Watts(700)), "700 W"); }

TEST(ClockText, InMegahertz) { EXPECT_EQ(clock_text(Hertz(1.7164e9)), "1716 MHz"); }

}  // namespace
}  // namespace jitterscope
