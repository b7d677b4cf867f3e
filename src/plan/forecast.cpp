#include "plan/forecast.hpp"

#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::plan {

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::computing: return "computing";
    case Limit::bubble: return "bubbles of the pipeline";
    case Limit::exposed: return "communication that nothing hides";
    case Limit::straggler: return "waiting for another rank";
    case Limit::launch: return "launches of the host";
    case Limit::memory: return "memory";
  }
  return "";
}

Limit limit_of(const Forecast& forecast) {
  if (!forecast.fits) return Limit::memory;
  const std::array<std::pair<Nanoseconds, Limit>, 4> causes = {{{forecast.idle.bubble, Limit::bubble},
                                                                {forecast.idle.exposed, Limit::exposed},
                                                                {forecast.idle.straggler, Limit::straggler},
                                                                {forecast.idle.launch, Limit::launch}}};
  constexpr double kWorthNaming = 0.05;
  const auto& largest = *std::ranges::max_element(causes);
  return largest.first > forecast.step * kWorthNaming ? largest.second : Limit::computing;
}

namespace {

bool uses_stated_network(const Job& job, const RankGrid& grid) {
  const std::int64_t of_host = job.around.gpus_per_host;
  return grid.ranks() > of_host || job.around.transfers.is_stated({2, 1});
}

Job with(const Job& job, const NetworkCosts& network, const TransferCosts& transfers) {
  return {network, {transfers, job.around.gpus_per_host, job.around.tax}, job.micro_batches, job.memory};
}

// Later micro-batches repeat the times of earlier ones: two shorter steps tell how long a step of many
// takes.
struct ShorterSteps {
  ShorterSteps(const Job& job, const Arrangement& arrangement) {
    const RankGrid& grid = arrangement.grid;
    const std::int64_t of_replica = job.micro_batches / grid.data, period = grid.pipeline;
    const std::int64_t passes =
        2 * (period == 1 ? std::ssize(job.network.layers) : period * arrangement.chunks);
    constexpr std::int64_t kMostPasses = 30'000, kFewestPeriods = 8;
    const std::int64_t most = std::max(kMostPasses / passes / period, kFewestPeriods) * period;
    std::int64_t first = of_replica, second = of_replica;
    if (of_replica > most + period) {
      // As many behind a full period as the whole has, since interleaved stages need that.
      second = most + of_replica % period;
      first = second - most / period / 2 * period;
      times = static_cast<double>(of_replica - second) / static_cast<double>(second - first);
    }
    for (const std::int64_t each : {first, second})
      jobs.push_back({job.network, job.around, each * grid.data, job.memory});
  }

  bool is_whole() const { return times == 0.0; }
  Nanoseconds of_whole(Nanoseconds first, Nanoseconds second) const {
    return std::max(second + (second - first) * times, Nanoseconds(0));
  }

  std::vector<Job> jobs;
  double times = 0.0;  // so often the difference is added
};

Nanoseconds step_length(const Job& job, const Arrangement& arrangement, std::span<const SlowRank> slow = {}) {
  const ShorterSteps shorter(job, arrangement);
  const auto length = [&](const Job& each) {
    const StepPlan plan = step_of(each, arrangement, slow);
    return length_of(plan) * (1.0 / static_cast<double>(plan.steps));
  };
  const Nanoseconds first = length(shorter.jobs.front());
  return shorter.is_whole() ? first : shorter.of_whole(first, length(shorter.jobs.back()));
}

// Times of a step, as means over the ranks.
struct MeanTimes {
  Nanoseconds length, busy, hidden;
  IdleTime idle;
  std::int64_t busiest_rank = 0;
};
MeanTimes mean_times(const Job& job, const Arrangement& arrangement) {
  const StepPlan plan = step_of(job, arrangement);
  const SimulatedStep simulated = simulate(plan);
  const double of_step = 1.0 / static_cast<double>(plan.steps);
  MeanTimes mean{simulated.length * of_step, {}, {}, {}};
  Nanoseconds most;
  const auto ranks = static_cast<double>(arrangement.grid.ranks());
  for (std::size_t c = 0; c < plan.classes.size(); ++c) {
    const double share = of_step * static_cast<double>(plan.classes[c].ranks) / ranks;
    const ClassTimes& times = simulated.classes[c];
    if (times.busy > most) {
      most = times.busy;
      mean.busiest_rank = plan.classes[c].first_rank;
    }
    mean.busy += times.busy * share;
    mean.hidden += times.hidden() * share;
    mean.idle.bubble += times.idle.bubble * share;
    mean.idle.exposed += times.idle.exposed * share;
    mean.idle.straggler += times.idle.straggler * share;
    mean.idle.launch += times.idle.launch * share;
  }
  return mean;
}

MeanTimes mean_times_of_all(const Job& job, const Arrangement& arrangement) {
  const ShorterSteps shorter(job, arrangement);
  const MeanTimes first = mean_times(shorter.jobs.front(), arrangement);
  if (shorter.is_whole()) return first;
  const MeanTimes second = mean_times(shorter.jobs.back(), arrangement);
  const auto whole = [&](Nanoseconds a, Nanoseconds b) { return shorter.of_whole(a, b); };
  return {whole(first.length, second.length),
          whole(first.busy, second.busy),
          whole(first.hidden, second.hidden),
          {whole(first.idle.bubble, second.idle.bubble), whole(first.idle.exposed, second.idle.exposed),
           whole(first.idle.straggler, second.idle.straggler), whole(first.idle.launch, second.idle.launch)},
          second.busiest_rank};
}

}  // namespace

Forecast forecast(const Job& job, const Arrangement& arrangement) {
  if (const std::string problem = problem_of(job, arrangement); !problem.empty()) throw UsageError(problem);
  const MeanTimes mean = mean_times_of_all(job, arrangement);
  Forecast result{.arrangement = arrangement};
  result.step = result.low = result.high = mean.length;
  result.busy = mean.busy;
  result.hidden = mean.hidden;
  result.idle = mean.idle;
  result.busiest_rank = mean.busiest_rank;
  const auto samples = static_cast<double>(job.network.samples * job.micro_batches);
  result.samples_per_second = samples / to_seconds(result.step);
  const Nanoseconds alone = forward_of(job.network).time + backward_of(job.network).time;
  result.speedup = alone * static_cast<double>(job.micro_batches) / result.step;
  result.memory = memory_of(job, arrangement);
  result.fits = fits(job, result.memory);
  result.has_stated_network = uses_stated_network(job, arrangement.grid);
  return result;
}

void add_uncertainty(Forecast& forecast, const Job& job, const ForecastAsked& asked) {
  const SlowRank slow{forecast.busiest_rank, 1.0 + asked.straggler};
  forecast.straggler_adds = step_length(job, forecast.arrangement, {&slow, 1}) - forecast.step;
  // Large plans are drawn less often: 20 draws of the costs still give their spread to a sixth.
  constexpr std::int64_t kNodesDrawn = 1'000'000, kFewest = 20;
  const auto nodes = static_cast<std::int64_t>(
      step_of(ShorterSteps(job, forecast.arrangement).jobs.back(), forecast.arrangement).nodes.size());
  const std::int64_t draws =
      std::clamp(kNodesDrawn / std::max<std::int64_t>(nodes, 1), kFewest, std::max(asked.draws, kFewest));
  Random random(asked.seed);
  std::vector<double> steps;
  for (std::int64_t i = 0; i < draws; ++i) {
    const NetworkCosts network = drawn(job.network, random.normal());
    const TransferCosts transfers = job.around.transfers.drawn(random.normal());
    steps.push_back(step_length(with(job, network, transfers), forecast.arrangement).value());
  }
  // The errors are small beside the times, so the step's spread is close to normal.
  constexpr double kOfInterval = 1.959964;
  const Nanoseconds half(kOfInterval * statistics::standard_deviation(steps));
  forecast.low = forecast.step - half;
  forecast.high = forecast.step + half;
}

namespace {

void add_data_parallel(std::vector<Arrangement>& all, std::int64_t ranks) {
  const RankGrid grid{.data = ranks};
  for (const std::int64_t mebi : {1, 5, 25, 100, 400})
    all.push_back(
        {.grid = grid, .way = {.exchange = GradientExchange::buckets, .bucket = Bytes(mebi * kMebi)}});
  all.push_back({.grid = grid, .way = {.exchange = GradientExchange::after_backward}});
  all.push_back({.grid = grid, .way = {.exchange = GradientExchange::scatter_gather}});
  all.push_back({.grid = grid, .way = {.exchange = GradientExchange::buckets, .compressed = true}});
  for (const Sharding sharding : {Sharding::optimizer, Sharding::gradients, Sharding::parameters})
    all.push_back({.grid = grid, .way = {.sharding = sharding}});
}

// Returns what needs less memory at the price of time, for an arrangement that does not fit.
std::vector<Arrangement> smaller_ways(const Arrangement& arrangement) {
  std::vector<Arrangement> smaller;
  const RankGrid& grid = arrangement.grid;
  if (grid.pipeline > 1) {
    smaller.push_back(arrangement);
    smaller.back().cut = StageCut::memory;
  }
  if (grid.data > 1) {
    for (std::size_t i = 0, plain = smaller.size(); i <= plain; ++i) {
      smaller.push_back(i < plain ? smaller[i] : arrangement);
      smaller.back().way.sharding = Sharding::optimizer;
    }
    if (grid.pipeline == 1) {
      smaller.push_back(arrangement);
      smaller.back().way.sharding = Sharding::parameters;
    }
  }
  return smaller;
}

}  // namespace

std::vector<Arrangement> arrangements_for(const Job& job, std::int64_t ranks) {
  std::vector<Arrangement> all;
  if (ranks > 1) add_data_parallel(all, ranks);
  for (const RankGrid& grid : factorizations(ranks)) {
    if (grid.tensor > job.around.gpus_per_host) continue;  // its exchanges stand between all products
    for (const bool by_sequence : {false, true}) {
      if (by_sequence && grid.tensor == 1) continue;
      Arrangement base{.grid = grid, .by_sequence = by_sequence};
      if (grid.pipeline == 1) {
        if (grid.tensor > 1 || ranks == 1) all.push_back(base);
        continue;
      }
      for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved}) {
        base.schedule = schedule;
        base.chunks = schedule == Schedule::interleaved ? 2 : 1;
        all.push_back(base);
      }
    }
  }
  std::erase_if(all, [&](const Arrangement& each) {
    if (each.way.compressed && job.network.element_bytes <= 2) return true;
    return !problem_of(job, each).empty();
  });
  for (std::size_t i = 0, plain = all.size(); i < plain; ++i) {
    if (all[i].grid.data == ranks || fits(job, memory_of(job, all[i]))) continue;
    for (const Arrangement& each : smaller_ways(all[i]))
      if (problem_of(job, each).empty()) all.push_back(each);
  }
  return all;
}

}  // namespace jitterscope::plan
