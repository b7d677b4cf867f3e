#include "timeline/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <tuple>

#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::timeline {
namespace {

constexpr double kMaterial = 0.005;

using Key = std::tuple<int, std::string, std::uint64_t, std::uint64_t, int, int>;

Key key_of(const WorkName& name, bool with_shape) {
  const auto three = [&](const std::uint32_t(&values)[3]) {
    return with_shape ? (std::uint64_t{values[0]} << 40U) ^ (std::uint64_t{values[1]} << 20U) ^ values[2] : 0;
  };
  // A trace of torch.profiler has names demangled, a capture as they are.
  return {static_cast<int>(name.kind), full_name(name),          three(name.grid), three(name.block),
          static_cast<int>(name.from), static_cast<int>(name.to)};
}

// One side's work of one name: what it took in each capture, block of steps by block of steps.
struct Series {
  WorkName name;
  std::size_t calls = 0;
  double seconds = 0.0, in_step = 0.0;
  std::vector<double> medians;              // of calls, one for each capture
  std::vector<std::vector<double>> blocks;  // logarithms of medians
};

struct Side {
  std::map<Key, Series> work;
  std::vector<double> steps;  // seconds, one for each capture
  std::vector<std::vector<double>> step_blocks;
  double busy = 0.0, idle = 0.0;
  bool has_steps = true;
};

// Blocks of a series whose neighbours are alike, as logarithms of their medians.
std::vector<double> blocks_of(const std::vector<double>& values) {
  std::vector<double> result;
  const std::size_t blocks = std::min(kBlocks, values.size());
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = begin_of_block(block, blocks, values.size());
    const std::size_t last = begin_of_block(block + 1, blocks, values.size());
    result.push_back(std::log(statistics::median(std::span(values).subspan(first, last - first))));
  }
  return result;
}

void add(Side& side, const AnalysedCapture& capture, double weight) {
  if (capture.analysis.devices.empty()) {
    throw UsageError(fmt::format("'{}' holds no work of a GPU", capture.timeline.source));
  }
  const DeviceAnalysis& device = capture.analysis.devices.front();
  const Process& process = capture.timeline.processes[device.process];
  const DeviceWork& work = process.devices[device.device];
  std::vector<const Step*> steps;
  std::vector<double> times;
  for (const Step& step : device.steps.steps) {
    if (step.kind != 0 || !step.is_whole) continue;
    steps.push_back(&step);
    times.push_back(static_cast<double>(step.end - step.begin) * 1e-9);
  }
  side.has_steps = side.has_steps && !steps.empty();
  if (!steps.empty()) {
    side.steps.push_back(statistics::median(times));
    side.step_blocks.push_back(blocks_of(times));
  }
  side.idle += weight * device.idle.idle_share();
  std::vector<std::vector<double>> durations(process.names.size());
  double busy = 0.0;
  const auto note = [&](std::size_t i) {
    const double seconds = static_cast<double>(std::max<Time>(work.end[i] - work.begin[i], 1)) * 1e-9;
    durations[work.what[i]].push_back(seconds);
    busy += seconds;
  };
  if (steps.empty()) {
    for (std::size_t i = 0; i < work.size(); ++i) note(i);
  } else {
    for (const Step* step : steps) {
      for (std::size_t i = step->first; i < step->last; ++i) note(i);
    }
  }
  const double count = steps.empty() ? 1.0 : static_cast<double>(steps.size());
  side.busy += weight * busy / count;
  for (std::uint32_t what = 0; what < durations.size(); ++what) {
    if (durations[what].empty()) continue;
    Series& series = side.work[key_of(process.names[what], true)];
    series.name = process.names[what];
    series.calls += durations[what].size();
    double sum = 0.0;
    for (const double seconds : durations[what]) sum += seconds;
    series.seconds += sum;
    series.in_step += weight * sum / count;
    series.medians.push_back(statistics::median(durations[what]));
    series.blocks.push_back(blocks_of(durations[what]));
  }
}

Side side_of(const std::vector<AnalysedCapture>& captures) {
  Side side;
  for (const AnalysedCapture& capture : captures)
    add(side, capture, 1.0 / static_cast<double>(captures.size()));
  return side;
}

// With several captures on both sides each is one value: what differs between processes is in the interval
// then.
std::optional<statistics::Effect> effect_of(const std::vector<std::vector<double>>& first,
                                            const std::vector<std::vector<double>>& second) {
  const auto values = [](const std::vector<std::vector<double>>& captures, bool each) {
    std::vector<double> result;
    for (const std::vector<double>& blocks : captures) {
      if (each) {
        double sum = 0.0;
        for (const double block : blocks) sum += block;
        result.push_back(sum / static_cast<double>(blocks.size()));
      } else {
        result.insert(result.end(), blocks.begin(), blocks.end());
      }
    }
    return result;
  };
  const bool each = first.size() > 1 && second.size() > 1;
  return statistics::effect_between_groups(values(first, each), values(second, each));
}

WorkChange change_of(const Series& first, const Series& second, bool same_shape) {
  WorkChange change;
  change.name = second.name;
  change.same_shape = same_shape;
  change.first_median = statistics::median(first.medians);
  change.second_median = statistics::median(second.medians);
  change.first_in_step = first.in_step;
  change.second_in_step = second.in_step;
  change.effect = effect_of(first.blocks, second.blocks);
  return change;
}

std::vector<OneSided> left_over(const std::map<Key, Series>& work) {
  std::vector<OneSided> result;
  for (const auto& [key, series] : work) result.push_back({series.name, series.calls, series.seconds});
  std::sort(result.begin(), result.end(),
            [](const OneSided& a, const OneSided& b) { return a.seconds > b.seconds; });
  return result;
}

}  // namespace

CaptureComparison compare_captures(const std::vector<AnalysedCapture>& first,
                                   const std::vector<AnalysedCapture>& second) {
  Side a = side_of(first), b = side_of(second);
  CaptureComparison comparison;
  comparison.first_captures = first.size();
  comparison.second_captures = second.size();
  comparison.has_steps = a.has_steps && b.has_steps;
  if (comparison.has_steps) {
    comparison.first_step = statistics::median(a.steps);
    comparison.second_step = statistics::median(b.steps);
    comparison.step_effect = effect_of(a.step_blocks, b.step_blocks);
  }
  comparison.first_busy = a.busy;
  comparison.second_busy = b.busy;
  comparison.first_idle = a.idle;
  comparison.second_idle = b.idle;
  for (auto series = a.work.begin(); series != a.work.end();) {
    const auto same = b.work.find(series->first);
    if (same == b.work.end()) {
      ++series;
      continue;
    }
    comparison.changes.push_back(change_of(series->second, same->second, true));
    b.work.erase(same);
    series = a.work.erase(series);
  }
  // What is left is the same kernel with another shape, if each side has one such.
  std::map<Key, std::vector<std::pair<bool, Key>>> by_name;
  for (const auto& [key, series] : a.work) by_name[key_of(series.name, false)].emplace_back(true, key);
  for (const auto& [key, series] : b.work) by_name[key_of(series.name, false)].emplace_back(false, key);
  for (const auto& [name, keys] : by_name) {
    if (keys.size() != 2 || keys[0].first == keys[1].first) continue;
    const Key& in_a = keys[0].first ? keys[0].second : keys[1].second;
    const Key& in_b = keys[0].first ? keys[1].second : keys[0].second;
    comparison.changes.push_back(change_of(a.work.at(in_a), b.work.at(in_b), false));
    a.work.erase(in_a);
    b.work.erase(in_b);
  }
  comparison.only_first = left_over(a.work);
  comparison.only_second = left_over(b.work);

  std::vector<double> p_values;
  for (const WorkChange& change : comparison.changes)
    p_values.push_back(change.effect ? change.effect->p_value : 1.0);
  const std::vector<bool> rejected = statistics::holm_rejects(p_values);
  for (std::size_t i = 0; i < comparison.changes.size(); ++i) {
    WorkChange& change = comparison.changes[i];
    change.is_shown = rejected[i] && change.effect && std::abs(change.effect->value) >= kMaterial;
  }
  std::stable_sort(
      comparison.changes.begin(), comparison.changes.end(), [](const WorkChange& x, const WorkChange& y) {
        if (x.is_shown != y.is_shown) return x.is_shown;
        return std::abs(x.second_in_step - x.first_in_step) > std::abs(y.second_in_step - y.first_in_step);
      });
  return comparison;
}

}  // namespace jitterscope::timeline
