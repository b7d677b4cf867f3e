#include "base/quantity_text.hpp"

#include <gmock/gmock.h>

namespace jitterscope {
namespace {

using ::testing::HasSubstr;

TEST(ReadCount, TakesNumbersAsPeopleTypeThem) {
  const std::pair<const char*, std::int64_t> kNumbers[] = {
      {"0", 0},
      {"4096", 4096},
      {"007", 7},
      {"1e6", 1'000'000},
      {"1.5e3", 1500},
      {"2E0", 2},
      {"64k", 64'000},
      {"1M", 1'000'000},
      {"1.25M", 1'250'000},
      {"2G", 2'000'000'000},
      {"1T", 1'000'000'000'000},
      {"64Ki", 65'536},
      {"1.5Ki", 1536},
      {"1Mi", 1'048'576},
      {"3Gi", 3'221'225'472},
      {"4Ti", 4'398'046'511'104},
      {"9223372036854775807", 9'223'372'036'854'775'807},
  };
  for (const auto& [text, value] : kNumbers) EXPECT_EQ(read_count(text), value) << text;
}

TEST(ReadCount, OfBytesMayHaveAUnit) {
  EXPECT_EQ(read_count("1GiB", Counted::bytes), 1 << 30);
  EXPECT_EQ(read_count("1GB", Counted::bytes), 1'000'000'000);
  EXPECT_EQ(read_count("512B", Counted::bytes), 512);
  EXPECT_EQ(read_count("1GiB", Counted::things), std::nullopt);
}

TEST(ReadCount, RefusesWhatIsNoWholeNumber) {
  for (const char* text : {"",
                           "x",
                           "-1",
                           "+1",
                           ".5",
                           "1.",
                           "1.5",
                           "1.0001k",
                           "0x10",
                           "1 2",
                           "1e",
                           "1e-3",
                           "1e+3",
                           "1e31",
                           "1e6k",
                           "64K",
                           "1m",
                           "1ki",
                           "k",
                           "1_000",
                           "9223372036854775808",
                           "9223372036854775807Ki",
                           "16777216Ti",
                           "10e18",
                           "1.2.3"}) {
    EXPECT_EQ(read_count(text), std::nullopt) << text;
  }
}

TEST(CountProblem, SaysWhatToWrite) {
  EXPECT_THAT(count_problem("64K"), HasSubstr("write 64k (powers of 1000) or 64Ki (powers of 1024)"));
  EXPECT_THAT(count_problem("1.5m"), HasSubstr("write 1.5M (powers of 1000) or 1.5Mi"));
  EXPECT_THAT(count_problem("8ki"), HasSubstr("write 8Ki"));
  EXPECT_THAT(count_problem("1MiB"), HasSubstr("number of bytes, and elements are counted here; write 1Mi"));
  EXPECT_THAT(count_problem("1gib", Counted::bytes), HasSubstr("write 1Gi"));
  EXPECT_THAT(count_problem("16777216Ti"), HasSubstr("is not a whole number below 2^63"));
  EXPECT_THAT(count_problem("1.0001k"), HasSubstr("is not a whole number below 2^63"));
  EXPECT_THAT(count_problem("many"), HasSubstr("as 4096, 1e6, 64k (64000) or 64Ki (65536)"));
}

TEST(ReadDuration, TakesUnitsAndHasOneOfItsOwn) {
  EXPECT_EQ(read_duration("2", seconds(1)), seconds(2));
  EXPECT_EQ(read_duration("2s", milliseconds(1)), seconds(2));
  EXPECT_EQ(read_duration("500ms", seconds(1)), milliseconds(500));
  EXPECT_EQ(read_duration("1.5 h", seconds(1)), seconds(5400));
  EXPECT_EQ(read_duration("2m", seconds(1)), seconds(120));
  EXPECT_EQ(read_duration("2min", seconds(1)), seconds(120));
  EXPECT_EQ(read_duration("7us", seconds(1)), microseconds(7));
  for (const char* text : {"", "s", "2x", "-1s", "inf", "nan", "1e999", "2s3"}) {
    EXPECT_EQ(read_duration(text, seconds(1)), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace jitterscope
