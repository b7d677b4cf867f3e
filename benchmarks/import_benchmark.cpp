// Reading a profiler trace of 100 MB, as a long run of a large network leaves.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "import/formats.hpp"
#include "import/read_file.hpp"

namespace {

using namespace jitterscope;

constexpr std::size_t kSize = 100'000'000;

// The events of a real trace again and again: the same correlations and times, which costs the reader as much.
std::string repeated_events() {
  const std::string trace = read_file(JITTERSCOPE_SOURCE_FOLDER "/tests/data/import/resnet18_trace.json.gz");
  const std::string key = "\"traceEvents\": [";
  const std::size_t begin = trace.find(key) + key.size(), end = trace.rfind(']');
  std::string result = trace.substr(0, end);
  while (result.size() < kSize) result.append(",").append(trace, begin, end - begin);
  return result + trace.substr(end);
}

// The most memory that the process has had, in MB, of which the trace itself takes 100.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1000.0;
  }
  return 0.0;
}

void import_profiler_trace_of_100_mb(benchmark::State& state) {
  const std::string text = repeated_events();
  for (auto _ : state) benchmark::DoNotOptimize(import_profiler_trace(text, "trace.json"));
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
  state.counters["peak_MB"] = peak_megabytes();
}
BENCHMARK(import_profiler_trace_of_100_mb)->Unit(benchmark::kMillisecond);

}  // namespace
