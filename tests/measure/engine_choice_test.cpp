#include "measure/engine_choice.hpp"

#include <gmock/gmock.h>

#include <map>

#include "jitterscope/error.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"
#include "operation/operation.hpp"

namespace jitterscope::scripted {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kConvolution = "conv2d:n=1,c=8,hw=8,k=8,rs=3";

// Each launch takes what its engine is said to take.
struct Engines {
  explicit Engines(std::map<std::string, double> engine_times) : times(std::move(engine_times)) {
    for (const auto& [tag, time] : times)
      listings.push_back({tag, Bytes(0), EngineListing::Source::heuristic, ""});
    laboratory.device.script().engines = listings;
    laboratory.device.script().events_noise = Nanoseconds(0);
    laboratory.device.script().launch_time = [this](const LaunchContext& context) {
      const std::string engine = context.operation == nullptr ? "" : engine_of(*context.operation);
      const auto found = times.find(engine.empty() && !listings.empty() ? listings.front().tag : engine);
      return microseconds(found == times.end() ? 100 : found->second);
    };
  }
  std::map<std::string, double> times;
  std::vector<EngineListing> listings;
  Laboratory laboratory;
};

std::vector<std::string> tags(const EngineRanking& ranking) {
  std::vector<std::string> all;
  for (const RankedEngine& engine : ranking.engines) all.push_back(engine.engine.tag);
  return all;
}

EngineRanking rank(Engines& engines, std::int64_t imitations) {
  return rank_engines(engines.laboratory.session, Operation::parse(kConvolution),
                      one_condition(CacheState::warm, Load::burst), imitations, {});
}

TEST(EngineChoice, EnginesAreRankedByTime) {
  Engines engines({{"a", 90}, {"b", 60}, {"c", 75}});
  const EngineRanking ranking = rank(engines, 5);
  EXPECT_THAT(tags(ranking), ElementsAre("b", "c", "a"));
  EXPECT_EQ(ranking.heuristic, "a");
  EXPECT_EQ(ranking.engines.front().autotune_wins, 5);
  EXPECT_NEAR(heuristic_loss(ranking)->value, 0.5, 0.001);
  EXPECT_NEAR(expected_loss(ranking)->value, 0.0, 0.001);
}

TEST(EngineChoice, OfEnginesThatAreFarFromTheFastestAFewLaunchesSuffice) {
  Engines engines({{"a", 90}, {"b", 61}, {"c", 60}, {"d", 75}});
  std::map<std::string, int> launches;
  engines.laboratory.device.script().launch_time = [&](const LaunchContext& context) {
    const std::string engine = context.operation == nullptr ? "" : engine_of(*context.operation);
    ++launches[engine];
    const auto found = engines.times.find(engine);
    return microseconds(found == engines.times.end() ? 100 : found->second);
  };
  const Operation chosen =
      resolve_engine(engines.laboratory.session, Operation::parse(std::string(kConvolution) + ",engine=best"),
                     one_condition(CacheState::warm, Load::burst));
  EXPECT_EQ(engine_of(chosen), "c");
  EXPECT_GT(launches["b"], 100);
  EXPECT_GT(launches["c"], 100);
  EXPECT_LT(launches["a"], 20);
  EXPECT_LT(launches["d"], 20);
}

TEST(EngineChoice, TheImitationTimesOneLaunchAfterOneThatWarmsUp) {
  Engines engines({{"a", 90}, {"b", 60}});
  // Every second launch of b is slow: the timed one, since the first one warms up.
  engines.laboratory.device.script().launch_time = [](const LaunchContext& context) {
    const std::string engine = context.operation == nullptr ? "" : engine_of(*context.operation);
    return microseconds(engine == "b" ? (context.index % 2 == 1 ? 200 : 60) : 90);
  };
  AutotuneImitation imitation(engines.laboratory.session, Operation::parse(kConvolution), {});
  EXPECT_EQ(imitation.candidates()[imitation.choose(Nanoseconds(0))], "a");
}

TEST(EngineChoice, TheImitationTriesTenPlansThatRunAndNoneBeyondPytorchs) {
  Engines engines({{"a", 9},
                   {"b", 9},
                   {"c", 9},
                   {"d", 9},
                   {"e", 9},
                   {"f", 9},
                   {"g", 9},
                   {"h", 9},
                   {"i", 9},
                   {"j", 9},
                   {"k", 9},
                   {"l", 1}});
  engines.laboratory.device.script().missing_engines = {"b"};
  const AutotuneImitation ten(engines.laboratory.session, Operation::parse(kConvolution), {});
  EXPECT_THAT(ten.candidates(), ElementsAre("a", "c", "d", "e", "f", "g", "h", "i", "j", "k"));
  engines.laboratory.device.script().engines[2].source = EngineListing::Source::other;
  const AutotuneImitation fewer(engines.laboratory.session, Operation::parse(kConvolution), {});
  EXPECT_THAT(fewer.candidates(), ElementsAre("a"));
}

TEST(EngineChoice, TheFirstOfEqualsIsTaken) {
  Engines engines({{"a", 64}, {"b", 64}});
  AutotuneImitation imitation(engines.laboratory.session, Operation::parse(kConvolution), {});
  EXPECT_EQ(imitation.choose(Nanoseconds(0)), 0u);
}

TEST(EngineChoice, AnEngineThatFailsStaysInTheRankingWithItsReason) {
  Engines engines({{"a", 90}, {"b", 60}});
  engines.laboratory.device.script().missing_engines = {"b"};
  const EngineRanking ranking = rank(engines, 0);
  EXPECT_THAT(tags(ranking), ElementsAre("a", "b"));
  EXPECT_THAT(ranking.engines.back().result.failure, HasSubstr("lacks this engine"));
  EXPECT_FALSE(expected_loss(ranking).has_value());
}

TEST(EngineChoice, BestAndAutotuneAreResolvedToATag) {
  Engines engines({{"a", 90}, {"b", 60}});
  const MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  for (const char* engine : {"best", "autotune"}) {
    const Operation operation = Operation::parse(std::string(kConvolution) + ",engine=" + engine);
    const Result result = measure_operation(engines.laboratory.session, operation, options, false);
    EXPECT_EQ(result.algorithm, "b") << engine;
    EXPECT_THAT(to_string(result.subject), HasSubstr(std::string("engine=") + engine));
  }
}

RankedEngine ranked(const std::string& tag, double median, double half_width, std::int64_t wins) {
  RankedEngine engine;
  engine.engine.tag = tag;
  engine.autotune_tries = true;
  engine.autotune_wins = wins;
  engine.result.measurements.emplace_back();
  engine.result.measurements[0].repeatability = engine.result.measurements[0].time = {
      microseconds(median), microseconds(median - half_width), microseconds(median + half_width), 10};
  return engine;
}

TEST(EngineLoss, HasAnIntervalThatSaysWhetherThereIsAny) {
  EngineRanking ranking;
  ranking.heuristic = "near";
  ranking.engines = {ranked("fastest", 100, 1, 25), ranked("near", 101, 1, 0), ranked("far", 110, 1, 25)};
  ranking.imitations = 50;
  const EngineLoss near = heuristic_loss(ranking).value();
  EXPECT_NEAR(near.value, 0.01, 1e-9);
  EXPECT_NEAR(near.interval->low, 100.0 / 101 - 1, 1e-9);
  EXPECT_NEAR(near.interval->high, 102.0 / 99 - 1, 1e-9);
  EXPECT_FALSE(near.is_distinguishable());
  ranking.heuristic = "far";
  EXPECT_TRUE(heuristic_loss(ranking)->is_distinguishable());
  ranking.heuristic = "fastest";
  EXPECT_EQ(heuristic_loss(ranking)->interval->high, 0.0);
  const EngineLoss expected = expected_loss(ranking).value();
  EXPECT_NEAR(expected.value, 0.05, 1e-9);
  EXPECT_TRUE(expected.is_distinguishable());
  EXPECT_LT(expected.interval->low, 0.05 * 0.75);
  EXPECT_GT(expected.interval->high, 0.05 * 1.25);
}

TEST(EngineLoss, TheShareOfImitationsHasAnExactInterval) {
  EngineRanking ranking;
  ranking.engines = {ranked("a", 100, 1, 17)};
  EXPECT_FALSE(autotune_share(ranking, ranking.engines[0]).has_value());
  ranking.imitations = 50;
  const AutotuneShare share = autotune_share(ranking, ranking.engines[0]).value();
  EXPECT_EQ(share.value, 0.34);
  EXPECT_NEAR(share.interval.low, 0.2121, 5e-4);
  EXPECT_NEAR(share.interval.high, 0.4877, 5e-4);
}

TEST(EngineChoice, AChoiceThatWasMeasuredIsKept) {
  Result result;
  result.algorithm = "b";
  for (const char* engine : {"best", "autotune"}) {
    const Operation operation = Operation::parse(std::string(kConvolution) + ",engine=" + engine);
    EXPECT_EQ(engine_of(as_measured(operation, result)), "b") << engine;
    EXPECT_EQ(as_measured(operation, Result()), operation) << "it was not measured";
  }
  const Operation named = Operation::parse(std::string(kConvolution) + ",engine=a");
  EXPECT_EQ(as_measured(named, result), named);
  EXPECT_EQ(as_measured(Operation::parse(kConvolution), result), Operation::parse(kConvolution));
}

TEST(EngineChoice, ADeviceWithoutEnginesSaysSo) {
  Laboratory laboratory;
  try {
    rank_engines(laboratory.session, Operation::parse(kConvolution), {}, 0, {});
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no choice of engines"));
  }
}

}  // namespace
}  // namespace jitterscope::scripted
