// Plots of what commands prove or compare: a selftest, PyTorch beside us, a doctor's noise floor.
#include <gmock/gmock.h>

#include "commands/records.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using selftest::ProofLine;
using selftest::ProofTarget;
using selftest::ProofValue;
using selftest::SelftestRecord;
using selftest::ValueKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SelftestRecord proved() {
  SelftestRecord record;
  record.device.name = "NVIDIA H200";
  record.lines = {{"coverage", "time", "94–96 %", "95.0 %",
                   ProofValue{ValueKind::share, 0.95, 0.91, 0.98, ProofTarget{0.94, 0.96}},
                   selftest::Verdict::passed, ""},
                  {"spin", "slope", "1.000 ± 0.002", "1.011",
                   ProofValue{ValueKind::ratio, 1.011, 1.010, 1.012, ProofTarget{0.998, 1.002}},
                   selftest::Verdict::missed, ""},
                  {"spin", "largest residual", "at most 0.1 µs", "+0.025 µs",
                   ProofValue{ValueKind::seconds, 25e-9, {}, {}, ProofTarget{-1e-7, 1e-7}},
                   selftest::Verdict::passed, ""},
                  {"coverage", "constant", "94–96 %", "90.0 %",
                   ProofValue{ValueKind::share, 0.90, 0.86, 0.95}, selftest::Verdict::inconclusive, ""},
                  {"trace", "whole proof", "", "", {}, selftest::Verdict::skipped, "libcupti was not found"}};
  return record;
}

const Json& layer_named(const Json& view, const std::string& name) {
  for (const Json& layer : view.at("layer")) {
    if (layer.value("name", std::string()).starts_with(name)) return layer;
  }
  throw std::runtime_error("no layer " + name);
}

TEST(SelftestPlots, LinesOfOneProofThatCountTheSameHaveAnAxisTogether) {
  const std::vector<Plot> plots = plots_of(proved());
  ASSERT_EQ(plots.size(), 1u);
  const Json& views = plots[0].spec.at("vconcat");
  ASSERT_EQ(views.size(), 3u) << "coverage; spin as a ratio and as a time";
  EXPECT_EQ(views[0].at("title"), "coverage");
  const Json& shares = layer_named(views[0], "proofs").at("data").at("values");
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].at("value"), 95.0) << "in percent";
  EXPECT_EQ(shares[0].at("from"), 94.0);
  EXPECT_EQ(shares[1].at("verdict"), "inconclusive");
  EXPECT_EQ(layer_named(views[0], "targets").at("data").at("values").size(), 1u)
      << "a target that is no range of the value is not drawn";
  const Json& residual = layer_named(views[2], "proofs");
  EXPECT_EQ(residual.at("data").at("values")[0].at("value"), 25.0);
  EXPECT_EQ(residual.at("encoding").at("x").at("title"), "ns");
}

TEST(SelftestPlots, TheTableHasLinesWithoutAValueToo) {
  const Plot plot = plots_of(proved()).at(0);
  EXPECT_THAT(plot.table.at(1).cells,
              ElementsAre("time", "slope", "largest residual", "constant", "whole proof"));
  EXPECT_THAT(plot.caption, HasSubstr("1 line without a value is only in the table"));
  SelftestRecord nothing = proved();
  nothing.lines.erase(nothing.lines.begin(), nothing.lines.end() - 1);
  EXPECT_THAT(plots_of(nothing), IsEmpty());
}

TEST(SelftestPlots, OneProofAloneIsAsWideAsThePage) {
  SelftestRecord record = proved();
  record.lines = {record.lines[1]};
  record.lines[0].name = std::string(200, 'a');
  const Json spec = plots_of(record).at(0).spec;
  EXPECT_FALSE(spec.contains("vconcat"));
  EXPECT_EQ(spec.at("width"), 820) << "names included";
}

TEST(SelftestPlots, ClaimsOfOneNameHaveARowEach) {
  SelftestRecord record = proved();
  record.lines[3].name = "time";
  const Plot plot = plots_of(record).at(0);
  const Json& shares = layer_named(plot.spec.at("vconcat")[0], "proofs").at("data").at("values");
  EXPECT_NE(shares[0].at("claim"), shares[1].at("claim"));
}

ComparedLayer compared_layer(const std::string& operation, std::int64_t count, double there, double here,
                             Verdict kernels) {
  Result result;
  result.kernels = {{"kernel", microseconds(here), microseconds(here), microseconds(here)}};
  ComparedLayer layer{.reference = {.operation = Operation::parse(operation),
                                    .name = {},
                                    .count = count,
                                    .engine = {},
                                    .kernels = {},
                                    .time = microseconds(there)},
                      .here = result,
                      .kernels = kernels,
                      .time_ratio = here / there};
  return layer;
}

TEST(PytorchPlots, TheWholeCountsEachLayerAsOftenAsTheNetworkDoes) {
  PytorchRecord record;
  record.comparison.model = "resnet18";
  record.comparison.layers = {compared_layer("add:count=8", 3, 10, 9, Verdict::equal),
                              compared_layer("relu:count=8", 1, 10, 20, Verdict::differs)};
  ComparedLayer failed = compared_layer("gelu:count=8", 1, 10, 10, Verdict::unknown);
  failed.time_ratio.reset();
  record.comparison.layers.push_back(failed);
  const std::vector<Plot> plots = plots_of(record);
  ASSERT_EQ(plots.size(), 1u);
  const Json& rows = layer_named(plots[0].spec, "ratios").at("data").at("values");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].at("layer"), "all together");
  EXPECT_EQ(rows[0].at("change"), 17.5) << "3 x 9 + 20 against 40";
  EXPECT_EQ(rows[1].at("likeness"), "the same kernels");
  EXPECT_EQ(rows[2].at("likeness"), "other kernels");
  EXPECT_THAT(plots[0].caption, HasSubstr("1 layer without both times"));
  record.comparison.layers = {failed};
  EXPECT_THAT(plots_of(record), IsEmpty());
}

TEST(DoctorPlots, TheIntervalAndMostRoundsLieAroundTheMedian) {
  DoctorReport report;
  EXPECT_THAT(plots_of(report), IsEmpty());
  report.noise_floor.emplace();
  report.noise_floor->results = {test::sample_operation().entries[0].result};
  Result failed;
  failed.subject = Operation::parse("add:count=8");
  failed.failure = "out of memory";
  report.noise_floor->results.push_back(failed);
  const std::vector<Plot> plots = plots_of(report);
  ASSERT_EQ(plots.size(), 1u);
  const Json& rows = plots[0].spec.at("data").at("values");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_NEAR(rows[0].at("high").get<double>(), 0.1, 0.02) << "the sample's interval is ±0.1 %";
  EXPECT_LE(rows[0].at("p5"), 0.0);
}

TEST(LossScalingPlots, ALossThatIsNotFiniteIsNotDrawn) {
  study::LossScalingRecord record;
  EXPECT_THAT(plots_of(record), IsEmpty());
  record.found.float32_loss = 0.5;
  record.found.arms.resize(2);
  record.found.arms[0] = {
      .name = "none", .underflow = 0.25, .overflow = 0.0, .loss = {}, .step = {}, .layers = {}};
  record.found.arms[1] = {
      .name = "2^16", .underflow = 0.01, .overflow = 0.02, .loss = 0.6, .step = {}, .layers = {}};
  const Plot plot = plots_of(record).at(0);
  const Json& views = plot.spec.at("vconcat");
  EXPECT_EQ(views[0].at("data").at("values").size(), 4u);
  EXPECT_EQ(views[0].at("data").at("values")[0].at("share"), 25.0);
  EXPECT_EQ(layer_named(views[1], "losses").at("data").at("values").size(), 1u);
  EXPECT_EQ(layer_named(views[1], "float32").at("data").at("values")[0].at("loss"), 0.5);
}

}  // namespace
}  // namespace jitterscope
