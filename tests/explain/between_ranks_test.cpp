// Blocks of ranks whose times are known: which factors are called causes.
#include "explain/between_ranks.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/random.hpp"
#include "explain/tried_factors.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope::explain {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

StudyBetweenRanks study_of(const std::string& operation, std::vector<std::string> factors = {}) {
  return {.operation = among_ranks(Operation::parse(operation), 2), .factors = std::move(factors)};
}

const FactorResult& factor_in(const Explanation& found, const std::string& id) {
  return *std::ranges::find(found.factors, id, &FactorResult::id);
}

// What is true of a block: a transfer of 50 us, times what a load or a neighbour makes of it.
struct TruthOfBlock {
  double load = 1.0, neighbour = 1.0;
  double seen = 1.0;  ///< share of a delay that the others wait
};

Measurement measurement_under(Load load, double microseconds_taken) {
  Measurement measurement;
  measurement.conditions.load = load;
  measurement.time.median = microseconds(microseconds_taken);
  measurement.time.rounds = 10;
  return measurement;
}

std::vector<RunRecord> ranks_with(const StudyBetweenRanks& study, double transfer, double load) {
  std::vector<RunRecord> ranks(2);
  for (RunRecord& rank : ranks) {
    RunEntry& entry = rank.entries.emplace_back();
    entry.result.subject = study.operation;
    entry.result.measurements = {measurement_under(Load::burst, transfer),
                                 measurement_under(Load::sustained, transfer * load)};
  }
  return ranks;
}

ArrivalRounds rounds_of(std::int64_t rank, std::optional<std::int64_t> delayed, double delay, double seen,
                        Random& random) {
  ArrivalRounds rounds{.delayed_rank = delayed, .delay = microseconds(delay)};
  for (int round = 0; round < 30; ++round) {
    const bool waits = delayed && *delayed != rank;
    rounds.gaps.push_back(microseconds(2));
    rounds.works.push_back(microseconds(100));
    rounds.own_times.push_back(microseconds(52 + (waits ? seen * delay : 0.0) + 0.2 * random.uniform()));
  }
  return rounds;
}

std::vector<BlockOfRanks> blocks_of(const StudyBetweenRanks& study, const TruthOfBlock& truth,
                                    std::size_t count = 8) {
  Random random(7);
  std::vector<BlockOfRanks> blocks(count);
  for (BlockOfRanks& block : blocks) {
    const auto transfer = [&] { return 50 * (1 + 0.0005 * random.normal()); };
    block.plain = ranks_with(study, transfer(), truth.load * (1 + 0.0005 * random.normal()));
    block.beside["neighbour_memory"] = ranks_with(study, transfer() * truth.neighbour, 1.0);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      CollectiveArrivals arrivals{.operation = study.operation.text(), .eager = {}, .rounds = {}};
      arrivals.rounds.push_back(rounds_of(rank, std::nullopt, 0, truth.seen, random));
      // In another order than that of their size.
      for (const double delay : {100.0, 5.0, 20.0}) {
        for (const std::int64_t delayed : {1, 0})
          arrivals.rounds.push_back(rounds_of(rank, delayed, delay, truth.seen, random));
      }
      block.plain[static_cast<std::size_t>(rank)].arrivals = {std::move(arrivals)};
    }
  }
  return blocks;
}

TEST(BetweenRanks, ALateRankIsACauseWhoseDosesAreRead) {
  const StudyBetweenRanks study = study_of("all_reduce:count=1Mi");
  const Explanation found = explain_between_ranks(study, blocks_of(study, {}));
  EXPECT_EQ(found.blocks, 8);
  ASSERT_TRUE(found.plain);
  EXPECT_NEAR(found.plain->median.value(), 50e3, 50);
  const FactorResult& late = factor_in(found, "lateness");
  EXPECT_EQ(late.verdict, FactorVerdict::cause);
  ASSERT_EQ(late.doses.size(), 3u);
  for (const auto& [dose, delay] : {std::pair(0, 5.0), std::pair(1, 20.0), std::pair(2, 100.0)})
    EXPECT_NEAR(late.doses[static_cast<std::size_t>(dose)].time.ratio, 1 + delay / 52.1, 0.01) << delay;
  EXPECT_EQ(factor_in(found, "load").verdict, FactorVerdict::cleared);
  EXPECT_EQ(factor_in(found, "neighbour_memory").verdict, FactorVerdict::cleared);
  const std::vector<std::string> said = conclusions_between_ranks(study, found, blocks_of(study, {}));
  EXPECT_THAT(said, Contains(AllOf(HasSubstr("others wait longer: 5.0"), HasSubstr(" µs for 20 µs, "),
                                   HasSubstr(" µs for 100 µs (rank 0); "), HasSubstr("(rank 1)."))));
  EXPECT_THAT(said, Contains(HasSubstr("No rank comes last more often than by chance")));
}

TEST(BetweenRanks, LoadAndNeighboursAreToldApart) {
  const StudyBetweenRanks study = study_of("all_reduce:count=1Mi");
  const Explanation loaded = explain_between_ranks(study, blocks_of(study, {.load = 1.2}));
  EXPECT_EQ(factor_in(loaded, "load").verdict, FactorVerdict::cause);
  EXPECT_NEAR(factor_in(loaded, "load").doses.at(0).time.ratio, 1.2, 0.01);
  EXPECT_EQ(factor_in(loaded, "neighbour_memory").verdict, FactorVerdict::cleared);
  const Explanation beside = explain_between_ranks(study, blocks_of(study, {.neighbour = 1.5}));
  EXPECT_EQ(factor_in(beside, "neighbour_memory").verdict, FactorVerdict::cause);
  EXPECT_EQ(factor_in(beside, "load").verdict, FactorVerdict::cleared);
  EXPECT_EQ(factor_in(beside, "neighbour_kernels").verdict, FactorVerdict::unresolved) << "it has no blocks";
}

// A machine on which a delay does not reach the others proves nothing of who is late.
TEST(BetweenRanks, DelaysThatDoNotShowAreNoVerdictOnWhoIsLate) {
  const StudyBetweenRanks study = study_of("all_reduce:count=1Mi");
  const std::vector<BlockOfRanks> blocks = blocks_of(study, {.seen = 0.5});
  EXPECT_THAT(conclusions_between_ranks(study, explain_between_ranks(study, blocks), blocks),
              Contains(HasSubstr("nothing is said of who is late")));
}

TEST(BetweenRanks, FewBlocksDecideNothing) {
  const StudyBetweenRanks study = study_of("all_reduce:count=1Mi");
  const Explanation found = explain_between_ranks(study, blocks_of(study, {.load = 1.2}, kFewestBlocks - 1));
  EXPECT_EQ(factor_in(found, "load").verdict, FactorVerdict::unresolved);
  EXPECT_TRUE(explain_between_ranks(study, {}).factors.size() > 0) << "none is no error";
}

TEST(BetweenRanks, FactorsAreThoseThatWereAskedFor) {
  const std::vector<Factor> one = factors_between_ranks(study_of("all_reduce:count=1Mi", {"lateness"}));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].id, "lateness");
  EXPECT_EQ(factors_between_ranks(study_of("all_reduce:count=1Mi")).size(),
            factor_ids_between_ranks().size());
  EXPECT_THROW(factors_between_ranks(study_of("all_reduce:count=1Mi", {"cache"})), UsageError);
  EXPECT_THAT(factors_between_ranks(study_of("broadcast:count=1Mi", {"lateness"})).at(0).not_available,
              HasSubstr("no rank of this collective waits for all others"));
}

TEST(BetweenRanks, APlanHasWhatItsFactorsNeed) {
  const StudyBetweenRanks all = study_of("all_reduce:count=1Mi"),
                          broadcast = study_of("broadcast:count=1Mi", {"neighbour_memory"});
  const Plan plain = plan_of_block(all, 5, true);
  EXPECT_THAT(plain.groups.at(0).at(0).options.loads, ElementsAre(Load::burst, Load::sustained));
  EXPECT_TRUE(plain.arrivals);
  const Plan beside = plan_of_block(all, 5, false);
  EXPECT_THAT(beside.groups.at(0).at(0).options.loads, ElementsAre(Load::burst));
  EXPECT_FALSE(beside.arrivals);
  EXPECT_THAT(plan_of_block(broadcast, 5, true).groups.at(0).at(0).options.loads, ElementsAre(Load::burst));
  EXPECT_FALSE(plan_of_block(broadcast, 5, true).arrivals);
}

}  // namespace
}  // namespace jitterscope::explain
