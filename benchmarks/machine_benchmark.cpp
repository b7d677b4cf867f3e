// A minute of virtual time is 600,000 kernels of 100 µs: a launch may cost about 100 ns.
#include <benchmark/benchmark.h>

#include "physics/machine.hpp"
#include "physics/preset.hpp"

namespace jitterscope::physics {
namespace {

/// A kernel of about `microseconds`, with two operands, on a preset.
void run_of_a_preset(benchmark::State& state, const char* preset) {
  Machine machine(find_preset(preset), 1);
  KernelWork work;
  work.fixed = Nanoseconds(576);
  work.compute = Cycles(static_cast<double>(state.range(0)) * 1600);
  work.activity = 0.8;
  const Bytes size(4'000'000);
  work.accesses = {{machine.allocate(size), size, false}, {machine.allocate(size), size, true}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(machine.run(work, machine.free_at() + microseconds(1)));
  }
  state.counters["virtual_seconds_per_second"] =
      benchmark::Counter(to_seconds(machine.free_at()), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(run_of_a_preset, h200, "h200")->Arg(2)->Arg(100)->Arg(1000);
BENCHMARK_CAPTURE(run_of_a_preset, hostile, "hostile")->Arg(100);
BENCHMARK_CAPTURE(run_of_a_preset, shared, "shared")->Arg(100);

void rest_of_a_minute(benchmark::State& state) {
  Machine machine(find_preset("h200"), 1);
  KernelWork work;
  work.compute = Cycles(1e9);
  work.activity = 1;
  for (auto _ : state) {
    machine.run(work, machine.free_at());
    machine.rest_until(machine.free_at() + seconds(60));
  }
}
BENCHMARK(rest_of_a_minute);

}  // namespace
}  // namespace jitterscope::physics
