// Sweeps and the roofline above them.
#include <gmock/gmock.h>

#include <set>

#include "commands/records.hpp"
#include "output/sample_record.hpp"
#include "report/drawn.hpp"

namespace jitterscope {
namespace {

using test::plot_named;
using test::rows_of;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

RunRecord swept(const std::vector<std::string>& operations) {
  const RunRecord sample = test::sample_operation();
  RunRecord record = sample;
  record.entries.clear();
  for (const std::string& operation : operations) {
    RunEntry entry = sample.entries[0];
    entry.result.subject = Operation::parse(operation);
    entry.result.measurements.resize(1);
    record.entries.push_back(entry);
  }
  return record;
}

TEST(SweepPlots, ASweepIsDrawnAgainstWhatVaries) {
  const std::vector<Plot> plots =
      plots_of(swept({"matmul:m=256,n=512,k=512,dtype=f16", "matmul:m=512,n=512,k=512,dtype=f16",
                      "matmul:m=1024,n=512,k=512,dtype=f16", "matmul:m=256,n=512,k=512,dtype=bf16",
                      "matmul:m=512,n=512,k=512,dtype=bf16", "matmul:m=1024,n=512,k=512,dtype=bf16"}));
  ASSERT_EQ(plots[0].id, "sweep");
  const Json& times = plots[0].spec.at("vconcat")[0].at("data").at("values");
  ASSERT_EQ(times.size(), 6u);
  EXPECT_EQ(times[0].at("at"), 256);
  EXPECT_THAT(times[0].at("series").get<std::string>(), HasSubstr("dtype=f16"));
  EXPECT_THAT(times[5].at("series").get<std::string>(), HasSubstr("dtype=bf16"));
}

// One launch takes these shares of the time that memory's ceiling would have it take.
RunRecord swept_at(const std::vector<double>& shares) {
  std::vector<std::string> operations;
  for (std::size_t i = 0; i < shares.size(); ++i)
    operations.push_back("add:count=" + std::to_string(1024 << i));
  RunRecord record = swept(operations);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Result& result = record.entries[i].result;
    result.flops = 1000.0;
    result.measurements[0].time.median =
        seconds(static_cast<double>(result.bytes.value()) / *record.ceilings.bytes_per_second / shares[i]);
  }
  return record;
}

TEST(SweepPlots, AShareIsDrawnWhereTheTableHasOne) {
  const Plot plot = plots_of(swept_at({10.0, 3.0, 1.02, 0.8})).at(0);
  const std::vector<std::string>& cells = plot.table.back().cells;
  EXPECT_THAT(cells, testing::ElementsAre("in cache", "in cache", "100 %", "80 %"));
  const Json& shares = plot.spec.at("vconcat").at(2).at("layer").back().at("data").at("values");
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].at("share"), 1.0) << "a ceiling is known to some percent";
  EXPECT_EQ(shares[1].at("share"), 0.8);
  EXPECT_EQ(plot.spec.at("vconcat").at(0).at("data").at("values").at(0).at("share_shown"), "in cache");
  EXPECT_THAT(plot.caption, HasSubstr("in cache: faster than DRAM"));
  const Plot cached = plots_of(swept_at({10.0, 3.0, 2.0})).at(0);
  EXPECT_THAT(cached.spec.at("vconcat"), SizeIs(2)) << "of what has no share there is no view";
  RunRecord without = swept_at({0.5, 0.6, 0.7});
  without.ceilings = {};
  EXPECT_THAT(plots_of(without).at(0).caption, Not(HasSubstr("eiling")));
}

TEST(SweepPlots, WithoutAProductMemoryIsTheRoof) {
  RunRecord record = swept_at({0.5, 0.6, 2.0});
  record.ceilings.compute.clear();
  const std::vector<Plot> plots = plots_of(record);
  const Plot& plot = plot_named(plots, "roofline");
  const Json& roof = rows_of(plot, "ceilings");
  ASSERT_EQ(roof.size(), 2u) << "a slope";
  const auto per_byte = [](const Json& row) {
    return row.at("rate").get<double>() / row.at("intensity").get<double>();
  };
  EXPECT_EQ(roof[0].at("roof"), "ceiling of memory");
  EXPECT_NEAR(per_byte(roof[0]) / per_byte(roof[1]), 1.0, 1e-4);
  const Json& points = rows_of(plot, "operations");
  ASSERT_EQ(points.size(), 3u);
  EXPECT_NEAR(per_byte(points[0]) / per_byte(roof[0]), 0.5, 1e-3);
  EXPECT_NEAR(per_byte(points[2]) / per_byte(roof[0]), 2.0, 1e-3) << "in a cache";
  EXPECT_THAT(plot.caption, HasSubstr("no product was measured"));
  for (RunEntry& entry : record.entries) entry.result.flops = 0.0;
  for (const Plot& each : plots_of(record))
    EXPECT_NE(each.id, "roofline") << "what counts no FLOP has no place in it";
}

// What takes most has a name, where it covers no other; each condition has a mark of its own.
TEST(Roofline, TheMostExpensivePointsHaveNames) {
  RunRecord record = test::model_of(15);
  for (RunEntry& entry : record.entries) {
    entry.result.flops = 1e9;
    entry.result.bytes = Bytes(1'000'000);
    entry.result.measurements.push_back(test::sample_measurement(
        CacheState::cold, Load::burst, entry.result.measurements[0].time.median * 2.0));
  }
  record.ceilings = test::sample_operation().ceilings;
  const std::vector<Plot> plots = plots_of(record);
  const Plot& plot = plot_named(plots, "roofline");
  EXPECT_EQ(rows_of(plot, "operations").size(), 30u);
  std::set<std::string> named;
  for (const Json* view : test::views_of(plot)) {
    if (!view->at("name").get<std::string>().starts_with("names_")) continue;
    for (const Json& row : view->at("data").at("values")) {
      EXPECT_TRUE(named.insert(row.at("operation").get<std::string>()).second) << "once";
    }
  }
  EXPECT_TRUE(named.contains("#15 layer15")) << "the slowest";
  EXPECT_LE(named.size(), 12u);
  for (const Json* view : test::views_of(plot)) {
    if (view->at("name") != "operations") continue;
    EXPECT_EQ(view->at("encoding").at("shape").at("field"), "conditions");
    EXPECT_EQ(view->at("mark").at("filled"), false) << "none hides another";
  }
}

TEST(SweepPlots, AnIntervalFromZeroHasAPlaceOnALogarithmicAxis) {
  RunRecord record = swept_at({0.5, 0.6, 0.7, 0.8});
  record.entries[0].result.measurements[0].time.low = Nanoseconds(0);
  const Plot plot = plots_of(record).at(0);
  const Json& rows = plot.spec.at("vconcat").at(0).at("data").at("values");
  EXPECT_GT(rows[0].at("low"), 0.0);
  EXPECT_LT(rows[0].at("low"), rows[0].at("time"));
}

TEST(SweepPlots, ALegendOfManySeriesIsWrapped) {
  std::vector<std::string> operations;
  for (const char* rest : {"n=64,dtype=f32", "n=64,dtype=f16", "n=64,dtype=bf16", "n=512,dtype=f32",
                           "n=512,dtype=f16", "n=512,dtype=bf16"}) {
    for (const char* rows : {"256", "512", "1024"}) {
      operations.push_back(std::string("matmul:m=") + rows + ",k=512," + rest);
    }
  }
  const auto legend_of = [](const RunRecord& record) {
    const Plot plot = plots_of(record).at(0);
    const Json& color = plot.spec.at("vconcat").at(0).at("layer").at(0).at("encoding").at("color");
    return color.value("legend", Json::object());
  };
  const Json legend = legend_of(swept(operations));
  ASSERT_TRUE(legend.contains("columns")) << "six names of 27 letters are wider than a page";
  EXPECT_GE(legend.at("columns"), 2);
  EXPECT_LE(legend.at("columns"), 4);
  operations.resize(3);
  EXPECT_FALSE(legend_of(swept(operations)).contains("columns")) << "one series has a row";
}

TEST(SweepPlots, OperationsWithoutANumberThatVariesStandBelowEachOther) {
  EXPECT_EQ(plots_of(swept({"add:count=1Mi", "relu:count=1Mi", "gelu:count=1Mi"}))[0].id, "times");
  EXPECT_EQ(plots_of(swept({"add:count=1Mi", "add:count=2Mi"}))[0].id, "times") << "two points are no line";
}

TEST(SweepPlots, ABenchmarksCasesAreASweepWithoutARate) {
  RunRecord record = swept({"add:count=8", "add:count=16", "add:count=32"});
  int n = 256;
  for (RunEntry& entry : record.entries) {
    entry.result.subject =
        Callable{"total(n=" + std::to_string(n) + ")", {{"benchmark", "total"}, {"n", std::to_string(n)}}};
    entry.result.flops = 0.0;
    entry.result.bytes = Bytes(0);
    n *= 2;
  }
  const std::vector<Plot> plots = plots_of(record);
  ASSERT_EQ(plots[0].id, "sweep");
  ASSERT_FALSE(plots[0].spec.contains("vconcat")) << "no rate, and so one view";
  const Json& rows = plots[0].spec.at("data").at("values");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].at("at"), 1024.0);
  EXPECT_FALSE(rows[0].contains("rate"));
  EXPECT_THAT(plots[0].caption, Not(HasSubstr("eiling")));
  EXPECT_THAT(plots[0].spec.dump(), Not(HasSubstr("eiling"))) << "nor do tooltips speak of one";
  EXPECT_THAT(plots[0].table, SizeIs(3)) << "a number, a series and a time";
  record.entries[1].result.subject = Callable{"a function alone"};
  EXPECT_EQ(plots_of(record)[0].id, "times");
}

}  // namespace
}  // namespace jitterscope
