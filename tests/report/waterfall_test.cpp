// Waterfalls of an explanation: their parts add up, the rest included.
#include <gmock/gmock.h>

#include <cmath>

#include "commands/records.hpp"

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

explain::FactorResult cause(const std::string& id, const std::string& name, double ratio) {
  explain::FactorResult factor;
  factor.id = id;
  factor.cause = name;
  factor.usual = "as usual";
  factor.verdict = explain::FactorVerdict::cause;
  factor.doses = {{.dose = "weak", .time = {1.0, 0.99, 1.01}},
                  {.dose = "strong", .time = {ratio, ratio * 0.99, ratio * 1.01}}};
  factor.strongest = 1;
  return factor;
}

explain::Explanation sample_study() {
  explain::Explanation found;
  found.operation = "add:count=8";
  found.factors = {cause("cache", "cold operands", 1.3), cause("data", "values", 0.9),
                   cause("instrument", "the method", 0.8)};
  found.plain = TimeEstimate{microseconds(100), microseconds(99), microseconds(101), 10};
  found.fastest = explain::FastestLoop{
      .parts = {{"data", "strong"}, {"instrument", "strong"}}, .time = {0.75, 0.74, 0.76}, .blocks = 8};
  found.observation.median = microseconds(104);
  for (int i = 0; i < 9; ++i) {
    explain::ObservedLoop loop;
    loop.median = microseconds(102 + 0.5 * i);
    found.observation.loops.push_back(loop);
  }
  return found;
}

std::vector<Plot> plots_of_study(const explain::Explanation& found) {
  ExplainRecord record;
  record.study = found;
  return plots_of(record);
}

const Json& drawn_rows(const Plot& plot, const std::string& name) {
  for (const Json& layer : plot.spec.at("layer")) {
    if (layer.at("name") == name) return layer.at("data").at("values");
  }
  throw std::runtime_error("no layer " + name);
}

// Where a part ends the next begins, and the last ends at the level.
void expect_sum(const Plot& plot) {
  const Json& levels = drawn_rows(plot, "levels");
  ASSERT_EQ(levels.size(), 2u);
  double reached = levels[0].at("end");
  for (const Json& part : drawn_rows(plot, "parts")) {
    EXPECT_EQ(part.at("begin"), reached);
    EXPECT_LE(part.at("low"), part.at("end"));
    EXPECT_GE(part.at("high"), part.at("end"));
    EXPECT_LT(part.at("low"), part.at("high")) << part.at("part");
    reached = part.at("end");
  }
  EXPECT_EQ(levels[1].at("end"), reached);
}

TEST(BestToObserved, ItsPartsAddUp) {
  const std::vector<Plot> plots = plots_of_study(sample_study());
  ASSERT_EQ(plots.at(0).id, "best") << "the main plot";
  const Plot& plot = plots[0];
  EXPECT_THAT(plot.table.at(0).cells,
              ElementsAre("best", "the method", "values", "rest, none shown", "observed"))
      << "the largest first; what makes it only slower is not in the observed loop";
  expect_sum(plot);
  const Json& levels = drawn_rows(plot, "levels");
  EXPECT_EQ(levels[0].at("end"), 75.0);
  EXPECT_EQ(levels[0].at("high"), 76.0);
  EXPECT_EQ(levels[1].at("end"), 104.0);
  const Json& parts = drawn_rows(plot, "parts");
  EXPECT_EQ(parts[0].at("end"), 93.75) << "75 / 0.8";
  EXPECT_EQ(parts[2].at("kind"), "rest");
  EXPECT_THAT(parts[0].at("source").get<std::string>(), HasSubstr("as usual in place of strong"));
}

TEST(BestToObserved, TheRestIsNoBetterKnownThanAllElseTogether) {
  const Plot plot = plots_of_study(sample_study()).at(0);
  const Json& rest = drawn_rows(plot, "parts")[2];
  const double width = std::log(rest.at("high").get<double>() / rest.at("low").get<double>()) / 2.0;
  // 1.33 % of best, 1 % of each cause, about 1.5 % of the loops: in squares.
  EXPECT_GT(width, std::sqrt(0.0133 * 0.0133 + 0.01 * 0.01 + 0.01 * 0.01));
  EXPECT_LT(width, 0.035);
}

TEST(BestToObserved, WhereNoCauseMakesItFasterOnlyTheRestIsLeft) {
  explain::Explanation found = sample_study();
  found.fastest.reset();
  const std::vector<Plot> plots = plots_of_study(found);
  ASSERT_EQ(plots.at(0).id, "causes") << "what it holds leads";
  ASSERT_EQ(plots.at(1).id, "best");
  EXPECT_THAT(plots[1].table.at(0).cells, ElementsAre("best", "not explained", "observed"));
  EXPECT_EQ(drawn_rows(plots[1], "levels")[0].at("end"), 100.0) << "the plain loop beside the doses";
  expect_sum(plots[1]);
}

// Parts measured one by one may add up to more than all: the step back is no fault, and says so.
TEST(BestToObserved, CausesThatOverlapAreNamed) {
  explain::Explanation found = sample_study();
  found.factors[2].doses[1].time = {0.3, 0.29, 0.31};
  const Plot plot = plots_of_study(found).at(0);
  EXPECT_THAT(plot.table.at(0).cells,
              ElementsAre("best", "the method", "values", "overlap of the parts", "observed"));
  EXPECT_LT(drawn_rows(plot, "parts")[2].at("end"), drawn_rows(plot, "parts")[2].at("begin"));
  EXPECT_EQ(explain::rest_name({1.2, 1.1, 1.3}), "not explained");
  EXPECT_EQ(explain::rest_name({0.5, 0.4, 0.6}), "not explained") << "as the sentences say";
  EXPECT_EQ(explain::rest_name({1.01, 0.9, 1.1}), "rest, none shown");
}

TEST(BestToObserved, OlderRecordsAndThoseThatContradictThemselvesHaveNone) {
  explain::Explanation older = sample_study();
  older.plain.reset();
  EXPECT_EQ(plots_of_study(older).at(0).id, "causes");
  explain::Explanation odd = sample_study();
  odd.fastest->parts.push_back({"data", "a dose that is not there"});
  EXPECT_EQ(plots_of_study(odd).at(0).id, "causes");
}

TEST(AccountPlots, TheirPartsAddUpAndNamesStayApart) {
  explain::Account account;
  account.first_subject = "add:count=8";
  account.first = {microseconds(10), microseconds(9.9), microseconds(10.1), 10};
  account.second = {microseconds(12), microseconds(11.9), microseconds(12.1), 10};
  account.parts = {{.name = "clock", .ratio = RatioEstimate{1.1, 1.08, 1.12}},
                   {.name = "rest", .ratio = RatioEstimate{0.98, 0.97, 0.99}}};
  account.rest = {12.0 / 10.78, 1.05, 1.15};
  ExplainRecord record;
  record.accounts = {account};
  const Plot plot = plots_of(record).at(0);
  expect_sum(plot);
  const Json& parts = drawn_rows(plot, "parts");
  EXPECT_EQ(parts[0].at("kind"), "slower");
  EXPECT_EQ(parts[1].at("kind"), "faster");
  EXPECT_NE(parts[1].at("part"), parts[2].at("part"));
}

}  // namespace
}  // namespace jitterscope
