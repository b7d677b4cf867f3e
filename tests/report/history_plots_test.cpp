#include "commands/history/plots.hpp"

#include <gmock/gmock.h>

#include <set>

#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// The sample, `ratio` as long, at an hour of a day.
DatedRecord dated(int hour, double ratio, const std::string& driver = "570.1") {
  DatedRecord made{"2026112" + std::to_string(hour), test::sample_operation()};
  made.record.environment.time = "2026-11-23T0" + std::to_string(hour) + ":00:00Z";
  made.record.device.properties = {{"driver", driver}};
  for (RunEntry& entry : made.record.entries) {
    for (Measurement& measurement : entry.result.measurements) {
      for (Nanoseconds* each : {&measurement.time.median, &measurement.time.low, &measurement.time.high}) {
        *each = *each * ratio;
      }
      measurement.processes.clear();
    }
  }
  return made;
}

Json rows_of_layer(const Plot& plot, std::string_view view) {
  for (const Json& layer : plot.spec.at("layer")) {
    if (layer.value("name", "") == view) return layer.at("data").at("values");
  }
  throw std::runtime_error("no such view");
}

std::vector<std::string> verdicts_of(const Plot& plot) {
  std::vector<std::string> verdicts;
  for (const Json& row : rows_of_layer(plot, "records")) verdicts.push_back(row.at("verdict"));
  return verdicts;
}

TEST(HistoryPlots, EachRecordIsJudgedBesideTheOneBefore) {
  const std::vector<DatedRecord> records = {dated(1, 1.0), dated(2, 1.0), dated(3, 2.0), dated(4, 2.0),
                                            dated(5, 1.0)};
  const std::vector<Plot> plots = history_plots("main", records, 0.02);
  ASSERT_FALSE(plots.empty());
  EXPECT_EQ(plots[0].id, "history");
  EXPECT_THAT(verdicts_of(plots[0]), ElementsAre("first", "same", "slower", "same", "faster"));
  EXPECT_THAT(plots[0].table.front().cells, SizeIs(5));
}

TEST(HistoryPlots, EachVerdictHasAColourOfItsOwn) {
  const Plot plot = history_plots("main", std::vector{dated(1, 1.0)}, 0.02)[0];
  for (const Json& layer : plot.spec.at("layer")) {
    if (layer.value("name", "") != "records") continue;
    const auto range = layer.at("encoding").at("color").at("scale").at("range").get<std::set<std::string>>();
    EXPECT_THAT(range, SizeIs(5)) << "the first is not the same as anything";
  }
}

TEST(HistoryPlots, WhatElseChangedIsMarked) {
  const std::vector<DatedRecord> records = {dated(1, 1.0), dated(2, 1.0, "580.2")};
  const Json changes = rows_of_layer(history_plots("main", records, 0.02)[0], "changes");
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].at("what"), "driver: 570.1 → 580.2");
}

TEST(HistoryPlots, RecordsOfOneSecondStandApart) {
  const std::vector<DatedRecord> records = {dated(1, 1.0), dated(1, 1.0)};
  const Json rows = rows_of_layer(history_plots("main", records, 0.02)[0], "records");
  EXPECT_NE(rows[0].at("record"), rows[1].at("record"));
}

TEST(HistoryPlots, OneRecordIsAPointAndNoneIsNothing) {
  EXPECT_THAT(verdicts_of(history_plots("main", std::vector{dated(1, 1.0)}, 0.02)[0]), ElementsAre("first"));
  EXPECT_THAT(history_plots("main", {}, 0.02), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
