// What is computed after each round, between two rounds: it must cost next to nothing beside one (5 ms).
#include <benchmark/benchmark.h>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

struct Rounds {
  std::vector<double> times, clocks;
};

Rounds rounds(std::int64_t count) {
  Random random(1);
  Rounds result;
  for (std::int64_t i = 0; i < count; ++i) {
    result.clocks.push_back(1.8e9 * (1.0 + 0.01 * random.normal()));
    result.times.push_back(3e-6 + 12600.0 / result.clocks.back() + 1e-8 * random.normal());
  }
  return result;
}

void median_interval_of_rounds(benchmark::State& state) {
  const Rounds record = rounds(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(median_interval(record.times));
  }
}
BENCHMARK(median_interval_of_rounds)->Arg(10)->Arg(25)->Arg(200)->Arg(100000)->Unit(benchmark::kMicrosecond);

void inverse_clock_of_rounds(benchmark::State& state) {
  const Rounds record = rounds(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(fit_inverse_clock(record.times, record.clocks, 1.8e9));
  }
}
BENCHMARK(inverse_clock_of_rounds)->Arg(25)->Arg(200)->Unit(benchmark::kMicrosecond);

void levels_of_rounds(benchmark::State& state) {
  const Rounds record = rounds(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(compare_levels(record.times, record.clocks, 0.005));
  }
}
BENCHMARK(levels_of_rounds)->Arg(200)->Unit(benchmark::kMicrosecond);

void change_points_of_flat_series(benchmark::State& state) {
  const Rounds record = rounds(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(change_points(record.times));
  }
}
BENCHMARK(change_points_of_flat_series)->Arg(200)->Arg(2048)->Arg(1000000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace jitterscope::statistics
