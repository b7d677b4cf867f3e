#include "experiment/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "experiment/processes.hpp"
#include "statistics/effect.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {

MeasureOptions transfer_options(std::uint64_t seed) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.seed = seed;
  options.time_limit = seconds(1.5);
  options.data = DataKind::ones;
  options.instrument = Instrument::graph;
  return options;
}

namespace {

using Groups = std::span<const std::vector<RunRecord>>;

std::vector<double> values_of(std::span<const Nanoseconds> times) {
  std::vector<double> values;
  for (const Nanoseconds time : times) values.push_back(time.value());
  return values;
}

Nanoseconds median_of_times(std::span<const Nanoseconds> times) {
  return Nanoseconds(statistics::median(values_of(times)));
}

std::optional<std::int64_t> wrong_elements_of(const std::vector<RunRecord>& ranks,
                                              const std::string& operation) {
  std::optional<std::int64_t> wrong;
  for (const RunRecord& rank : ranks) {
    const Result* result = result_of(rank, operation);
    if (result != nullptr && result->verification && result->verification->wrong)
      wrong = wrong.value_or(0) + *result->verification->wrong;
  }
  return wrong;
}

std::optional<CollectiveTime> time_of(Groups groups, const std::string& operation) {
  CollectiveTime all{.operation = operation, .time = {}, .groups = {}};
  std::vector<double> sustained;
  std::int64_t rounds = 0;
  for (const std::vector<RunRecord>& ranks : groups) {
    const std::optional<Nanoseconds> burst = time_of_group(ranks, operation, Load::burst);
    if (!burst) continue;
    all.groups.push_back(*burst);
    rounds += measurement_of(ranks.front(), operation, Load::burst)->time.rounds;
    if (const auto loaded = time_of_group(ranks, operation, Load::sustained))
      sustained.push_back(std::log(*loaded / *burst));
  }
  if (all.groups.empty()) return std::nullopt;
  all.time = estimate_over_groups(values_of(all.groups), rounds);
  all.wrong_elements = wrong_elements_of(groups.front(), operation);
  all.sustained = ratio_over_groups(sustained);
  return all;
}

bool is_undelayed(const ArrivalRounds& rounds) { return !rounds.delayed_rank; }

// One group's rounds of one collective, those of all ranks together.
class RoundsOfGroup {
 public:
  /// nullopt if a rank has none, or other rounds than the others.
  static std::optional<RoundsOfGroup> of(const std::vector<RunRecord>& ranks, const std::string& operation) {
    RoundsOfGroup group;
    for (const RunRecord& rank : ranks) {
      const auto found = std::ranges::find(rank.arrivals, operation, &CollectiveArrivals::operation);
      if (found == rank.arrivals.end()) return std::nullopt;
      group.ranks_.push_back(&*found);
      const CollectiveArrivals& first = *group.ranks_.front();
      if (found->rounds.size() != first.rounds.size()) return std::nullopt;
      for (std::size_t i = 0; i < first.rounds.size(); ++i) {
        const ArrivalRounds &own = found->rounds[i], &others = first.rounds[i];
        const std::size_t rounds = others.own_times.size();
        if (own.delayed_rank != others.delayed_rank || rounds == 0 || own.own_times.size() != rounds ||
            own.gaps.size() != rounds || own.works.size() != rounds)
          return std::nullopt;
      }
    }
    if (group.ranks_.size() < 2 || group.undelayed() == nullptr) return std::nullopt;
    group.find_own_times_of_the_last();
    return group;
  }

  std::size_t ranks() const { return ranks_.size(); }
  std::size_t rounds() const { return undelayed()->own_times.size(); }

  Nanoseconds eager() const {
    std::vector<Nanoseconds> times;
    for (const CollectiveArrivals* rank : ranks_)
      if (!rank->eager.empty()) times.push_back(median_of_times(rank->eager));
    return times.empty() ? Nanoseconds(std::numeric_limits<double>::quiet_NaN()) : median_of_times(times);
  }

  /// A rank's own time in a round beyond that of a rank that surely comes last.
  double wait(std::size_t rank, std::size_t round) const {
    return (undelayed(rank).own_times[round] - own_times_of_the_last_[rank]).value();
  }
  std::size_t last(std::size_t round) const {
    std::size_t last = 0;
    for (std::size_t rank = 1; rank < ranks_.size(); ++rank)
      if (wait(rank, round) < wait(last, round)) last = rank;
    return last;
  }
  /// The median over all ranks but one.
  double wait_of_others(std::size_t one, std::size_t round) const {
    return median_of_others(one, [&](std::size_t rank) { return wait(rank, round); });
  }
  /// By how much a rank comes behind the others after the collective before; by its host's launches, by its
  /// work.
  double behind_by_launches(std::size_t one, std::size_t round) const {
    return undelayed(one).gaps[round].value() -
           median_of_others(one, [&](std::size_t rank) { return undelayed(rank).gaps[round].value(); });
  }
  double work_of_others(std::size_t one, std::size_t round) const {
    return median_of_others(one, [&](std::size_t rank) { return undelayed(rank).works[round].value(); });
  }
  double behind_by_work(std::size_t one, std::size_t round) const {
    return undelayed(one).works[round].value() - work_of_others(one, round);
  }

  /// Delays are sorted by rank, then length: each group tried them in another order.
  std::vector<DelayOfGroup> delays() const {
    std::vector<DelayOfGroup> all;
    for (std::size_t i = 0; i < ranks_.front()->rounds.size(); ++i) {
      const ArrivalRounds& rounds = ranks_.front()->rounds[i];
      if (!rounds.delayed_rank || static_cast<std::size_t>(*rounds.delayed_rank) >= ranks_.size()) continue;
      const auto late = static_cast<std::size_t>(*rounds.delayed_rank);
      std::vector<double> seen, expected, usual;
      for (std::size_t round = 0; round < rounds.own_times.size(); ++round) {
        seen.push_back(median_of_others(
            late, [&](std::size_t rank) { return ranks_[rank]->rounds[i].own_times[round].value(); }));
      }
      for (std::size_t round = 0; round < this->rounds(); ++round) {
        // It would have waited itself: for others, or for its own host.
        expected.push_back(std::max(0.0, rounds.delay.value() - wait(late, round)));
        usual.push_back(median_of_others(
            late, [&](std::size_t rank) { return undelayed(rank).own_times[round].value(); }));
      }
      const double as_usual = statistics::median(usual);
      all.push_back({.rank = *rounds.delayed_rank,
                     .delay = rounds.delay,
                     .expected = Nanoseconds(statistics::median(expected)),
                     .seen = Nanoseconds(statistics::median(seen) - as_usual),
                     .usual = Nanoseconds(as_usual)});
    }
    std::ranges::sort(all, {},
                      [](const DelayOfGroup& each) { return std::pair(each.rank, each.delay.value()); });
    return all;
  }

 private:
  const ArrivalRounds& undelayed(std::size_t rank) const {
    return *std::ranges::find_if(ranks_[rank]->rounds, is_undelayed);
  }
  const ArrivalRounds* undelayed() const {
    const auto& rounds = ranks_.front()->rounds;
    const auto found = std::ranges::find_if(rounds, is_undelayed);
    return found == rounds.end() ? nullptr : &*found;
  }

  template <class Get>
  double median_of_others(std::size_t one, const Get& get) const {
    std::vector<double> others;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (rank != one) others.push_back(get(rank));
    return statistics::median(others);
  }

  // A rank that is delayed most comes last. Without delays it is the shortest of its rounds.
  void find_own_times_of_the_last() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const ArrivalRounds* longest = nullptr;
      for (const ArrivalRounds& rounds : ranks_[rank]->rounds) {
        if (rounds.delayed_rank == static_cast<std::int64_t>(rank) &&
            (longest == nullptr || rounds.delay > longest->delay))
          longest = &rounds;
      }
      own_times_of_the_last_.push_back(longest != nullptr ? median_of_times(longest->own_times)
                                                          : std::ranges::min(undelayed(rank).own_times));
    }
  }

  std::vector<const CollectiveArrivals*> ranks_;
  std::vector<Nanoseconds> own_times_of_the_last_;  // by rank
};

std::vector<LatenessProof> proofs_of(std::span<const RoundsOfGroup> groups) {
  constexpr Nanoseconds kAllowed = microseconds(1);
  constexpr double kAllowedShare = 0.02;
  std::vector<LatenessProof> proofs;
  std::vector<std::vector<DelayOfGroup>> delays;
  for (const RoundsOfGroup& group : groups) {
    delays.push_back(group.delays());
    if (delays.back().size() != delays.front().size()) return {};
  }
  for (std::size_t i = 0; i < delays.front().size(); ++i) {
    std::vector<double> seen, expected;
    for (const auto& of_group : delays) {
      seen.push_back(of_group[i].seen.value());
      expected.push_back(of_group[i].expected.value());
    }
    LatenessProof proof{.rank = delays.front()[i].rank,
                        .delay = delays.front()[i].delay,
                        .expected = Nanoseconds(statistics::median(expected)),
                        .seen = estimate_over_groups(seen, std::ssize(seen))};
    const Nanoseconds allowed = kAllowed + proof.delay * kAllowedShare;
    const double off = std::abs((proof.seen.median - proof.expected).value());
    const double half = seen.size() > 1 ? (proof.seen.high - proof.seen.low).value() / 2 : 0.0;
    proof.holds = off <= allowed.value() + half;
    proofs.push_back(proof);
  }
  return proofs;
}

// GPUs that are alike differ by some 10 ns in every round; nobody would act on less than this.
constexpr Nanoseconds kLeastLateness = microseconds(0.5);

// Returns half of the interval of a mean over groups, of that rank which was chosen for its value
// (Bonferroni).
double half_width_of_chosen(const std::vector<double>& groups, std::size_t ranks) {
  const auto count = static_cast<double>(groups.size());
  const double error = statistics::standard_deviation(groups) / std::sqrt(count);
  return statistics::student_critical(1.0 - 0.05 / static_cast<double>(ranks), count - 1.0) * error;
}

void find_late_rank(const std::vector<std::vector<double>>& shares_of_groups, CollectiveWaiting& waiting) {
  const std::size_t groups = shares_of_groups.size(), most = most_often_last(waiting);
  if (groups < 2) return;
  std::vector<double> shares;
  for (const std::vector<double>& group : shares_of_groups) shares.push_back(group[most]);
  waiting.chance = half_width_of_chosen(shares, waiting.last_shares.size());
  if (is_last_beyond_chance(waiting) && waiting.late_by >= kLeastLateness)
    waiting.late_rank = static_cast<std::int64_t>(most);
}

// `costs` by rank, then group.
std::optional<std::int64_t> slow_host_of(const std::vector<std::vector<double>>& costs) {
  constexpr double kSlow = 1.5;  // hosts of one machine differ by less: a NUMA node, a core's clock
  const std::size_t groups = costs.front().size();
  if (costs.size() < 2 || groups < 2) return std::nullopt;
  const auto most =
      static_cast<std::size_t>(std::ranges::max_element(costs, {}, &statistics::median) - costs.begin());
  std::vector<double> ratios, differences;
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<double> others;
    for (std::size_t rank = 0; rank < costs.size(); ++rank)
      if (rank != most) others.push_back(costs[rank][group]);
    const double usual = statistics::median(others);
    ratios.push_back(std::log(costs[most][group] / usual));
    differences.push_back(costs[most][group] - usual);
  }
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(groups);
  if (mean - half_width_of_chosen(ratios, costs.size()) < std::log(kSlow)) return std::nullopt;
  if (statistics::median(differences) < kLeastLateness.value()) return std::nullopt;
  return static_cast<std::int64_t>(most);
}

// A rank's launches of all groups, those that each rank of a group has.
std::optional<CollectiveLaunches> launches_of(Groups groups, const std::string& operation) {
  std::vector<std::vector<double>> costs;  // by rank, then group
  for (const std::vector<RunRecord>& ranks : groups) {
    std::vector<double> of_group;
    for (const RunRecord& rank : ranks) {
      const Result* result = result_of(rank, operation);
      if (result != nullptr && result->launch_cost > Nanoseconds(0))
        of_group.push_back(result->launch_cost.value());
    }
    if (of_group.empty() || of_group.size() != ranks.size()) continue;
    costs.resize(of_group.size());
    for (std::size_t rank = 0; rank < of_group.size(); ++rank) costs[rank].push_back(of_group[rank]);
  }
  if (costs.empty()) return std::nullopt;
  CollectiveLaunches launches;
  for (const std::vector<double>& of_rank : costs) launches.costs.emplace_back(statistics::median(of_rank));
  launches.slow_host = slow_host_of(costs);
  return launches;
}

// True if the host takes longer to launch a round, its work and the collective, than the GPUs to run it.
bool is_behind(std::span<const RoundsOfGroup> groups, std::size_t host, Nanoseconds launch,
               Nanoseconds transfer) {
  std::vector<double> works;
  for (const RoundsOfGroup& group : groups) {
    for (std::size_t round = 0; round < group.rounds(); ++round)
      works.push_back(group.work_of_others(host, round));
  }
  return launch * 2.0 > Nanoseconds(statistics::median(works)) + transfer;
}

CollectiveWaiting waiting_of(std::span<const RoundsOfGroup> groups,
                             const std::optional<CollectiveLaunches>& launches, Nanoseconds transfer) {
  CollectiveWaiting waiting;
  const std::size_t ranks = groups.front().ranks();
  waiting.last_shares.assign(ranks, 0.0);
  std::vector<std::vector<double>> shares_of_groups;
  std::vector<double> waits;
  for (const RoundsOfGroup& group : groups) {
    std::vector<double> shares(ranks, 0.0);
    for (std::size_t round = 0; round < group.rounds(); ++round) {
      const std::size_t last = group.last(round);
      shares[last] += 1.0 / static_cast<double>(group.rounds());
      waits.push_back(group.wait_of_others(last, round));
    }
    for (std::size_t rank = 0; rank < ranks; ++rank)
      waiting.last_shares[rank] += shares[rank] / static_cast<double>(groups.size());
    shares_of_groups.push_back(std::move(shares));
  }
  const std::vector<double> quantiles = statistics::quantiles(waits, std::vector{0.5, 0.95});
  waiting.median = Nanoseconds(quantiles[0]);
  waiting.p95 = Nanoseconds(quantiles[1]);
  waiting.rounds = std::ssize(waits);
  const std::size_t most = most_often_last(waiting);
  if (launches && launches->slow_host && *launches->slow_host < std::ssize(waiting.last_shares)) {
    const auto host = static_cast<std::size_t>(*launches->slow_host);
    waiting.is_host_behind = is_behind(groups, host, launches->costs[host], transfer);
  }
  // The GPU of a host that is behind waits for the launch of its work after it has begun the round.
  const bool waits_for_host =
      waiting.is_host_behind && static_cast<std::size_t>(*launches->slow_host) == most;
  std::vector<double> by, by_launches, by_work;
  for (const RoundsOfGroup& group : groups) {
    for (std::size_t round = 0; round < group.rounds(); ++round) {
      by.push_back(group.wait_of_others(most, round) - group.wait(most, round));
      const double work = group.behind_by_work(most, round);
      by_launches.push_back(group.behind_by_launches(most, round) + (waits_for_host ? work : 0.0));
      by_work.push_back(waits_for_host ? 0.0 : work);
    }
  }
  waiting.late_by = Nanoseconds(statistics::median(by));
  waiting.late_by_launches = Nanoseconds(statistics::median(by_launches));
  waiting.late_by_work = Nanoseconds(statistics::median(by_work));
  find_late_rank(shares_of_groups, waiting);
  waiting.proofs = proofs_of(groups);
  return waiting;
}

}  // namespace

std::vector<DelayOfGroup> delays_of_group(const std::vector<RunRecord>& ranks, const std::string& operation) {
  const std::optional<RoundsOfGroup> rounds = RoundsOfGroup::of(ranks, operation);
  return rounds ? rounds->delays() : std::vector<DelayOfGroup>();
}

Nanoseconds usual_launch(const CollectiveLaunches& launches) {
  Nanoseconds usual;
  for (std::size_t rank = 0; rank < launches.costs.size(); ++rank) {
    if (static_cast<std::int64_t>(rank) != launches.slow_host) usual = std::max(usual, launches.costs[rank]);
  }
  return usual;
}

bool lateness_is_proven(const CollectiveWaiting& waiting) {
  return !waiting.proofs.empty() && std::ranges::all_of(waiting.proofs, &LatenessProof::holds);
}

std::size_t most_often_last(const CollectiveWaiting& waiting) {
  return static_cast<std::size_t>(std::ranges::max_element(waiting.last_shares) -
                                  waiting.last_shares.begin());
}

bool is_last_beyond_chance(const CollectiveWaiting& waiting) {
  constexpr double kRounding = 1e-9;  // shares are sums of one over the number of rounds
  const double by_chance = 1.0 / static_cast<double>(waiting.last_shares.size());
  return waiting.last_shares[most_often_last(waiting)] > by_chance + waiting.chance + kRounding;
}

CollectiveResult analyse_collective(Groups groups, std::span<const std::string> operations) {
  CollectiveResult result;
  for (const std::string& operation : operations) {
    if (std::optional<CollectiveTime> time = time_of(groups, operation))
      result.times.push_back(std::move(*time));
  }
  if (result.times.empty()) return result;
  const CollectiveTime& first = result.times.front();
  std::vector<RoundsOfGroup> rounds;
  std::vector<double> eager;
  for (const std::vector<RunRecord>& ranks : groups) {
    std::optional<RoundsOfGroup> of_group = RoundsOfGroup::of(ranks, operations.front());
    const auto transfer = time_of_group(ranks, first.operation, Load::burst);
    if (!of_group || !transfer || (!rounds.empty() && rounds.front().ranks() != of_group->ranks())) continue;
    if (const double adds = (of_group->eager() - *transfer).value(); std::isfinite(adds))
      eager.push_back(adds);
    rounds.push_back(std::move(*of_group));
  }
  if (!eager.empty()) result.eager_adds = estimate_over_groups(eager, std::ssize(eager));
  result.launches = launches_of(groups, first.operation);
  if (!rounds.empty()) result.waiting = waiting_of(rounds, result.launches, first.time.median);
  return result;
}

}  // namespace jitterscope
