#include "experiment/parallel_steps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <variant>

#include "experiment/processes.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

using GroupsOfRanks = std::span<const std::vector<RunRecord>>;

// The median over ranks of how much longer the kernels that the first arm has, too, take in this one.
std::optional<double> slowing_of(const std::vector<RunRecord>& ranks, const StepArm& first,
                                 const StepArm& arm) {
  std::vector<double> slowed;
  for (const RunRecord& rank : ranks) {
    const Result *alone = result_of(rank, first.step), *beside = result_of(rank, arm.step);
    if (alone == nullptr || beside == nullptr || alone->kernels.empty() || beside->kernels.empty()) continue;
    std::set<std::string> names;
    Nanoseconds before, after;
    for (const LaunchKernel& kernel : alone->kernels) {
      names.insert(kernel.name);
      before += kernel.median;
    }
    for (const LaunchKernel& kernel : beside->kernels)
      if (names.contains(kernel.name)) after += kernel.median;
    slowed.push_back(after / (before * static_cast<double>(arm.steps)) - 1.0);
  }
  return slowed.empty() ? std::nullopt : std::optional(statistics::median(slowed));
}

bool multiplies(const Operation& operation) {
  return std::holds_alternative<Linear>(operation.parameters()) ||
         std::holds_alternative<Matmul>(operation.parameters()) ||
         std::holds_alternative<Attention>(operation.parameters());
}

class StepAnalysis {
 public:
  StepAnalysis(GroupsOfRanks groups, std::span<const StepArm> arms) : groups_(groups), arms_(arms) {}

  ParallelSteps made() && {
    if (arms_.empty() || !find_computing()) return {};
    for (std::size_t number = 0; number < arms_.size(); ++number) add(number);
    return std::move(found_);
  }

 private:
  // Each rank's own step, and the slowest rank: one for all groups, since the longest of each group would be
  // longer by chance.
  bool find_computing() {
    std::vector<std::vector<double>> of_ranks;
    std::int64_t rounds = 0;
    for (const std::vector<RunRecord>& ranks : groups_) {
      std::vector<double> own;
      for (const RunRecord& rank : ranks) {
        const Measurement* measurement = measurement_of(rank, arms_.front().step, Load::burst);
        if (measurement == nullptr) break;
        own.push_back(measurement->time.median.value() / static_cast<double>(arms_.front().steps));
        rounds += measurement->time.rounds;
      }
      if (own.size() < ranks.size() || (!of_ranks.empty() && of_ranks.front().size() != own.size())) {
        computing_.emplace_back();
        continue;
      }
      computing_.push_back(own);
      of_ranks.push_back(std::move(own));
    }
    if (of_ranks.empty()) return false;
    const std::size_t ranks = of_ranks.front().size();
    std::vector<double> waiting(of_ranks.size());
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<double> times;
      for (const std::vector<double>& group : of_ranks) times.push_back(group[r]);
      found_.computing.push_back(estimate_over_groups(times, rounds / static_cast<std::int64_t>(ranks)));
      if (found_.computing[r].median > found_.computing[found_.slowest].median) found_.slowest = r;
    }
    for (std::size_t g = 0; g < of_ranks.size(); ++g) {
      const double mean =
          std::accumulate(of_ranks[g].begin(), of_ranks[g].end(), 0.0) / static_cast<double>(ranks);
      waiting[g] = of_ranks[g][found_.slowest] - mean;
    }
    found_.waiting = estimate_over_groups(waiting, rounds);
    return true;
  }

  // The time of one step in one group; the first arm's is the slowest rank's.
  std::optional<double> step_in(std::size_t group, const StepArm& arm, bool is_first) const {
    if (computing_[group].empty()) return std::nullopt;
    if (is_first) return computing_[group][found_.slowest];
    const auto time = time_of_group(groups_[group], arm.step, Load::burst);
    return time ? std::optional(time->value() / static_cast<double>(arm.steps)) : std::nullopt;
  }

  // Returns the time that a rank computes in this arm.
  std::optional<double> computing_in(std::size_t group, std::size_t rank, const StepArm& arm) const {
    if (arm.computing_alone.empty()) return computing_[group][rank];
    const Measurement* alone = measurement_of(groups_[group][rank], arm.computing_alone, Load::burst);
    return alone != nullptr ? std::optional(alone->time.median.value()) : std::nullopt;
  }

  // Each rank's computing in an arm in which it computes otherwise than in the first; empty if one has none.
  std::vector<Nanoseconds> computing_of_ranks(const StepArm& arm) const {
    std::vector<Nanoseconds> all;
    if (arm.computing_alone.empty()) return all;
    for (std::size_t rank = 0; rank < found_.computing.size(); ++rank) {
      std::vector<double> times;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (computing_[g].empty()) continue;
        if (const std::optional<double> own = computing_in(g, rank, arm)) times.push_back(*own);
      }
      if (times.empty()) return {};
      all.emplace_back(statistics::median(times));
    }
    return all;
  }

  void add(std::size_t number) {
    const StepArm& arm = arms_[number];
    const bool is_first = number == 0;
    std::vector<double> times, logarithms, computing, exposed, exchanges;
    std::int64_t rounds = 0;
    StepTimes all{.time = {}, .groups = {}, .computing_of_ranks = computing_of_ranks(arm)};
    std::size_t longest = found_.slowest;
    if (!all.computing_of_ranks.empty())
      longest = static_cast<std::size_t>(std::ranges::max_element(all.computing_of_ranks) -
                                         all.computing_of_ranks.begin());
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const std::optional<double> time = step_in(g, arm, is_first);
      if (!time) continue;
      rounds += measurement_of(groups_[g].front(), arm.step, Load::burst)->time.rounds;
      times.push_back(*time);
      all.groups.emplace_back(*time);
      logarithms.push_back(std::log(*time / computing_[g][found_.slowest]));
      if (const std::optional<double> own = computing_in(g, longest, arm)) {
        computing.push_back(*own);
        exposed.push_back(*time - *own);
      }
      const auto exchange = time_of_group(groups_[g], arm.exchange_alone, Load::burst);
      if (exchange) exchanges.push_back(exchange->value() / static_cast<double>(arm.steps));
    }
    if (times.empty()) return;
    all.time = estimate_over_groups(times, rounds);
    if (!is_first) {
      all.over_first = ratio_over_groups(logarithms);
      if (!exposed.empty()) {
        const statistics::MeanInterval mean = statistics::mean_interval(exposed);
        all.exposed = AddedTime{Nanoseconds(mean.mean), Nanoseconds(mean.interval.low),
                                Nanoseconds(mean.interval.high)};
      }
      const bool computes_otherwise = !arm.computing_alone.empty();
      if (computes_otherwise && !computing.empty()) all.computing = estimate_over_groups(computing, rounds);
      if (!exchanges.empty()) all.exchange = estimate_over_groups(exchanges, std::ssize(exchanges));
      for (const std::vector<RunRecord>& ranks : groups_) {
        if (!all.computing_slowed && !computes_otherwise)
          all.computing_slowed = slowing_of(ranks, arms_.front(), arm);
      }
    }
    found_.arms.push_back(std::move(all));
    found_.numbers.push_back(number);
  }

  GroupsOfRanks groups_;
  std::span<const StepArm> arms_;
  std::vector<std::vector<double>> computing_;  // of each group: of each rank; empty if one has none
  ParallelSteps found_;
};

}  // namespace

std::optional<double> hidden_share(const StepTimes& arm) {
  if (!arm.exchange || !arm.exposed || !(arm.exchange->median > Nanoseconds(0))) return std::nullopt;
  return std::clamp(1.0 - arm.exposed->value / arm.exchange->median, 0.0, 1.0);
}

ParallelSteps analyse_steps(GroupsOfRanks groups, std::span<const StepArm> arms) {
  return StepAnalysis(groups, arms).made();
}

CutComputing take_apart(const TimedCalls& whole, const TimedCalls& cut, std::int64_t ranks) {
  CutComputing computing;
  for (std::size_t c = 0; c < cut.times.size(); ++c) {
    const Nanoseconds even = whole.times[c] / static_cast<double>(ranks), more = cut.times[c] - even;
    computing.even += even;
    const Operation& own = cut.network.layers[cut.network.calls[c].layer].operation;
    if (own == whole.network.layers[whole.network.calls[c].layer].operation) {
      computing.not_cut += more;
    } else {
      (multiplies(own) ? computing.products : computing.rest) += more;
    }
  }
  return computing;
}

}  // namespace jitterscope
