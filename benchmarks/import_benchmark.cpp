// Reading a profiler trace of 100 MB, as a long run of a large network leaves.
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "import/import.hpp"

namespace {

using namespace jitterscope;

constexpr std::size_t kSize = 100'000'000;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The events of a real trace again and again, each time those of another process with launches of its own.
std::string repeated_events() {
  const std::string trace =
      read_file(JITTERSCOPE_SOURCE_FOLDER "/tests/data/import/resnet18_trace.json.gz").text;
  const std::string key = "\"traceEvents\": [";
  const std::size_t begin = trace.find(key) + key.size(), end = trace.rfind(']');
  std::string result = trace.substr(0, end);
  for (int copy = 101; result.size() < kSize; ++copy) {
    std::string events = trace.substr(begin, end - begin);
    replace_all(events, "\"pid\": 483,", "\"pid\": " + std::to_string(copy) + ",");
    // Three digits before the number: no two copies share one.
    replace_all(events, "\"correlation\": ", "\"correlation\": " + std::to_string(copy));
    result += "," + events;
  }
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
