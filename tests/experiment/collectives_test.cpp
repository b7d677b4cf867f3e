// Groups of ranks whose transfers and arrivals are known: what is said of them.
#include "experiment/collectives.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "experiment/simulated_processes.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using testing::DoubleNear;
using testing::SizeIs;

const std::string kOperation =
    Operation::parse("add:count=1024").text();  // any operation: only its times count

// The truth about a group of ranks, in microseconds.
struct Truth {
  std::size_t ranks = 2;
  double transfer = 10.0, launch = 4.0;       // a collective that is launched takes both
  std::vector<double> gaps = {}, works = {};  // of each rank beyond 1 and 100
  double noise = 0.3;                         // of each rank's work, standard deviation
  double between_groups = 0.002;              // of the transfer, relative
  double waits_seen = 1.0;                    // own times have so much of a wait
  std::vector<double> hosts = {};             // what a launch takes each rank's host beyond 3
};

RunRecord record_of_rank(double time) {
  return test::record_of({test::entry_of(
      kOperation, {test::timed(std::vector<double>(12, time), CacheState::warm, Hertz(test::kClock))})});
}

std::vector<std::vector<RunRecord>> groups_of(const Truth& truth, std::uint64_t seed,
                                              std::size_t groups = 8) {
  Random random(seed);
  std::vector<std::vector<RunRecord>> all;
  for (std::size_t group = 0; group < groups; ++group) {
    const double transfer = truth.transfer * std::exp(truth.between_groups * random.normal());
    std::vector<RunRecord> ranks;
    for (std::size_t rank = 0; rank < truth.ranks; ++rank) {
      ranks.push_back(record_of_rank(transfer * std::exp(0.0005 * random.normal())));
      const double host = 3.0 + (truth.hosts.empty() ? 0.0 : truth.hosts[rank]);
      ranks.back().entries[0].result.launch_cost = microseconds(host * std::exp(0.03 * random.normal()));
      ranks.back().arrivals = {{.operation = kOperation, .eager = {}, .rounds = {}}};
      for (int block = 0; block < 10; ++block)
        ranks.back().arrivals[0].eager.push_back(microseconds(transfer + 30.0 + 0.2 * random.normal()));
    }
    const auto add_rounds = [&](std::optional<std::int64_t> late, double delay, int count) {
      std::vector<ArrivalRounds> rounds(truth.ranks, {.delayed_rank = late, .delay = microseconds(delay)});
      for (int round = 0; round < count; ++round) {
        std::vector<double> arrivals;
        for (std::size_t rank = 0; rank < truth.ranks; ++rank) {
          const double gap = 1.0 + (truth.gaps.empty() ? 0.0 : truth.gaps[rank]);
          double work =
              100.0 + (truth.works.empty() ? 0.0 : truth.works[rank]) + truth.noise * random.normal();
          if (late == static_cast<std::int64_t>(rank)) work += delay;
          rounds[rank].gaps.push_back(microseconds(gap));
          rounds[rank].works.push_back(microseconds(work));
          arrivals.push_back(gap + work);
        }
        const double last = std::ranges::max(arrivals);
        for (std::size_t rank = 0; rank < truth.ranks; ++rank) {
          const double wait = truth.waits_seen * (last - arrivals[rank]);
          rounds[rank].own_times.push_back(
              microseconds(wait + transfer + truth.launch + 0.05 * random.normal()));
        }
      }
      for (std::size_t rank = 0; rank < truth.ranks; ++rank)
        ranks[rank].arrivals[0].rounds.push_back(std::move(rounds[rank]));
    };
    add_rounds(std::nullopt, 0.0, 200);
    std::vector<std::pair<std::int64_t, double>> delays;
    for (std::size_t rank = 0; rank < truth.ranks; ++rank)
      for (const double delay : {5.0, 20.0, 100.0}) delays.emplace_back(rank, delay);
    shuffle(delays, random);
    for (const auto& [rank, delay] : delays) add_rounds(rank, delay, 24);
    all.push_back(std::move(ranks));
  }
  return all;
}

CollectiveResult result_of(const Truth& truth, std::uint64_t seed = 1, std::size_t groups = 8) {
  return analyse_collective(groups_of(truth, seed, groups), std::vector{kOperation});
}

TEST(Collectives, TellTransferFromWaiting) {
  const CollectiveResult result = result_of({.works = {0.0, 6.0}});
  ASSERT_THAT(result.times, SizeIs(1));
  EXPECT_THAT(result.times[0].time.median.value(), DoubleNear(10'000, 60));
  EXPECT_THAT(result.times[0].groups, SizeIs(8));
  EXPECT_THAT(result.eager_adds->median.value(), DoubleNear(30'000, 100));
  EXPECT_THAT(result.waiting->median.value(), DoubleNear(6'000, 150));
  EXPECT_GT(result.waiting->p95, microseconds(6.3));
  EXPECT_EQ(result.waiting->rounds, 1'600);
}

TEST(Collectives, NameTheRankThatComesLastAndWhatMakesItLate) {
  const CollectiveWaiting by_work = *result_of({.ranks = 4, .works = {0.0, 0.0, 3.0, 0.0}}).waiting;
  EXPECT_EQ(by_work.late_rank, 2);
  EXPECT_GT(by_work.last_shares[2], 0.99);
  EXPECT_THAT(by_work.late_by.value(), DoubleNear(3'000, 150));
  EXPECT_THAT(by_work.late_by_work.value(), DoubleNear(3'000, 150));
  EXPECT_THAT(by_work.late_by_launches.value(), DoubleNear(0, 1));
  EXPECT_TRUE(lateness_is_proven(by_work));

  const CollectiveWaiting by_launches = *result_of({.gaps = {1.7, 0.0}}).waiting;
  EXPECT_EQ(by_launches.late_rank, 0);
  EXPECT_THAT(by_launches.late_by_launches.value(), DoubleNear(1'700, 1));
  EXPECT_THAT(by_launches.late_by_work.value(), DoubleNear(0, 100));
}

// Behind work of 100 us nobody waits for such a host, and it is named all the same.
TEST(Collectives, NameTheHostThatLaunchesSlowly) {
  const CollectiveResult slow = result_of({.ranks = 4, .hosts = {0.0, 0.0, 20.0, 0.0}}, 1, 3);
  EXPECT_EQ(slow.launches->slow_host, 2);
  EXPECT_THAT(slow.launches->costs[2].value(), DoubleNear(23'000, 1'500));
  EXPECT_THAT(usual_launch(*slow.launches).value(), DoubleNear(3'000, 300));
  EXPECT_EQ(slow.waiting->late_rank, std::nullopt);
  EXPECT_FALSE(slow.waiting->is_host_behind);
  EXPECT_EQ(result_of({.hosts = {1.0, 0.0}}).launches->slow_host, std::nullopt) << "as NUMA nodes differ";
  EXPECT_EQ(result_of({.works = {0.0, 50.0}}).launches->slow_host, std::nullopt) << "late on its GPU";
  EXPECT_EQ(result_of({.hosts = {20.0, 0.0}}, 1, 1).launches->slow_host, std::nullopt) << "of one group";
}

// Its GPU begins a round and waits for the launch of the work: the marks around the work hold that wait.
TEST(Collectives, OfAHostThatIsBehindCallItsWorkLaunches) {
  const CollectiveWaiting waiting = *result_of({.works = {0.0, 78.0}, .hosts = {0.0, 100.0}}).waiting;
  EXPECT_TRUE(waiting.is_host_behind);
  EXPECT_THAT(waiting.late_by_launches.value(), DoubleNear(78'000, 150));
  EXPECT_EQ(waiting.late_by_work, Nanoseconds(0));
  const CollectiveWaiting work = *result_of({.works = {78.0, 0.0}, .hosts = {0.0, 100.0}}).waiting;
  EXPECT_THAT(work.late_by_work.value(), DoubleNear(78'000, 150)) << "of another rank than the slow host's";
}

// A delay makes others wait by its length less what that rank would have waited itself.
TEST(Collectives, ProveThatADelayIsSeen) {
  const CollectiveWaiting waiting = *result_of({.works = {8.0, 0.0}}).waiting;
  ASSERT_THAT(waiting.proofs, SizeIs(6));
  const std::vector<double> expected = {5.0, 20.0, 100.0, 0.0, 12.0, 92.0};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(waiting.proofs[i].rank, i < 3 ? 0 : 1);
    EXPECT_THAT(waiting.proofs[i].expected.value() / 1e3, DoubleNear(expected[i], 0.2)) << i;
    EXPECT_THAT(waiting.proofs[i].seen.median.value() / 1e3, DoubleNear(expected[i], 0.3)) << i;
    EXPECT_TRUE(waiting.proofs[i].holds) << i;
  }
}

TEST(Collectives, ThatDoNotShowADelayAreNotProven) {
  const CollectiveWaiting blind = *result_of({.works = {0.0, 6.0}, .waits_seen = 0.0}).waiting;
  EXPECT_FALSE(lateness_is_proven(blind));
  const CollectiveWaiting too_little = *result_of({.waits_seen = 0.8}).waiting;
  EXPECT_FALSE(lateness_is_proven(too_little));
  EXPECT_TRUE(too_little.proofs[0].holds);  // 4 us for 5: within 1 us + 2 %
}

// Ranks that are alike: one is called late in at most 1 of 20, up to what 400 trials may show.
TEST(Collectives, CallNoRankLateWhereAllAreAlike) {
  std::int64_t late = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    Truth truth{.ranks = 3, .works = {0.0, 0.0, 0.0}, .noise = 2.0};
    const auto groups = groups_of(truth, 1'000 + static_cast<std::uint64_t>(trial), 5);
    late += analyse_collective(groups, std::vector{kOperation}).waiting->late_rank.has_value();
  }
  EXPECT_LE(statistics::clopper_pearson(late, kTrials).low, 0.05) << late;
}

// The share, what chance makes of it and the verdict agree.
TEST(Collectives, CallARankLateExactlyWhereItsShareIsBeyondChance) {
  int late = 0;
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const Truth truth{.works = {0.0, 0.6 * static_cast<double>(trial % 4)}, .noise = 2.0};
    const CollectiveWaiting waiting =
        *analyse_collective(groups_of(truth, 9'000 + trial, 3), std::vector{kOperation}).waiting;
    EXPECT_EQ(waiting.late_rank.has_value(),
              is_last_beyond_chance(waiting) && waiting.late_by >= microseconds(0.5));
    EXPECT_EQ(is_last_beyond_chance(waiting), std::ranges::max(waiting.last_shares) > 0.5 + waiting.chance);
    late += waiting.late_rank.has_value();
  }
  EXPECT_GT(late, 10);
  EXPECT_LT(late, 50);
}

// 400 ns in every round are certain, and no reason to act.
TEST(Collectives, CallNoRankLateForLessThanHalfAMicrosecond) {
  const CollectiveWaiting little = *result_of({.works = {0.4, 0.0}, .noise = 0.02}).waiting;
  EXPECT_GT(little.last_shares[0], 0.99);
  EXPECT_EQ(little.late_rank, std::nullopt);
  EXPECT_EQ(result_of({.works = {0.7, 0.0}, .noise = 0.02}).waiting->late_rank, 0);
}

// The interval of a transfer holds the value of the next group as often as it says it holds their mean.
TEST(Collectives, HaveIntervalsThatHoldTheTruth) {
  std::int64_t held = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    const CollectiveResult result =
        result_of({.between_groups = 0.01}, 5'000 + static_cast<std::uint64_t>(trial), 6);
    const TimeEstimate& time = result.times[0].time;
    held += time.low <= microseconds(10.0) && microseconds(10.0) <= time.high;
  }
  const statistics::Interval share = statistics::clopper_pearson(held, kTrials);
  EXPECT_LE(share.low, 0.97);
  EXPECT_GE(share.high, 0.93) << held;
}

TEST(Collectives, OfOneGroupHaveNoVerdict) {
  const CollectiveWaiting waiting = *result_of({.works = {0.0, 6.0}}, 1, 1).waiting;
  EXPECT_EQ(waiting.late_rank, std::nullopt);
  EXPECT_GT(waiting.last_shares[1], 0.99);
}

TEST(Collectives, ThatARankDidNotTimeHaveNoTime) {
  auto groups = groups_of({}, 1, 3);
  for (auto& group : groups) group[1].entries.clear();
  EXPECT_THAT(analyse_collective(groups, std::vector{kOperation}).times, testing::IsEmpty());
  groups = groups_of({}, 1, 3);
  groups[0][1].arrivals.clear();
  groups[1][1].arrivals[0].rounds[0].own_times.pop_back();
  const CollectiveResult result = analyse_collective(groups, std::vector{kOperation});
  EXPECT_THAT(result.times[0].groups, SizeIs(3));
  EXPECT_EQ(result.waiting->rounds, 200);  // those of the third group
}

}  // namespace
}  // namespace jitterscope
