// Plots of comparisons and studies, and of what lies between two times.
#include <gmock/gmock.h>

#include "commands/records.hpp"
#include "report/drawn.hpp"

namespace jitterscope {
namespace {

using test::rows_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ComparedSide side_of(const std::string& operation, double microseconds_, std::optional<Amount> amount = {}) {
  ComparedSide side;
  side.subject = Operation::parse(operation);
  const Nanoseconds median = microseconds(microseconds_);
  side.time = {median, median * 0.99, median * 1.01, 100};
  side.amount = amount;
  return side;
}

Comparison compared(const ComparedSide& first, const ComparedSide& second, std::size_t alternative = 1) {
  Comparison comparison;
  comparison.alternative = alternative;
  comparison.first = first;
  comparison.second = second;
  const double ratio = second.time.median / first.time.median;
  comparison.time = {ratio, ratio * 0.99, ratio * 1.01};
  comparison.process_ratios = {ratio, ratio};
  return comparison;
}

ComparisonRecord record_of(std::vector<std::string> alternatives, std::vector<Comparison> comparisons) {
  ComparisonRecord record;
  record.alternatives = std::move(alternatives);
  record.comparisons = std::move(comparisons);
  return record;
}

std::vector<std::string> plots_in(const std::vector<Plot>& plots) {
  std::vector<std::string> ids;
  for (const Plot& plot : plots) ids.push_back(plot.id);
  return ids;
}

// The order of names that every layer of a plot shares.
std::vector<std::string> order_of(const Plot& plot) {
  std::vector<std::string> order;
  for (const Json& layer : plot.spec.at("layer")) {
    if (!layer.at("encoding").contains("y")) continue;
    const auto names = layer.at("encoding").at("y").at("sort").get<std::vector<std::string>>();
    EXPECT_TRUE(order.empty() || order == names);
    order = names;
  }
  return order;
}

TEST(ComparisonPlots, ANetworksTotalStandsAboveItsLayers) {
  ComparisonRecord record =
      record_of({"f32", "f16"}, {compared(side_of("add:count=8", 10), side_of("add:count=8", 9)),
                                 compared(side_of("relu:count=8", 10), side_of("relu:count=8", 5))});
  record.comparisons[0].layers = {"residual"};
  record.comparisons[1].layers = {"activation"};
  TotalComparison total;
  total.time = {0.7, 0.69, 0.71};
  record.totals = {total};
  EXPECT_THAT(order_of(plots_of(record).at(0)),
              ElementsAre("all together: f16, warm burst", "activation", "residual"));
}

std::string axis_of(const Plot& plot) {
  for (const Json& layer : plot.spec.at("layer")) {
    if (layer.value("name", "") == "intervals") return layer.at("encoding").at("x").at("title");
  }
  throw std::runtime_error("no intervals");
}

TEST(ComparisonPlots, AGateIsAgainstItsBaselineAndHasNoPairs) {
  ComparisonRecord record =
      record_of({"main/1", "now"}, {compared(side_of("add:count=8", 10), side_of("add:count=8", 9))});
  record.processes_asked = 5;
  const Plot beside = plots_of(record).at(0);
  EXPECT_EQ(axis_of(beside), "time against the first, %");
  EXPECT_THAT(beside.caption, HasSubstr("what each process said"));
  record.baseline = ComparedBaseline{"main", "main/1", "2026-11-23T20:11:05Z"};
  const Plot gate = plots_of(record).at(0);
  EXPECT_EQ(axis_of(gate), "time against the baseline, %");
  EXPECT_THAT(gate.caption, HasSubstr("each process of the second against the mean of the first's"));
  record.comparisons[0].process_ratios.clear();
  EXPECT_THAT(plots_of(record).at(0).caption, Not(HasSubstr("process")));
}

ComparedSide with_rounds(ComparedSide side, int rounds) {
  for (int i = 0; i < rounds; ++i) side.rounds.push_back(side.time.median * (0.99 + 0.0002 * (i * 37 % 100)));
  side.time.rounds = 2 * rounds;
  return side;
}

// Three files of a network of two layers.
ComparisonRecord three_files() {
  ComparisonRecord record = record_of({"week/monday.json", "week/tuesday.json.gz", "old/wednesday.json"}, {});
  record.measured = {"2026-11-23T08:00:00Z", "2026-11-24T08:00:00Z", "2026-11-25T08:00:00Z"};
  for (const std::size_t alternative : {1u, 2u}) {
    const double slower = alternative == 1 ? 1.0 : 1.5;
    record.comparisons.push_back(
        compared(side_of("add:count=8", 10), side_of("add:count=8", 10 * slower), alternative));
    record.comparisons.push_back(
        compared(side_of("relu:count=8", 30), side_of("relu:count=8", 30), alternative));
    TotalComparison total{.alternative = alternative};
    total.first = side_of("spin:ns=1", 40).time;
    total.second = side_of("spin:ns=1", 30 + 10 * slower).time;
    total.time = {total.second.median / total.first.median, 0.9, 1.2};
    record.totals.push_back(total);
  }
  for (Comparison& each : record.comparisons)
    each.layers = {std::string(operation_of(each.first.subject)->kind())};
  record.differences = {{"driver", "570.1", "580.2", true, {}, 2}};
  return record;
}

TEST(JointPlots, FilesOfANetworkAreSmallMultiples) {
  const Plot plot = plots_of(three_files()).at(0);
  ASSERT_EQ(plot.id, "records");
  EXPECT_EQ(plot.title, "3 records: monday, tuesday, wednesday (unlike in driver)");
  const Json& views = plot.spec.at("vconcat");
  ASSERT_EQ(views.size(), 3u);
  EXPECT_EQ(views[0].at("title"), "all layers");
  EXPECT_EQ(views[1].at("title"), "add") << "what changes the total most";
  const Json& total = views[0].at("data").at("values");
  ASSERT_EQ(total.size(), 3u);
  EXPECT_EQ(total[0].at("record"), "monday");
  EXPECT_DOUBLE_EQ(total[0].at("time").get<double>(), 40.0);
  EXPECT_EQ(total[2].at("record"), "wednesday");
  EXPECT_DOUBLE_EQ(total[2].at("time").get<double>(), 45.0);
  EXPECT_DOUBLE_EQ(views[1].at("data").at("values")[2].at("high").get<double>(), 15.15);
  EXPECT_THAT(plot.caption, HasSubstr("What differs: driver (wednesday: 570.1, then 580.2)."));
  EXPECT_THAT(plots_in(plots_of(three_files())), ElementsAre("records", "effects"));
}

TEST(JointPlots, FilesOfOneOperationArePointsInOneView) {
  ComparisonRecord record = three_files();
  record.totals.clear();
  std::erase_if(record.comparisons, [](const Comparison& each) { return each.layers.front() == "relu"; });
  for (Comparison& each : record.comparisons) each.layers.clear();
  record.alternatives[2] = "old/monday.json";  // the names alone do not tell them apart
  const Plot plot = plots_of(record).at(0);
  EXPECT_EQ(plot.spec.at("data").at("values").size(), 3u);
  EXPECT_THAT(plot.table.at(1).cells,
              ElementsAre("week/monday.json", "week/tuesday.json.gz", "old/monday.json"));
  EXPECT_THAT(plot.table.at(4).cells,
              ElementsAre(HasSubstr("10.0 µs"), HasSubstr("10.0 µs"), HasSubstr("15.0 µs")));
  record.measured.clear();  // trials side by side
  EXPECT_THAT(plots_in(plots_of(record)), ElementsAre("effects"));
}

TEST(ComparisonPlots, BothSidesAreDistributedOverOneAxis) {
  ComparisonRecord record = record_of(
      {"warm", "cold"},
      {compared(with_rounds(side_of("add:count=8", 10), 80), with_rounds(side_of("add:count=8", 10.5), 80))});
  const std::vector<Plot> plots = plots_of(record);
  ASSERT_THAT(plots_in(plots), ElementsAre("effects", "distribution"));
  const Json& views = plots[1].spec.at("vconcat");
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(rows_of(plots[1], "rounds_1").size(), 80u);
  EXPECT_EQ(rows_of(plots[1], "rounds_2").size(), 80u);
  const Json &first = rows_of(plots[1], "bins_1"), &second = rows_of(plots[1], "bins_2");
  EXPECT_EQ(first.front().at("from"), second.front().at("from"));
  EXPECT_EQ(first.back().at("to"), second.back().at("to"));
  EXPECT_THAT(views[0].at("title").at("subtitle").get<std::string>(), HasSubstr("80 rounds of 160"));
  EXPECT_EQ(views[1].at("title").at("text"), "cold");
  EXPECT_THAT(plots[1].table.front().cells, ElementsAre("warm", "cold"));
  // Ten times as long: each has an axis of its own.
  record.comparisons[0].second = with_rounds(side_of("add:count=8", 100), 80);
  const Plot apart = plots_of(record).at(1);
  EXPECT_GT(rows_of(apart, "bins_2").front().at("from"), rows_of(apart, "bins_1").back().at("to"));
}

TEST(ComparisonPlots, LaunchesLieBehindTheRounds) {
  ComparedSide side = with_rounds(side_of("add:count=8", 10), 80);
  for (int i = 0; i < 400; ++i) side.launches.push_back(microseconds(9.5 + 0.0025 * i));
  const Plot plot = plots_of(record_of({"warm", "cold"}, {compared(side, side)})).at(1);
  double share = 0.0;
  for (const Json& bin : rows_of(plot, "launches_1")) share += bin.at("share").get<double>();
  EXPECT_NEAR(share, 1.0, 0.02);
  EXPECT_EQ(rows_of(plot, "rounds_1").size(), 80u);
  EXPECT_GT(rows_of(plot, "launches_1").back().at("to"), rows_of(plot, "rounds_1").back().at("time"));
}

TEST(ComparisonPlots, WhatSeveralAreComparedWithIsDistributedOnce) {
  const ComparedSide first = with_rounds(side_of("add:count=8", 10), 20);
  std::vector<std::string> names = {"first"};
  std::vector<Comparison> comparisons;
  for (std::size_t i = 1; i <= 10; ++i) {
    names.push_back("other " + std::to_string(i));
    comparisons.push_back(
        compared(first, with_rounds(side_of("add:count=8", 10 + static_cast<double>(i)), 20), i));
  }
  const Plot plot = plots_of(record_of(names, comparisons)).at(1);
  const std::vector<std::string>& drawn = plot.table.front().cells;
  ASSERT_THAT(drawn, testing::SizeIs(9));
  EXPECT_EQ(drawn[0], "first");
  EXPECT_EQ(drawn[8], "other 8");
  EXPECT_THAT(plot.caption, HasSubstr("8 of 10 pairs"));
}

TEST(ComparisonPlots, ModesOfRoundsAreMarked) {
  ComparedSide two = side_of("add:count=8", 10);
  for (int i = 0; i < 200; ++i) two.rounds.push_back(microseconds((i % 2 == 0 ? 9.0 : 11.0) + 0.0001 * i));
  const Plot plot = plots_of(record_of({"a", "b"}, {compared(two, with_rounds(two, 0))})).at(1);
  EXPECT_EQ(rows_of(plot, "modes_1").size(), 2u);
}

TEST(ComparisonPlots, OddTimesOfARecordAreDrawnSomehow) {
  ComparedSide odd = side_of("add:count=8", 10);
  odd.rounds.assign(8, Nanoseconds(0));
  EXPECT_THAT(plots_in(plots_of(record_of({"a", "b"}, {compared(odd, odd)}))),
              ElementsAre("effects", "distribution"));
  odd.rounds = {Nanoseconds(1e300), Nanoseconds(-1e300), Nanoseconds(0),
                Nanoseconds(1),     Nanoseconds(2),      Nanoseconds(3)};
  EXPECT_THAT(plots_in(plots_of(record_of({"a", "b"}, {compared(odd, odd)}))),
              ElementsAre("effects", "distribution"));
  odd.rounds.resize(5);
  EXPECT_THAT(plots_in(plots_of(record_of({"a", "b"}, {compared(odd, odd)}))), ElementsAre("effects"));
}

TEST(ComparisonPlots, SubjectsAreNamedByWhatSetsThemApart) {
  std::vector<Comparison> comparisons;
  for (const char* bytes : {"4096", "65536"}) {
    const std::string copy = std::string("copy:kind=h2d,bytes=") + bytes;
    const ComparedSide first = side_of(copy + ",memory=pageable", 10);
    comparisons.push_back(compared(first, side_of(copy, 5), 1));
    comparisons.push_back(compared(first, side_of(copy + ",memory=registered", 6), 2));
  }
  EXPECT_THAT(order_of(plots_of(record_of({"pageable", "pinned", "registered"}, comparisons)).at(0)),
              ElementsAre("copy bytes=4096: pinned", "copy bytes=4096: registered",
                          "copy bytes=65536: pinned", "copy bytes=65536: registered"));
}

TEST(ComparisonPlots, RatesOfUnlikeAmountsHaveAViewForEachUnitAndNoEffects) {
  const ComparedSide first = side_of("add:count=8", 100, Amount{Amount::Unit::loads, 1000});
  const std::vector<Plot> plots = plots_of(
      record_of({"latency", "far", "bandwidth"},
                {compared(first, side_of("add:count=8", 400, Amount{Amount::Unit::loads, 1000}), 1),
                 compared(first, side_of("add:count=8", 100, Amount{Amount::Unit::bytes, 4e8}), 2)}));
  ASSERT_THAT(plots_in(plots), ElementsAre("rates"));
  const Json& views = plots[0].spec.at("vconcat");
  ASSERT_EQ(views.size(), 2u);
  const Json& loads = views[0].at("data").at("values");
  ASSERT_EQ(loads.size(), 2u) << "the first alternative once, though it is compared twice";
  EXPECT_EQ(loads[0].at("rate"), 100.0);
  EXPECT_EQ(loads[1].at("name"), "far");
  EXPECT_EQ(loads[1].at("rate"), 400.0);
  EXPECT_LT(loads[1].at("low"), loads[1].at("high"));
  const Json& bytes = views[1].at("data").at("values");
  EXPECT_EQ(bytes[0].at("rate"), 4.0);
  EXPECT_EQ(bytes[0].at("shown"), "4.00 TB/s");
  EXPECT_EQ(views[1].at("layer")[1].at("encoding").at("x").at("title"), "TB/s");
}

TEST(ComparisonPlots, LikeAmountsHaveBoth) {
  const auto bytes = Amount{Amount::Unit::bytes, 4e8};
  EXPECT_THAT(plots_in(plots_of(record_of({"near", "far"}, {compared(side_of("add:count=8", 100, bytes),
                                                                     side_of("add:count=8", 400, bytes))}))),
              ElementsAre("effects", "rates"));
}

TEST(TracedAccountPlots, ATracesTimesAreNamedAsWhatTheyAre) {
  explain::Account account;
  account.first_subject = "add:count=8";
  account.first = account.second = side_of("add:count=8", 10).time;
  account.rest = {1.0, 0.9, 1.1};
  ExplainRecord record;
  record.accounts = {account};
  EXPECT_EQ(plots_of(record).at(0).table.at(0).cells.front(), "first record");
  record.accounts[0].is_of_program = true;
  record.accounts[0].parts = {{.name = "kernel before", .ratio = RatioEstimate{1.1, 1.0, 1.2}}};
  const Plot plot = plots_of(record).at(0);
  EXPECT_THAT(plot.title, HasSubstr("Alone and in PyTorch"));
  EXPECT_THAT(plot.table.at(0).cells,
              ElementsAre("alone", "kernel before", "rest, none shown", "in PyTorch"));
}

TEST(CausePlots, ACauseStandsAboveItsDoses) {
  explain::FactorResult factor;
  factor.cause = "a slower host";
  for (const char* dose : {"2 µs per call", "20 µs per call"}) {
    explain::DoseEffect effect;
    effect.dose = dose;
    effect.time = {1.01, 1.0, 1.02};
    factor.doses.push_back(effect);
  }
  ExplainRecord record;
  record.study.emplace();
  record.study->factors = {factor};
  const Plot plot = plots_of(record).at(0);
  EXPECT_THAT(order_of(plot),
              ElementsAre("a slower host", "a slower host: 2 µs per call", "a slower host: 20 µs per call"));
}

}  // namespace
}  // namespace jitterscope
