#include "output/engines_table.hpp"

#include <gmock/gmock.h>

namespace jitterscope {
namespace {

using testing::HasSubstr;

RankedEngine ranked(const std::string& tag, double median_us, std::int64_t wins) {
  RankedEngine engine;
  engine.engine.tag = tag;
  engine.autotune_tries = true;
  engine.autotune_wins = wins;
  engine.result.measurements.emplace_back();
  engine.result.measurements[0].time = {microseconds(median_us), microseconds(median_us - 1),
                                        microseconds(median_us + 1), 10};
  return engine;
}

EnginesRecord record_of(const std::string& heuristic) {
  EnginesRecord record;
  record.ranking.operation = "conv2d:n=1";
  record.ranking.heuristic = heuristic;
  record.ranking.imitations = 50;
  record.ranking.engines = {ranked("fast", 100, 17), ranked("near", 101, 0), ranked("slow", 110, 33)};
  return record;
}

// Lines are wrapped: what is looked for may stand on two.
std::string table_of(const std::string& heuristic) {
  std::string text = engines_table(record_of(heuristic));
  for (char& letter : text) letter = letter == '\n' ? ' ' : letter;
  return text;
}

TEST(EnginesTable, AShareOfImitationsHasItsInterval) {
  EXPECT_THAT(table_of("fast"), HasSubstr("34 % (21 % to 49 %)"));
  EXPECT_THAT(table_of("fast"), HasSubstr(" 0 % (0 % to 7.1 %) |"));
}

TEST(EnginesTable, ALossIsSaidWithWhetherItCanBeToldFromNone) {
  EXPECT_THAT(table_of("fast"), HasSubstr("PyTorch takes fast, the fastest."));
  EXPECT_THAT(table_of("near"), HasSubstr("1 % slower than the fastest (not distinguishable from none"));
  EXPECT_THAT(table_of("slow"),
              HasSubstr("10 % slower than the fastest (more than none, 95 %: +7.9 % to +12.1 %)"));
  EXPECT_THAT(table_of("slow"), HasSubstr("The fastest is the least of 3 medians"));
}

}  // namespace
}  // namespace jitterscope
