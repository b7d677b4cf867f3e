#include "timeline/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <tuple>

#include "jitterscope/error.hpp"
#include "statistics/statistics.hpp"
#include "timeline/idle.hpp"
#include "timeline/series.hpp"

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

// Numbers of one capture, one for each step, or for each call where there are no steps.
using Values = std::vector<double>;

// One side's work of one name, capture by capture.
struct Series {
  WorkName name;
  std::size_t all_calls = 0;  // of the whole capture
  double all_seconds = 0.0;
  double calls = 0.0;           // a step, or in all
  std::vector<Values> seconds;  // of each step, or of each call
};

struct Side {
  std::map<Key, Series> work;
  std::vector<Values> steps, busy;
  double total = 0.0, beside = 0.0, idle = 0.0;
};

// A level with its error, from blocks whose neighbours are alike.
struct Level {
  double logarithm = 0.0;
  ErrorOfBlocks error;
};

// Medians of blocks; their means of what most steps have not.
std::optional<Level> level_of(const Values& values, bool by_means) {
  const std::size_t blocks = std::min(kBlocks, values.size());
  Values levels;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = begin_of_block(block, blocks, values.size());
    const std::size_t last = begin_of_block(block + 1, blocks, values.size());
    const auto part = std::span(values).subspan(first, last - first);
    levels.push_back(by_means
                         ? std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size())
                         : std::log(statistics::median(part)));
  }
  if (levels.empty()) return std::nullopt;
  const double mean = std::accumulate(levels.begin(), levels.end(), 0.0) / static_cast<double>(blocks);
  Level level{mean, error_of_blocks(levels)};
  if (by_means) {
    if (!(mean > 0.0)) return std::nullopt;
    level.logarithm = std::log(mean);
    level.error.error /= mean;
  }
  return level;
}

// A median of zeros has no logarithm: most of a block's steps lack the work.
bool has_medians(const std::vector<Values>& captures) {
  return std::ranges::all_of(captures, [](const Values& values) {
    const std::size_t blocks = std::min(kBlocks, values.size());
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t first = begin_of_block(block, blocks, values.size());
      const std::size_t last = begin_of_block(block + 1, blocks, values.size());
      if (!(statistics::median(std::span(values).subspan(first, last - first)) > 0.0)) return false;
    }
    return true;
  });
}

// With several captures on both sides each is one value: what differs between processes is in the interval
// then. What is shown of a side is the mean of its logarithms, so that all numbers fit together.
TimeChange change_between(const std::vector<Values>& first, const std::vector<Values>& second) {
  const bool by_means = !has_medians(first) || !has_medians(second);
  struct Of {
    Values logarithms;
    double squares = 0.0, freedom = 0.0;  // of the mean's error
    double mean() const {
      return std::accumulate(logarithms.begin(), logarithms.end(), 0.0) /
             static_cast<double>(logarithms.size());
    }
  };
  const auto of = [&](const std::vector<Values>& captures) {
    Of result;
    double fourth = 0.0;
    for (const Values& values : captures) {
      const std::optional<Level> level = level_of(values, by_means);
      if (!level) continue;
      result.logarithms.push_back(level->logarithm);
      const double square = level->error.error * level->error.error;
      result.squares += square;
      fourth += square * square / level->error.freedom;
    }
    const double count = static_cast<double>(result.logarithms.size());
    result.freedom =
        fourth > 0.0 ? result.squares * result.squares / fourth : static_cast<double>(kBlocks - 1);
    result.squares /= std::max(count * count, 1.0);
    return result;
  };
  const Of a = of(first), b = of(second);
  TimeChange change;
  if (!a.logarithms.empty()) change.first = std::exp(a.mean());
  if (!b.logarithms.empty()) change.second = std::exp(b.mean());
  if (a.logarithms.empty() || b.logarithms.empty()) return change;
  if (first.size() > 1 && second.size() > 1) {
    change.effect = statistics::effect_between_groups(a.logarithms, b.logarithms);
    return change;
  }
  const double squares = a.squares + b.squares, error = std::sqrt(squares);
  if (!std::isfinite(error)) return change;
  // Welch and Satterthwaite's degrees of freedom.
  const double parts = a.squares * a.squares / a.freedom + b.squares * b.squares / b.freedom;
  const double freedom = parts > 0.0 ? squares * squares / parts : a.freedom + b.freedom;
  const double value = b.mean() - a.mean(), half = statistics::student_critical(0.95, freedom) * error;
  change.effect = statistics::Effect{.value = value,
                                     .interval = {value - half, value + half},
                                     .processes = 1,
                                     .within = error,
                                     .p_value = statistics::two_sided_p(value, error, freedom)};
  return change;
}

// One capture's GPU that worked longest.
struct Used {
  explicit Used(const AnalysedCapture& analysed)
      : capture(analysed),
        device(analysed.analysis.devices.front()),
        process(analysed.timeline.processes[device.process]),
        work(process.devices[device.device]) {
    std::map<Key, std::uint32_t> known;
    for (const WorkName& name : process.names) {
      const auto [at, is_new] = known.try_emplace(key_of(name, true), keys.size());
      if (is_new) keys.push_back(at->first);
      numbers.push_back(at->second);
    }
  }
  // The number of the item's key.
  std::uint32_t number(std::size_t item) const { return numbers[work.what[item]]; }
  double seconds(std::size_t item) const {
    return static_cast<double>(std::max<Time>(work.end[item] - work.begin[item], 1)) * 1e-9;
  }

  const AnalysedCapture& capture;
  const DeviceAnalysis& device;
  const Process& process;
  const DeviceWork& work;
  std::vector<Key> keys;
  std::vector<std::uint32_t> numbers;  // by name
};

// The work of a step of the most frequent kind.
std::map<Key, double> contents_of(const Used& used, const Steps& steps) {
  std::map<Key, double> counts;
  for (const Step& step : steps.steps) {
    if (step.kind != 0) continue;
    for (std::size_t i = step.first; i < step.last; ++i) ++counts[used.keys[used.number(i)]];
    break;
  }
  return counts;
}

// The share of both steps' work that is in both.
double likeness(const std::map<Key, double>& a, const std::map<Key, double>& b) {
  double shared = 0.0, all = 0.0;
  for (const auto& [key, count] : a) {
    const auto other = b.find(key);
    shared += other == b.end() ? 0.0 : std::min(count, other->second);
    all += count;
  }
  for (const auto& [key, count] : b) all += count;
  return all > shared ? shared / (all - shared) : 1.0;
}

// The steps of each capture that do most alike: those that were found, or what repeats within them.
struct Choice {
  std::vector<const Steps*> steps;
  double alike = -1.0;
};
Choice choose_steps(const std::vector<Used>& all) {
  const auto offers_of = [](const Used& used) {
    std::vector<const Steps*> offers{&used.device.steps};
    if (used.device.steps.repetition) offers.push_back(used.device.steps.repetition->pieces.get());
    return offers;
  };
  Choice best;
  for (const Steps* reference : offers_of(all.front())) {
    const std::map<Key, double> contents = contents_of(all.front(), *reference);
    Choice choice{{reference}, 1.0};
    for (std::size_t i = 1; i < all.size(); ++i) {
      const Steps* chosen = nullptr;
      double most = -1.0;
      for (const Steps* offer : offers_of(all[i])) {
        const double alike = likeness(contents, contents_of(all[i], *offer));
        if (alike <= most) continue;
        most = alike;
        chosen = offer;
      }
      choice.steps.push_back(chosen);
      choice.alike = std::min(choice.alike, most);
    }
    if (choice.alike > best.alike) best = choice;
  }
  return best;
}

// Steps that are compared: whole ones of the most frequent kind, from the later level if there are two.
std::vector<const Step*> compared_steps(const Steps& steps, std::size_t from) {
  std::vector<const Step*> result;
  for (std::size_t i = from; i < steps.steps.size(); ++i) {
    if (steps.steps[i].kind == 0 && steps.steps[i].is_whole) result.push_back(&steps.steps[i]);
  }
  return result;
}

void add(Side& side, const Used& used, const Steps* chosen, double weight,
         std::vector<ComparedSteps>& parts) {
  const DeviceWork& work = used.work;
  std::vector<Series*> series(used.keys.size());
  for (std::size_t i = 0; i < work.size(); ++i) {
    Series*& each = series[used.number(i)];
    if (each == nullptr) {
      each = &side.work[used.keys[used.number(i)]];
      each->name = used.process.names[work.what[i]];
    }
    ++each->all_calls;
    each->all_seconds += used.seconds(i);
    side.total += weight * used.seconds(i);
  }
  std::vector<Values> found(used.keys.size());  // of this capture
  const auto take_found = [&] {
    for (std::size_t number = 0; number < found.size(); ++number) {
      if (!found[number].empty()) series[number]->seconds.push_back(std::move(found[number]));
    }
  };
  if (chosen == nullptr) {
    side.idle += weight * idle_of(used.process, work, work.span()).idle_share();
    for (std::size_t i = 0; i < work.size(); ++i) {
      series[used.number(i)]->calls += weight;
      found[used.number(i)].push_back(used.seconds(i));
    }
    take_found();
    return;
  }
  ComparedSteps part{.source = used.capture.timeline.source, .within = {}, .levels = {}};
  const bool is_repetition = chosen != &used.device.steps;
  if (is_repetition) {
    part.within = static_cast<double>(chosen->steps.size()) /
                  static_cast<double>(std::max<std::size_t>(used.device.steps.steps.size(), 1));
    part.levels = slow_steps_of(used.process, work, *chosen).levels;
  } else {
    part.levels = used.device.slow.levels;
  }
  const std::vector<const Step*> steps = compared_steps(*chosen, part.levels ? part.levels->step : 0);
  if (part.within || part.levels) parts.push_back(part);
  const auto count = static_cast<double>(steps.size());
  Values times, busy;
  Time beside = 0;
  for (std::size_t i = steps.front()->first; i < steps.back()->last; ++i)
    beside += work.end[i] - work.begin[i];
  for (std::size_t k = 0; k < steps.size(); ++k) {
    times.push_back(static_cast<double>(steps[k]->end - steps[k]->begin) * 1e-9);
    double works = 0.0;
    for (std::size_t i = steps[k]->first; i < steps[k]->last; ++i) {
      Values& seconds = found[used.number(i)];
      seconds.resize(steps.size());
      series[used.number(i)]->calls += weight / count;
      seconds[k] += used.seconds(i);
      works += used.seconds(i);
      beside -= work.end[i] - work.begin[i];
    }
    busy.push_back(works);
  }
  side.beside += weight * static_cast<double>(beside) * 1e-9 / count;
  side.idle += weight * idle_of(used.process, work, {steps.front()->begin, steps.back()->end}).idle_share();
  side.steps.push_back(std::move(times));
  side.busy.push_back(std::move(busy));
  take_found();
}

WorkChange change_of(const Series& first, const Series& second, bool same_shape) {
  return {.name = second.name,
          .same_shape = same_shape,
          .first_calls = first.calls,
          .second_calls = second.calls,
          .time = change_between(first.seconds, second.seconds)};
}

std::vector<OneSided> left_over(const Side& side, std::size_t captures) {
  std::vector<OneSided> result;
  const double all = side.total * static_cast<double>(captures);
  for (const auto& [key, series] : side.work)
    result.push_back({series.name, series.all_calls, series.all_seconds, series.all_seconds / all});
  std::sort(result.begin(), result.end(),
            [](const OneSided& a, const OneSided& b) { return a.seconds > b.seconds; });
  return result;
}

std::vector<Used> used_in(const std::vector<AnalysedCapture>& captures) {
  std::vector<Used> result;
  for (const AnalysedCapture& capture : captures) {
    if (capture.analysis.devices.empty())
      throw UsageError(fmt::format("'{}' holds no work of a GPU", capture.timeline.source));
    result.emplace_back(capture);
  }
  return result;
}

}  // namespace

CaptureComparison compare_captures(const std::vector<AnalysedCapture>& first,
                                   const std::vector<AnalysedCapture>& second) {
  std::vector<Used> all = used_in(first);
  for (const Used& each : used_in(second)) all.push_back(each);
  CaptureComparison comparison;
  comparison.first_captures = first.size();
  comparison.second_captures = second.size();
  comparison.has_steps = std::ranges::all_of(
      all, [](const Used& used) { return !compared_steps(used.device.steps, 0).empty(); });
  const Choice choice = choose_steps(all);
  if (comparison.has_steps) comparison.alike = choice.alike;
  Side a, b;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_first = i < first.size();
    add(is_first ? a : b, all[i], comparison.has_steps ? choice.steps[i] : nullptr,
        1.0 / static_cast<double>(is_first ? first.size() : second.size()), comparison.parts);
  }
  if (comparison.has_steps) {
    comparison.step = change_between(a.steps, b.steps);
    comparison.busy = change_between(a.busy, b.busy);
  }
  comparison.first_total = a.total;
  comparison.second_total = b.total;
  comparison.first_beside = a.beside;
  comparison.second_beside = b.beside;
  comparison.first_idle = a.idle;
  comparison.second_idle = b.idle;
  for (auto series = a.work.begin(); series != a.work.end();) {
    const auto same = b.work.find(series->first);
    if (same == b.work.end()) {
      ++series;
      continue;
    }
    // Work that lies beside the steps on either side is compared as such.
    if (!series->second.seconds.empty() || !same->second.seconds.empty())
      comparison.changes.push_back(change_of(series->second, same->second, true));
    b.work.erase(same);
    series = a.work.erase(series);
  }
  // The rest is the same kernel with another shape, if each side has one such.
  std::map<Key, std::vector<std::pair<bool, Key>>> by_name;
  for (const auto& [key, series] : a.work) by_name[key_of(series.name, false)].emplace_back(true, key);
  for (const auto& [key, series] : b.work) by_name[key_of(series.name, false)].emplace_back(false, key);
  for (const auto& [name, keys] : by_name) {
    if (keys.size() != 2 || keys[0].first == keys[1].first) continue;
    const Key& in_a = keys[0].first ? keys[0].second : keys[1].second;
    const Key& in_b = keys[0].first ? keys[1].second : keys[0].second;
    if (!a.work.at(in_a).seconds.empty() || !b.work.at(in_b).seconds.empty())
      comparison.changes.push_back(change_of(a.work.at(in_a), b.work.at(in_b), false));
    a.work.erase(in_a);
    b.work.erase(in_b);
  }
  comparison.only_first = left_over(a, first.size());
  comparison.only_second = left_over(b, second.size());

  std::vector<double> p_values;
  for (const WorkChange& change : comparison.changes)
    p_values.push_back(change.time.effect ? change.time.effect->p_value : 1.0);
  const std::vector<bool> rejected = statistics::holm_rejects(p_values);
  for (std::size_t i = 0; i < comparison.changes.size(); ++i) {
    WorkChange& change = comparison.changes[i];
    change.is_shown = rejected[i] && change.time.effect && std::abs(change.time.effect->value) >= kMaterial;
  }
  std::stable_sort(comparison.changes.begin(), comparison.changes.end(),
                   [](const WorkChange& x, const WorkChange& y) {
                     if (x.is_shown != y.is_shown) return x.is_shown;
                     return std::abs(x.time.second - x.time.first) > std::abs(y.time.second - y.time.first);
                   });
  return comparison;
}

}  // namespace jitterscope::timeline
