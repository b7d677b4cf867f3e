#include "commands/engines/record.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;

RankedEngine ranked(const std::string& tag, double median_us, std::int64_t wins) {
  RankedEngine engine;
  engine.engine.tag = tag;
  engine.autotune_tries = true;
  engine.autotune_wins = wins;
  engine.result.measurements.emplace_back();
  engine.result.measurements[0].repeatability = engine.result.measurements[0].time = {
      microseconds(median_us), microseconds(median_us - 1), microseconds(median_us + 1), 10};
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
  EXPECT_THAT(table_of("near"), HasSubstr("slower than the fastest: +1.0 % (may be no loss"));
  EXPECT_THAT(table_of("slow"),
              HasSubstr("slower than the fastest: +10.0 % (a real loss, 95 %: +7.9 to +12.1 %)"));
  EXPECT_THAT(table_of("slow"), HasSubstr("The fastest is the smallest of 3 medians"));
}

TEST(EnginesJson, HoldsTheIntervalsAndFitsItsSchema) {
  EnginesRecord record = record_of("near");
  record.environment = test::sample_operation().environment;
  record.device = test::sample_operation().device;
  const std::string text = write_record(record);
  const auto document = nlohmann::json::parse(text);
  EXPECT_LT(document.at("heuristic_loss_low"), 0.0);
  EXPECT_GT(document.at("expected_autotune_loss_low"), 0.0);
  EXPECT_NEAR(document.at("engines").at(0).at("autotune_share_high"), 0.4877, 5e-4);
  const std::string path = testing::TempDir() + "engines_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << text;
  EXPECT_EQ(std::system(("'" JITTERSCOPE_VALIDATE_JSON "' '" + path + "'").c_str()), 0);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace jitterscope
