// What can be read can be printed, whatever numbers and words stand in it.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <variant>

#include "base/files.hpp"
#include "base/random.hpp"
#include "commands/records.hpp"
#include "commands/run/files.hpp"
#include "output/sample_record.hpp"
#include "record/json_text.hpp"

namespace jitterscope {
namespace {

using testing::StartsWith;

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

// Another value, or a list or an object without some of what is in it.
void damage(Json& value, Random& random) {
  if (value.is_structured() && !value.empty() && random.below(2) == 0) {
    if (random.below(3) == 0) return value.clear();
    value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(random.below(value.size()))));
    return;
  }
  value = odd_values()[random.below(odd_values().size())];
}

std::string randomly_damaged(Json document, Random& random) {
  std::vector<Json*> all;
  collect(document, all);
  for (std::uint64_t i = 0, damages = 1 + random.below(3); i < damages && all.size() > 1; ++i) {
    damage(*all[1 + random.below(all.size() - 1)], random);
    all.clear();
    collect(document, all);
  }
  return json_text(document);
}

// A small record of each command, where the fuzzer has them, too.
std::map<std::string, Json> samples() {
  std::map<std::string, Json> found;
  for (const auto& file : std::filesystem::directory_iterator(JITTERSCOPE_RECORD_SAMPLES)) {
    found.emplace(file.path().filename().string(), Json::parse(file_text(file.path()).text));
  }
  return found;
}

std::string refusal_of(const Json& document) {
  try {
    read_record(json_text(document), "r.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

std::string refusal_of(const std::string& sample, const std::string& pointer, const Json& value) {
  Json document = samples().at(sample);
  document[Json::json_pointer(pointer)] = value;
  return refusal_of(document);
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

// Whether it is read; then everything that shows records has shown it.
bool is_read(const std::string& text) {
  try {
    const AnyRecord record = read_record(text, "r.json");
    record_text(record, {});
    record_text(record, {.width = 60, .details = true, .top = 1});
    plots_of(record);
    return true;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("r.json: "), std::string::npos) << error.what();
    return false;
  }
}

TEST(DamagedRecord, OfEachCommandIsRefusedOrPrinted) {
  std::set<std::size_t> kinds;
  for (const auto& [name, document] : samples()) {
    SCOPED_TRACE(name);
    Random random(12);  // of its own: another sample changes nothing for this one
    kinds.insert(read_record(json_text(document), name).index());
    int read = 0;
    for (int i = 0; i < 200; ++i) read += is_read(randomly_damaged(document, random)) ? 1 : 0;
    EXPECT_GT(read, 20);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<AnyRecord>);
}

// All lists, each with one of those of the record itself: what one is to have may be numbers of the other.
TEST(DamagedRecord, WithEmptyListsIsRefusedOrPrinted) {
  for (const auto& [name, document] : samples()) {
    SCOPED_TRACE(name);
    Json changed = document;
    std::vector<Json*> all;
    collect(changed, all);
    std::erase_if(all, [](const Json* value) { return !value->is_array() || value->empty(); });
    int read = 0;
    for (Json* list : all) {
      // Swapped, so that what stands in it, which `all` points to, stays where it is.
      Json kept = Json::array();
      list->swap(kept);
      read += is_read(json_text(changed)) ? 1 : 0;
      for (const auto& [key, value] : document.items()) {
        if (!value.is_array() || value.empty()) continue;
        Json both = changed;
        both[key] = Json::array();
        read += is_read(json_text(both)) ? 1 : 0;
      }
      list->swap(kept);
    }
    EXPECT_GT(read, 0);
  }
}

TEST(DamagedRecord, NumbersOfAlternativesAreThoseOfTheList) {
  EXPECT_EQ(
      refusal_of("compare", "/alternatives", Json::array()),
      "r.json: alternatives: a list of one or more was expected; the file was changed, or something else "
      "wrote it");
  Json empty = samples().at("compare");
  empty["alternatives"] = empty["comparisons"] = Json::array();
  EXPECT_THAT(refusal_of(empty), StartsWith("r.json: alternatives: a list of one or more was expected"));
  for (const Json& number : {Json(0), Json(2), Json(4294967296)}) {
    EXPECT_THAT(refusal_of("compare", "/comparisons/0/alternative", number),
                StartsWith("r.json: comparisons[0].alternative: the number of one of the alternatives"));
    EXPECT_THAT(refusal_of("compare_model", "/totals/0/alternative", number),
                StartsWith("r.json: totals[0].alternative: the number of one of the alternatives"));
  }
  EXPECT_THAT(refusal_of("compare", "/works", Json::array({1.0})),
              StartsWith("r.json: works: a number for each of the alternatives was expected"));
  EXPECT_THAT(refusal_of("compare", "/works", Json::array({1.0, 0.0})),
              StartsWith("r.json: works[1]: a number above 0 was expected"));
  // A comparison within another record is held to the same.
  EXPECT_THAT(refusal_of("advise", "/steps/0/comparison/alternatives", Json::array()),
              StartsWith("r.json: steps[0].comparison.alternatives: a list of one or more"));
}

TEST(DamagedRecord, WhatAdviceTookWasTakenInAStep) {
  EXPECT_THAT(refusal_of("advise", "/steps", Json::array()),
              StartsWith("r.json: steps: a list with the steps of the recommendations"));
  Json nothing_taken = samples().at("advise");
  nothing_taken["steps"] = nothing_taken["recommendations"] = Json::array();
  EXPECT_EQ(refusal_of(nothing_taken), "read");
}

TEST(DamagedRecord, CallsOfASequenceAreThoseOfItsResults) {
  EXPECT_THAT(refusal_of("sequence", "/sequence/calls/1/result", 3),
              StartsWith("r.json: sequence.calls[1].result: the number of one of the results was expected"));
}

TEST(DamagedRecord, TheStrongestDoseIsOneOfThem) {
  EXPECT_THAT(refusal_of("explain", "/study/factors/0/strongest", 99),
              StartsWith("r.json: study.factors[0].strongest: the number of one of the doses"));
}

}  // namespace
}  // namespace jitterscope
