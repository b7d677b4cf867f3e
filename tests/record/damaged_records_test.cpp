// What can be read can be printed, whatever numbers and words stand in it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "output/csv.hpp"
#include "output/sample_record.hpp"
#include "output/summary_csv.hpp"
#include "record/json_text.hpp"
#include "record/record.hpp"

namespace jitterscope {
namespace {

void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (auto& inner : value) collect(inner, all);
}

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {
      0,    -1,  1,     1e300,         -1e-300,        9223372036854775807,  1e18,       "",
      "µ|", "x", false, Json::array(), Json::object(), "matmul:m=2,n=2,k=2", 4294967296, nullptr};
  return values;
}

// Replaces some values of the document by others.
std::string randomly_damaged(Json document, Random& random) {
  std::vector<Json*> all;
  collect(document, all);
  for (int i = 0; i < 3; ++i) {
    *all[1 + random.below(all.size() - 1)] = odd_values()[random.below(odd_values().size())];
    all.clear();
    collect(document, all);
  }
  return json_text(document);
}

TEST(DamagedRecord, IsRefusedOrPrinted) {
  RunRecord sample = test::sample_model();
  sample.sequence =
      SequenceMeasurement{.calls = {{.name = "a", .time = sample.entries[0].result.measurements[0].time},
                                    {.name = "b", .layer = 1, .time = {}}},
                          .iteration = sample.entries[0].result.measurements[0].time,
                          .clock = megahertz(1900)};
  IterationRun& loop = sample.entries[1].result.iterations.emplace_back();
  loop.count = 10;
  loop.clocks = {{5, megahertz(1980)}};
  const Json document = Json::parse(write_record(sample));
  Random random(11);
  int read = 0;
  for (int i = 0; i < 400; ++i) {
    const std::string text = randomly_damaged(document, random);
    try {
      const RunRecord record = read_run_record(text, "r.json");
      EXPECT_FALSE(run_table(record, {.top = 1}).empty());
      EXPECT_FALSE(test::details(record).empty());
      EXPECT_FALSE(run_summary_csv(record).empty());
      EXPECT_FALSE(launches_csv(record).empty());
      const std::string again = write_record(record);
      EXPECT_TRUE(write_record(read_run_record(again, "again.json")) == again);
      ++read;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("r.json: "), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace jitterscope
