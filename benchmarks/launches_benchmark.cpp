// What is computed once per measurement, over up to 10^6 launches.
#include <benchmark/benchmark.h>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

/// Two clock states and 1 % spikes: what the analysis meets.
std::vector<double> launches(std::int64_t count) {
  Random random(1);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const double level = random.uniform() < 0.3 ? 100.0 : 102.3;
    values.push_back((level + 0.2 * random.normal()) * (random.uniform() < 0.01 ? 3.0 : 1.0));
  }
  return values;
}

void quantiles_of_launches(benchmark::State& state) {
  const std::vector<double> values = launches(state.range(0));
  const std::vector<double> probabilities = {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0};
  for (auto _ : state) {
    benchmark::DoNotOptimize(quantiles(values, probabilities));
  }
}
BENCHMARK(quantiles_of_launches)->Arg(1000)->Arg(1000000)->Unit(benchmark::kMillisecond);

void modes_of_launches(benchmark::State& state) {
  const std::vector<double> values = launches(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_modes(values));
  }
}
BENCHMARK(modes_of_launches)->Arg(1000)->Arg(20000)->Arg(1000000)->Unit(benchmark::kMillisecond);

void modes_of_far_tails(benchmark::State& state) {
  Random random(2);
  std::vector<double> values;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    values.push_back(100.0 + random.normal() / random.normal());
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_modes(values));
  }
}
BENCHMARK(modes_of_far_tails)->Arg(1000000)->Unit(benchmark::kMillisecond);

void trend_of_launches(benchmark::State& state) {
  const std::vector<double> values = launches(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(classify_series(values));
  }
}
BENCHMARK(trend_of_launches)->Arg(1000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace jitterscope::statistics
