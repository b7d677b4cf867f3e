// How often the interval of one process holds the median over processes, on GPUs as they are, for operations
// that nobody chose.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "physics/preset.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample.hpp"
#include "selftest/sample_operations.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {
namespace {

constexpr Nanoseconds kShortest = microseconds(1), kLongest = milliseconds(2);
constexpr double kLowestCoverage = 0.94, kHighestCoverage = 0.97, kLowestInTenth = 0.90;
constexpr std::size_t kTenths = 10;

MeasureOptions as_shipped() {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.time_limit = seconds(1.5);
  return options;
}

struct Case {
  Nanoseconds truth;
  double held = 0.0, half_width = 0.0, deviation = 0.0;
};

// The first process is judged by the median of the others.
std::optional<Case> run_case(ProofContext& context, const Scene& scene, std::uint64_t number,
                             std::size_t processes) {
  std::vector<double> others;
  std::optional<Measurement> first;
  for (std::size_t process = 0; process <= processes; ++process) {
    SimulatedRun trial = simulate_run(scene, trial_seed(context.seed() + number, "next process", process));
    if (trial.result.measurements.empty()) return std::nullopt;
    Measurement& measurement = trial.result.measurements.front();
    if (measurement.time.median < kShortest || measurement.time.median > kLongest) return std::nullopt;
    if (!first) {
      first = std::move(measurement);
    } else {
      others.push_back(measurement.time.median.value());
    }
  }
  const double truth = statistics::median(others);
  return Case{Nanoseconds(truth),
              first->time.low.value() <= truth && truth <= first->time.high.value() ? 1.0 : 0.0,
              first->time.precision(), statistics::standard_deviation(others) / truth};
}

struct Gpu {
  std::string name;
  physics::Parameters parameters;
};

// The one that --device names, or all that are to be proven.
std::vector<Gpu> gpus_of(const ProofContext& context) {
  const std::string &device = context.description().id, prefix = "virtual:";
  if (device != "virtual") {
    const bool is_named = device.starts_with(prefix);
    return {{is_named ? device.substr(prefix.size()) : device, virtual_gpu::parameters_of(device)}};
  }
  // The shared GPU misses (docs/evidence/truth.md): where another process comes and goes for seconds, a run
  // of one second sees one of the two levels.
  std::vector<const char*> presets = {"h200", "a100"};
  if (!context.quick()) presets.insert(presets.end(), {"laptop", "shared"});
  std::vector<Gpu> gpus;
  for (const char* preset : presets) gpus.push_back({preset, physics::find_preset(preset)});
  return gpus;
}

std::vector<ProofLine> lines_of(const std::string& preset, std::vector<Case> cases) {
  std::ranges::sort(cases, {}, &Case::truth);
  Frequency held;
  std::vector<Frequency> tenths(kTenths);
  std::vector<double> prices;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    held.add(cases[i].held > 0);
    tenths[i * kTenths / cases.size()].add(cases[i].held > 0);
    prices.push_back(cases[i].half_width / (1.96 * cases[i].deviation));
  }
  const auto worst = std::ranges::min_element(tenths, {}, &Frequency::value);
  const auto tenth = static_cast<std::size_t>(worst - tenths.begin());
  std::vector<ProofLine> lines;
  lines.push_back(
      coverage_line(preset + ", all lengths", held, kLowestCoverage, kHighestCoverage,
                    fmt::format("half-width {:.2f} times what the spread of processes asks for (median)",
                                statistics::median(prices))));
  lines.push_back(
      coverage_line(preset + ", worst tenth of the lengths", *worst, kLowestInTenth, 1.0,
                    fmt::format("{} to {}", time_text(cases[tenth * cases.size() / kTenths].truth),
                                time_text(cases[(tenth + 1) * cases.size() / kTenths - 1].truth))));
  return lines;
}

}  // namespace

std::vector<ProofLine> prove_next_process(ProofContext& context) {
  const std::size_t operations = context.quick() ? 40 : 2000, processes = context.quick() ? 10 : 20;
  std::vector<ProofLine> lines;
  for (const Gpu& gpu : gpus_of(context)) {
    Random random(trial_seed(context.seed(), gpu.name, 0));
    std::vector<Case> cases;
    for (std::uint64_t number = 0; cases.size() < operations; ++number) {
      context.begin_step(cases.size(), operations, gpu.name);
      const Operation operation = random_operation(random);
      const Scene scene{gpu.name, gpu.parameters, operation, as_shipped()};
      if (const auto one = run_case(context, scene, number, processes)) cases.push_back(*one);
    }
    for (ProofLine& line : lines_of(gpu.name, std::move(cases))) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace jitterscope::selftest
