#include "commands/records.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "jitterscope/error.hpp"
#include "output/sample_record.hpp"
#include "report/drawn.hpp"

namespace jitterscope {
namespace {

using report::channels;
using report::filled;
using test::plot_named;
using test::rows_of;
using test::views_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ids_of(const std::vector<Plot>& plots) {
  std::vector<std::string> ids;
  for (const Plot& plot : plots) ids.push_back(plot.id);
  return ids;
}

TEST(Plots, OfOneOperationAreItsRounds) {
  const RunRecord record = test::sample_operation();
  const std::vector<Plot> plots = plots_of(record);
  EXPECT_THAT(ids_of(plots), ElementsAre("distribution", "rounds", "clock"));
  EXPECT_EQ(main_plot(plots).id, "distribution");
  const Result& result = record.entries[0].result;
  for (std::size_t i = 0; i < result.measurements.size(); ++i) {
    const Measurement& measurement = result.measurements[i];
    const std::string number = "_" + std::to_string(i + 1);
    const std::size_t settled = measurement.steadiness ? measurement.steadiness->settled_round : 0;
    EXPECT_EQ(rows_of(plots[0], "rounds" + number).size(), measurement.rounds.size() - settled);
    double share = 0.0;
    for (const Json& bin : rows_of(plots[0], "launches" + number)) share += bin.at("share").get<double>();
    EXPECT_NEAR(share, 1.0, 1e-4) << "no launch lies beyond the edges here";
    const std::string said = plots[0].spec.at("vconcat").at(i).at("title").at("subtitle").get<std::string>();
    const std::size_t drawn = measurement.rounds.size() - settled;
    EXPECT_THAT(said, HasSubstr(" " + std::to_string(drawn) + " rounds,"))
        << "as many as are drawn, though the estimate stands on " << measurement.time.rounds;
  }
  EXPECT_EQ(rows_of(plots[0], "modes_1").size(), 2u);
}

TEST(Plots, RoundsStandOverWhatTheSensorsSaid) {
  const std::vector<Plot> plots = plots_of(test::sample_operation());
  const Plot& rounds = plot_named(plots, "rounds");
  // Of each of three measurements: rounds, clock, power, temperature; and where the sustained one had
  // settled.
  EXPECT_EQ(views_of(rounds).size(), 3u * 4u + 1u);
  const Json& first = rows_of(rounds, "rounds_1").front();
  EXPECT_EQ(first.at("held_by"), "power_cap");
  EXPECT_EQ(first.at("clock"), 1716);
  EXPECT_EQ(rounds.table.front().cells.size(), 30u);
}

TEST(Plots, FindingsAreMarkedWhereTheyHappened) {
  RunRecord record = test::sample_operation();
  std::vector<Finding>& findings = record.entries[0].result.findings;
  findings = {
      {.id = "drift", .sentence = "", .remedy = "", .evidence = {}, .places = {{1, {{0, 2}, {7, 9}}}}},
      {.id = "bimodal",
       .sentence = "",
       .remedy = "",
       .evidence = {},
       .places = {{1, {{2, 2}}}, {99, {{0, 1}}}}},
      {.id = "thermal", .sentence = "", .remedy = "", .evidence = {}, .places = {{1, {{5, 1'000'000}}}}},
      {.id = "zeros", .sentence = "", .remedy = "", .evidence = {}}};
  const std::vector<Plot> plots = plots_of(record);
  const Plot& rounds = plot_named(plots, "rounds");
  for (const Json* view : views_of(rounds)) {
    const std::string name = view->at("name").get<std::string>();
    EXPECT_TRUE(!name.starts_with("findings") || name.starts_with("findings_5")) << name;
  }
  const Json& marks = rows_of(rounds, "findings_5");
  ASSERT_EQ(marks.size(), 3u) << "what lies beyond the record is not drawn";
  EXPECT_EQ(marks[0].at("finding"), "drift");
  EXPECT_EQ(marks[0].at("first"), 1);
  EXPECT_EQ(marks[0].at("last"), 3);
  EXPECT_LT(marks[0].at("from"), marks[0].at("to"));
  EXPECT_EQ(marks[2].at("finding"), "bimodal");
  EXPECT_EQ(marks[2].at("top"), marks[0].at("bottom")) << "a lane each";
  const std::vector<std::string>& cells = rounds.table.back().cells;
  EXPECT_EQ(std::ranges::count(cells, "drift"), 5);
  EXPECT_EQ(std::ranges::count(cells, "drift, bimodal"), 1);
  EXPECT_THAT(rounds.caption, HasSubstr("Bands"));
}

TEST(Plots, AMarkStaysWithinItsProcess) {
  RunRecord record = test::sample_operation();
  Result& result = record.entries[0].result;
  std::vector<Round>& all = result.measurements[0].rounds;
  for (std::size_t i = 0; i < all.size(); ++i) all[i].process = i < all.size() / 2 ? 0 : 1;
  result.findings = {
      {.id = "drift", .sentence = "", .remedy = "", .evidence = {}, .places = {{0, {{1, all.size() - 1}}}}}};
  const std::vector<Plot> plots = plots_of(record);
  const Json& marks = rows_of(plot_named(plots, "rounds"), "findings_1");
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].at("last"), all.size() / 2);
  EXPECT_EQ(marks[1].at("first"), all.size() / 2 + 1);
}

TEST(Pieces, AreFilledWithValues) {
  EXPECT_EQ(filled(R"({"height": "$height", "title": "time, $unit", "mark": {"color": "$red"}})", "height",
                   20, "unit", "µs"),
            Json::parse(R"({"height": 20, "title": "time, µs", "mark": {"color": "#d1495b"}})"));
  EXPECT_EQ(
      filled(R"({"encoding": {"x": "time:Q", "x2": "high", "y": {"field": "name:N", "sort": null},
                                    "tooltip": [["time", "time, $unit"]]}})",
             "unit", "s"),
      Json::parse(R"({"encoding": {"x": {"field": "time", "type": "quantitative"}, "x2": {"field": "high"},
              "y": {"field": "name", "type": "nominal", "sort": null}, "tooltip": [{"field": "time", "title": "time, s"}]}})"));
  EXPECT_EQ(channels(R"({"y": "$y"})", "y", Json{{"value", 3}}), Json::parse(R"({"y": {"value": 3}})"));
  EXPECT_THROW(filled(R"({"height": "$heigt"})", "height", 20), std::logic_error);
}

TEST(Pieces, LayersWithoutRowsAreLeftOut) {
  const Json rows = Json::array({Json{{"a", 1}}});
  EXPECT_EQ(filled(R"([{"data": "$none", "name": "a"}, {"data": "$rows", "name": "b"}, "$absent", "$more"])",
                   "none", Json::array(), "rows", rows, "absent", Json(), "more", Json::array({1, 2})),
            Json::parse(R"([{"data": {"values": [{"a": 1}]}, "name": "b"}, 1, 2])"));
}

// What a record holds stays as it is, whatever it looks like.
TEST(Pieces, WhatIsPutInIsNotLookedAtAgain) {
  const std::string evil = R"($rows ":Q {"encoding": "x:Q"} $blue)";
  const Json rows =
      Json::array({Json{{"name", evil}, {"encoding", {{"x", "a:Q"}}}, {"data", Json::array()}}});
  const Json made = filled(R"({"title": "of $name", "data": "$rows"})", "name", evil, "rows", rows);
  EXPECT_EQ(made.at("title"), "of " + evil);
  EXPECT_EQ(made.at("data").at("values"), rows);
}

// An interval may be narrower than a pixel: its edge is drawn.
TEST(Plots, ANarrowIntervalIsSeen) {
  const std::vector<Plot> plots = plots_of(test::sample_operation());
  const auto mark_of = [&](const char* plot, std::string_view name) {
    for (const Json* view : views_of(plot_named(plots, plot))) {
      if (view->at("name") == name) return view->at("mark");
    }
    return Json::object();
  };
  EXPECT_EQ(mark_of("clock", "reference_1").value("strokeCap", ""), "square");
  EXPECT_GE(mark_of("distribution", "interval_1").value("strokeWidth", 0), 1);
}

TEST(Plots, ViewsHaveNamesOfTheirOwn) {
  RunRecord model = test::sample_model();
  for (const AnyRecord& record : {AnyRecord(test::sample_operation()), AnyRecord(model)}) {
    for (const Plot& plot : plots_of(record)) {
      std::set<std::string> names;
      for (const Json* view : views_of(plot)) {
        EXPECT_TRUE(names.insert(view->at("name").get<std::string>()).second)
            << plot.id << ": two views named " << view->at("name") << " would show the same data";
      }
      std::size_t rows = 0;
      for (const TableColumn& column : plot.table) rows = std::max(rows, column.cells.size());
      EXPECT_GT(rows, 0u) << plot.id;
      EXPECT_FALSE(plot.caption.empty()) << plot.id;
    }
  }
}

TEST(Plots, OfAModelAreItsLayersSlowestFirst) {
  const std::vector<Plot> plots = plots_of(test::sample_model());
  EXPECT_THAT(ids_of(plots), Contains("layers"));
  EXPECT_THAT(ids_of(plots), Contains("roofline"));
  const Json& bars = rows_of(plots[0], "layers_1");
  ASSERT_EQ(bars.size(), 4u) << "two layers, each warm and cold; one failed";
  EXPECT_THAT(bars[0].at("layer").get<std::string>(), HasSubstr("layer1.0.conv1"));
  EXPECT_EQ(bars[0].at("calls"), 2);
  EXPECT_DOUBLE_EQ(bars[0].at("share").get<double>(), 0.571429) << "2 x 20 of 70 us";
  const Json& shares = rows_of(plots[0], "shares_1");
  ASSERT_EQ(shares.size(), bars.size()) << "beside each bar";
  EXPECT_EQ(shares[0].at("share_shown"), "57 %");
}

// 2 calls of 20 us at 500 of 795 TFLOP/s, and one of 30 us at 333.
TEST(Plots, OfAModelPartsAreDrawnByWhatTheyCouldSave) {
  const std::vector<Plot> plots = plots_of(test::sample_model());
  const Plot& plot = plot_named(plots, "where_to_work");
  const Json& rows = rows_of(plot, "parts");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].at("part"), "convolutions 1x1 of layer2");
  EXPECT_EQ(rows[0].at("of"), "could save");
  EXPECT_NEAR(rows[0].at("share").get<double>(), 30.0 / 70.0 * (1.0 - 333.333333 / 795.0), 1e-5);
  EXPECT_NEAR(rows[1].at("share").get<double>(), 30.0 / 70.0 * 333.333333 / 795.0, 1e-5);
  EXPECT_THAT(plot.caption, HasSubstr("Work on: convolutions 1x1 of layer2"));
}

TEST(Plots, WhatIsNotDrawnOfALargeModelIsSaid) {
  // Layers of 1 to 50 us: the ten fastest are 55 of 1275.
  const std::vector<Plot> plots = plots_of(test::model_of(50));
  ASSERT_EQ(plots[0].id, "layers");
  EXPECT_EQ(rows_of(plots[0], "layers_1").size(), 40u);
  EXPECT_THAT(plots[0].caption,
              HasSubstr("The 40 slowest of 50 layers are drawn; the other 10 take 4.3 % of the time"));
}

const Json& encoding_of(const Plot& plot, std::string_view view) {
  for (const Json* each : views_of(plot)) {
    if (each->at("name") == view) return each->at("encoding");
  }
  throw std::runtime_error("no such view");
}

TEST(Plots, AFindingHasOneColourAndNothingElseHasIt) {
  RunRecord record = test::sample_operation();
  const auto finding = [](const std::string& id, std::vector<FindingPlace> places) {
    return Finding{.id = id, .sentence = "", .remedy = "", .evidence = {}, .places = std::move(places)};
  };
  record.entries[0].result.findings = {finding("drift", {{0, {{0, 1}}}}),
                                       finding("power_cap", {{0, {{2, 3}}}, {2, {{0, 1}}}}),
                                       finding("thermal", {{2, {{2, 3}}}})};
  const std::vector<Plot> plots = plots_of(record);
  const Plot& rounds = plot_named(plots, "rounds");
  const Json &first = encoding_of(rounds, "findings_1").at("color"),
             &last = encoding_of(rounds, "findings_9").at("color");
  EXPECT_EQ(first.at("scale"), last.at("scale"));
  EXPECT_TRUE(last.at("legend").is_null()) << "one legend stands for all";
  const auto colors = first.at("scale").at("range").get<std::vector<std::string>>();
  EXPECT_EQ(std::set(colors.begin(), colors.end()).size(), 3u);
  const Json held = encoding_of(rounds, "rounds_1").at("color").at("scale");
  const auto reasons = held.at("domain").get<std::vector<std::string>>();
  const auto by_reason = held.at("range").get<std::vector<std::string>>();
  EXPECT_EQ(std::set(by_reason.begin(), by_reason.end()).size(), reasons.size())
      << "heat is not the hardware";
  EXPECT_EQ(colors[1], by_reason[1]) << "the power cap, as a finding and as a reason";
}

LaunchCounters moved(CacheState cache, double read, std::optional<double> written) {
  return {cache,
          {1,
           {{.name = "read", .quantity = CounterQuantity::dram_bytes_read, .value = read},
            {.name = "written", .quantity = CounterQuantity::dram_bytes_written, .value = written}}}};
}

TEST(Plots, AStateThatMovesNothingIsDrawnAndUnitsAreTheTables) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.counters = {moved(CacheState::warm, 0.0, 0.0),
                                       moved(CacheState::cold, 3.0 * (1 << 20), std::nullopt)};
  const std::vector<Plot> plots = plots_of(record);
  const Plot& plot = plot_named(plots, "counters");
  const Json& rows = rows_of(plot, "bytes");
  ASSERT_EQ(rows.size(), 4u) << "what was not counted is not drawn";
  EXPECT_EQ(rows[0].at("moved"), 0.0);
  EXPECT_EQ(rows[2].at("moved"), 3.0);
  EXPECT_THAT(encoding_of(plot, "bytes").at("x").at("title").get<std::string>(), HasSubstr("MiB"));
  EXPECT_THAT(plot.table.back().cells, ElementsAre("0 B", "0 B", "3 MiB", "19.1 MiB"));
}

TEST(Plots, AMillionLaunchesAreADensity) {
  RunRecord record = test::sample_operation();
  std::vector<Round>& rounds = record.entries[0].result.measurements[0].rounds;
  for (int i = 0; i < 1'000'000; ++i) rounds[0].launches.push_back(microseconds(180.0 + i % 100));
  std::size_t bytes = 0;
  for (const Plot& plot : plots_of(record)) bytes += plot.spec.dump().size();
  EXPECT_LT(bytes, 100'000u);
}

TEST(Plots, ManyRoundsAreDrawnByTheirExtremes) {
  RunRecord record = test::sample_operation();
  std::vector<Measurement>& measurements = record.entries[0].result.measurements;
  measurements.resize(1);
  std::vector<Round>& rounds = measurements[0].rounds;
  const Round one = rounds[0];
  rounds.assign(50'000, one);
  rounds[31'234].launches = {milliseconds(9)};
  const std::vector<Plot> plots = plots_of(record);
  const Plot& plot = plot_named(plots, "rounds");
  const Json& drawn = rows_of(plot, "rounds_1");
  EXPECT_LE(drawn.size(), 4'000u);
  EXPECT_TRUE(std::ranges::any_of(drawn, [](const Json& row) { return row.at("round") == 31'235; }))
      << "the slowest is there";
  EXPECT_THAT(plot.caption, HasSubstr("the fastest and the slowest of neighbouring rounds are drawn"));
}

TEST(Plots, ARecordOfWordsHasNone) {
  EXPECT_TRUE(plots_of(DoctorReport()).empty());
  EXPECT_TRUE(plots_of(RunRecord()).empty());
  EXPECT_THROW(main_plot({}), UsageError);
}

}  // namespace
}  // namespace jitterscope
