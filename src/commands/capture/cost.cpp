#include "commands/capture/cost.hpp"

#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/attached_process.hpp"
#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "experiment/comparison.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::capture {
namespace {

// Each pair is of two runs next to each other, so that a machine that drifts slows both.
std::optional<statistics::Effect> effect_of_pairs(
    std::span<const std::pair<Nanoseconds, Nanoseconds>> pairs) {
  std::vector<std::vector<double>> ratios;
  for (const auto& [first, second] : pairs) ratios.push_back({std::log(second / first)});
  return statistics::effect_over_processes(ratios);
}

std::string effect_text(const statistics::Effect& effect) {
  return change_with_interval(
      {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)});
}

}  // namespace

CaptureCost compare_runs(std::vector<Nanoseconds> without, std::vector<Nanoseconds> with) {
  CaptureCost cost{std::move(without), std::move(with), {}, {}};
  std::vector<std::pair<Nanoseconds, Nanoseconds>> recorded, unchanged;
  for (std::size_t i = 0; i < cost.with.size(); ++i) recorded.emplace_back(cost.without[i], cost.with[i]);
  for (std::size_t i = 0; i + 1 < cost.without.size(); i += 2)
    unchanged.emplace_back(cost.without[i], cost.without[i + 1]);
  cost.recording = effect_of_pairs(recorded);
  cost.nothing_changed = effect_of_pairs(unchanged);
  return cost;
}

std::string cost_sentence(const CaptureCost& cost) {
  std::vector<double> times;
  for (const Nanoseconds time : cost.without) times.push_back(time.value());
  std::string sentence =
      fmt::format("recording changes the time by {}, over {} with it and as many without, of {}",
                  effect_text(*cost.recording), counted(std::ssize(cost.with), "run"),
                  duration_text(Nanoseconds(statistics::median(times))));
  if (cost.nothing_changed) {
    sentence += fmt::format("; runs without against runs without: {}", effect_text(*cost.nothing_changed));
    if (cost.nothing_changed->excludes_zero())
      sentence += ", so that the machine was not steady enough to tell";
  }
  return sentence;
}

MeasuredCost measure_cost(WatchRequest request, int runs) {
  MeasuredCost measured;
  std::vector<Nanoseconds> without, with;
  const auto run_without = [&] {
    AttachedProcess process(request.ignored_signals);
    const Nanoseconds begin = host_time_now();
    const int problem = process.start(request.command, {});
    if (problem != 0) return exit_code_of_start(problem);
    const AttachedProcess::Outcome outcome = process.wait(request.left_behind);
    without.push_back(host_time_now() - begin);
    return outcome.exit_code;
  };
  const auto run_with = [&] {
    Watched watched = watch(request);
    with.push_back(watched.wall_time);
    const int exit_code = watched.exit_code;
    const bool is_first = with.size() == 1;
    if (is_first) {
      request.folder = watched.folder.string() + "-again";
      measured.first = std::move(watched);
    } else if (!watched.folder.empty()) {
      std::error_code ignored;
      std::filesystem::remove_all(watched.folder, ignored);
    }
    return exit_code;
  };
  for (int run = 0; run < runs; ++run) {
    // The first run shows whether there is anything to record, and the program what it needs from the disk.
    const bool recorded_first = run % 2 == 0;
    measured.exit_code = recorded_first ? run_with() : run_without();
    if (measured.exit_code == 0 && !measured.first.processes.empty())
      measured.exit_code = recorded_first ? run_without() : run_with();
    if (measured.exit_code != 0 || measured.first.processes.empty()) return measured;
  }
  measured.cost = compare_runs(std::move(without), std::move(with));
  return measured;
}

}  // namespace jitterscope::capture
