#include "timeline/slow_steps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "statistics/effect.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::timeline {
namespace {

constexpr std::size_t kTraits = 13;

// So many deviations that normal noise gives one slow step in a hundred programs of so many steps.
double deviations(std::size_t steps) {
  constexpr double kChance = 0.01, kManyDegrees = 1e6;
  return std::max(kFewestDeviations, statistics::student_critical(
                                         1.0 - 2.0 * kChance / static_cast<double>(steps), kManyDegrees));
}

// Where steps have two levels: the time between, and the median of the lower one.
struct LevelsOfTimes {
  double boundary = 0.0, lower = 0.0;
};

// Tries the widest gaps between the times, and the valleys between their modes: few steps have no modes, and
// of many steps a few lie in any gap. Either level has at least one step in twenty, noise does not lead half
// the way to the other, and between them lies next to nothing.
std::optional<LevelsOfTimes> two_levels(const std::vector<double>& times) {
  constexpr double kLeastShare = 0.05, kMostBetween = 0.05;
  constexpr std::size_t kFewest = 20, kMostTried = 8;
  if (times.size() < kFewest) return std::nullopt;
  std::vector<double> sorted = times;
  std::ranges::sort(sorted);
  const auto least = std::max<std::size_t>(
      2, static_cast<std::size_t>(std::ceil(kLeastShare * static_cast<double>(sorted.size()))));
  std::vector<std::size_t> cuts;
  for (std::size_t cut = least; cut <= sorted.size() - least; ++cut) cuts.push_back(cut);
  const auto tried = cuts.begin() + static_cast<std::ptrdiff_t>(std::min(cuts.size(), kMostTried));
  std::ranges::partial_sort(cuts, tried, std::greater(),
                            [&](std::size_t cut) { return sorted[cut] - sorted[cut - 1]; });
  cuts.erase(tried, cuts.end());
  const std::vector<statistics::ModeEstimate> modes = statistics::find_modes(sorted, kLeastChange);
  for (std::size_t i = 0; i + 1 < modes.size(); ++i) {
    const double valley = std::sqrt(modes[i].location * modes[i + 1].location);
    const auto cut = static_cast<std::size_t>(std::ranges::lower_bound(sorted, valley) - sorted.begin());
    if (cut >= least && cut <= sorted.size() - least) cuts.push_back(cut);
  }
  std::optional<LevelsOfTimes> found;
  double most = 0.0;
  for (const std::size_t cut : cuts) {
    const auto lower = std::span(sorted).first(cut), upper = std::span(sorted).subspan(cut);
    const double low = statistics::median(lower), high = statistics::median(upper), apart = high - low;
    const double noise = std::max(robust_deviation(lower, low), robust_deviation(upper, high));
    if (!(low > 0.0) || apart < kLeastChange * low || apart < 2.0 * deviations(sorted.size()) * noise)
      continue;
    const auto between = std::ranges::upper_bound(sorted, high - apart / 3.0) -
                         std::ranges::lower_bound(sorted, low + apart / 3.0);
    if (static_cast<double>(between) >
        kMostBetween * static_cast<double>(std::min(lower.size(), upper.size())))
      continue;
    // A cut within a level is none: it lies half the way between them, but for the few between.
    const double boundary = 0.5 * (low + high);
    const auto below = std::ranges::lower_bound(sorted, boundary) - sorted.begin();
    if (std::abs(below - static_cast<std::ptrdiff_t>(cut)) > between) continue;
    // The variance that the levels explain, but for a factor.
    const double told = static_cast<double>(lower.size() * upper.size()) * apart * apart;
    if (told <= most) continue;
    most = told;
    found = {boundary, low};
  }
  return found;
}

// The time from which on a step is slow: beyond normal noise and at least 1 % longer. Where more than one
// step in twenty is, they drift, and only those count that are farther off by twice as much, or four times,
// ...
double limit_of_rare(const std::vector<double>& times, double middle) {
  constexpr double kMostSlow = 0.05, kFarthest = 64.0;
  double excess = std::max(deviations(times.size()) * robust_deviation(times, middle), kLeastChange * middle);
  const double farthest = kFarthest * excess;
  for (; excess <= farthest; excess *= 2.0) {
    const auto slow = std::ranges::count_if(times, [&](double time) { return time > middle + excess; });
    if (static_cast<double>(slow) <= kMostSlow * static_cast<double>(times.size())) return middle + excess;
  }
  return std::numeric_limits<double>::infinity();
}

// Steps have levels where these make most of what rare slow steps and they take longer.
double slow_limit(const std::vector<double>& times, double middle) {
  const double rare = limit_of_rare(times, middle);
  const std::optional<LevelsOfTimes> levels = two_levels(times);
  if (!levels) return rare;
  const auto beyond = [&](double limit) {
    double sum = 0.0;
    for (const double time : times) sum += time > limit ? time - levels->lower : 0.0;
    return sum;
  };
  return 2.0 * beyond(rare) < beyond(levels->boundary) ? levels->boundary : rare;
}

// A step's work, beside its time.
struct Portrait {
  double seconds = 0.0, idle = 0.0, bytes = 0.0;
  double busy() const { return seconds - idle; }
  std::uint32_t causes = 0;  // index of Portraits::by_cause, of one in which calls were recorded
  bool loads = false, is_first = false, after_other_kind = false;
  bool is_full = false, is_whole = true;  // as Step has them
};

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// The chance that so many of the slow steps have a trait, or more, if it had nothing to do with being slow.
double fisher(std::size_t slow_with, std::size_t slow, std::size_t other_with, std::size_t other) {
  const double with = static_cast<double>(slow_with + other_with), all = static_cast<double>(slow + other);
  double chance = 0.0;
  for (std::size_t k = slow_with; k <= std::min(slow, slow_with + other_with); ++k) {
    const double x = static_cast<double>(k);
    if (with - x > static_cast<double>(other)) continue;
    chance += std::exp(log_choose(with, x) + log_choose(all - with, static_cast<double>(slow) - x) -
                       log_choose(all, static_cast<double>(slow)));
  }
  return std::min(chance, 1.0);
}

class Portraits {
 public:
  Portraits(const Process& process, const DeviceWork& work, const Steps& steps)
      : work_(work), causes_(process, work) {
    const capture::Overheads& overheads = process.overheads;
    for (std::size_t i = 0; i < overheads.start.size(); ++i) {
      const auto kind = static_cast<capture::OverheadKind>(overheads.kind[i]);
      if (kind == capture::OverheadKind::module_load || kind == capture::OverheadKind::lazy_load) {
        loads_.push_back(overheads.start[i]);
      }
    }
    std::sort(loads_.begin(), loads_.end());
    for (std::size_t i = 0; i < steps.steps.size(); ++i) {
      const Step& step = steps.steps[i];
      if (step.kind != 0 || !(step.is_whole || step.is_full)) continue;
      indices_.push_back(i);
      const bool is_first = portraits_.size() < kFirstSteps;
      portraits_.push_back(
          portrait(step, i > 0 && steps.steps[i - 1].kind != 0 && steps.steps[i - 1].end == step.begin));
      portraits_.back().is_first = is_first;
    }
    add_gaps(steps);
  }
  const std::vector<std::size_t>& indices() const { return indices_; }
  const std::vector<Portrait>& all() const { return portraits_; }
  // Makes later steps what they would be on the earlier level, so that others are not slow for being early.
  void take_out(const StepLevels& levels) {
    for (std::size_t i = 0; i < portraits_.size(); ++i) {
      if (indices_[i] < levels.step) continue;
      portraits_[i].seconds -= levels.busy + levels.idle;
      portraits_[i].idle -= levels.idle;
    }
  }
  const std::array<double, kIdleCauses>& idle_by_cause(const Portrait& portrait) const {
    return by_cause_[portrait.causes];
  }

 private:
  Portrait portrait(const Step& step, bool after_other_kind) {
    Portrait result;
    result.seconds = static_cast<double>(step.end - step.begin) * 1e-9;
    result.after_other_kind = after_other_kind;
    result.is_full = step.is_full;
    result.is_whole = step.is_whole;
    if (step.is_full) {
      result.causes = static_cast<std::uint32_t>(by_cause_.size());
      by_cause_.emplace_back();
    }
    if (!work_.bytes.empty()) {
      for (std::size_t i = step.first; i < step.last; ++i)
        result.bytes += static_cast<double>(work_.bytes[i]);
    }
    const auto load = std::lower_bound(loads_.begin(), loads_.end(), step.begin);
    result.loads = load != loads_.end() && *load < step.end;
    return result;
  }

  // Steps and gaps are in the order of time.
  void add_gaps(const Steps& steps) {
    std::size_t next = 0;
    for_each_gap(work_, [&](const Gap& gap) {
      const auto step = [&](std::size_t i) -> const Step& { return steps.steps[indices_[i]]; };
      while (next < indices_.size() && step(next).end <= gap.span.begin) ++next;
      for (std::size_t i = next; i < indices_.size() && step(i).begin < gap.span.end; ++i) {
        const double seconds = static_cast<double>(std::min(gap.span.end, step(i).end) -
                                                   std::max(gap.span.begin, step(i).begin)) *
                               1e-9;
        portraits_[i].idle += seconds;
        if (step(i).is_full)
          by_cause_[portraits_[i].causes][static_cast<std::size_t>(causes_.of(gap))] += seconds;
      }
    });
  }

  const DeviceWork& work_;
  std::vector<Time> loads_;
  GapCauses causes_;
  std::vector<std::size_t> indices_;
  std::vector<Portrait> portraits_;
  std::vector<std::array<double, kIdleCauses>> by_cause_;
};

// The parts that take longer in the second of two groups of steps: work by its name, and the idle
// time before it.
std::vector<LongerPart> longer_parts(const DeviceWork& work, const Steps& steps,
                                     const std::array<std::vector<std::size_t>, 2>& groups) {
  constexpr std::size_t kMostSteps = 200, kMostParts = 2;
  constexpr double kLeastPart = 0.2;
  struct Sampled {
    std::size_t step = 0, group = 0;
    std::map<std::pair<std::uint32_t, bool>, double> seconds;  // by name, and whether it is the gap before
  };
  std::vector<Sampled> sample;
  std::array<std::vector<double>, 2> lengths;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const std::size_t all = groups[group].size(), count = std::min(all, kMostSteps);
    for (std::size_t i = 0; i < count; ++i) {
      sample.push_back({groups[group][i * all / count], group, {}});
      const Step& step = steps.steps[sample.back().step];
      lengths[group].push_back(static_cast<double>(step.end - step.begin) * 1e-9);
      for (std::size_t item = step.first; item < step.last; ++item) {
        sample.back().seconds[{work.what[item], false}] +=
            static_cast<double>(work.end[item] - work.begin[item]) * 1e-9;
      }
    }
  }
  if (lengths[0].empty() || lengths[1].empty()) return {};
  std::ranges::sort(sample, std::less(), &Sampled::step);
  std::size_t next = 0;
  for_each_gap(work, [&](const Gap& gap) {
    const auto step = [&](std::size_t i) -> const Step& { return steps.steps[sample[i].step]; };
    while (next < sample.size() && step(next).end <= gap.span.begin) ++next;
    for (std::size_t i = next; i < sample.size() && step(i).begin < gap.span.end; ++i) {
      sample[i].seconds[{work.what[gap.after], true}] +=
          static_cast<double>(std::min(gap.span.end, step(i).end) - std::max(gap.span.begin, step(i).begin)) *
          1e-9;
    }
  });
  std::map<std::pair<std::uint32_t, bool>, std::array<std::vector<double>, 2>> parts;
  for (const Sampled& each : sample) {
    for (const auto& [part, seconds] : each.seconds) parts[part][each.group].push_back(seconds);
  }
  const double longer = statistics::median(lengths[1]) - statistics::median(lengths[0]);
  std::vector<LongerPart> result;
  for (auto& [part, seconds] : parts) {
    // Steps that have none of it spend no time with it.
    for (std::size_t group = 0; group < groups.size(); ++group) seconds[group].resize(lengths[group].size());
    const double more = statistics::median(seconds[1]) - statistics::median(seconds[0]);
    if (more > 0.0 && more >= kLeastPart * longer) result.push_back({part.first, part.second, more});
  }
  std::ranges::stable_sort(result, std::greater(), &LongerPart::seconds);
  result.resize(std::min(result.size(), kMostParts));
  return result;
}

// Medians of the steps that are not slow.
struct Usual {
  double busy = 0.0, idle = 0.0, bytes = 0.0;
  std::array<double, kIdleCauses> idle_by_cause{};
};

double quantile(const std::vector<double>& values, double probability) {
  return statistics::quantiles(values, std::vector<double>{probability}).front();
}

double longer_than(const Portrait& step, const Usual& usual) {
  return (step.busy() - usual.busy) + (step.idle - usual.idle);
}

// `least`: seconds that a step must be longer by, so that there is something to explain.
std::vector<StepTrait> traits_of(const Portraits& portraits, const Portrait& step, const Usual& usual,
                                 double least) {
  std::vector<StepTrait> traits;
  const double longer = longer_than(step, usual);
  const bool is_longer = longer > least;
  if (is_longer && step.busy() - usual.busy >= 0.5 * longer) traits.push_back(StepTrait::longer_work);
  if (is_longer && step.idle - usual.idle >= 0.5 * longer) {
    constexpr std::array kByCause = {StepTrait::idle_allocation,      StepTrait::idle_loading,
                                     StepTrait::idle_synchronization, StepTrait::idle_between_kernels,
                                     StepTrait::idle_launch,          StepTrait::idle_other_stream,
                                     StepTrait::idle_host_elsewhere};
    StepTrait trait = StepTrait::idle;
    double most = 0.0;
    for (std::size_t cause = 0; cause < kByCause.size() && step.is_full; ++cause) {
      const double more = portraits.idle_by_cause(step)[cause] - usual.idle_by_cause[cause];
      if (more < 0.5 * (step.idle - usual.idle) || more < most) continue;
      most = more;
      trait = kByCause[cause];
    }
    traits.push_back(trait);
  }
  if (step.loads) traits.push_back(StepTrait::loading);
  if (step.bytes > usual.bytes) traits.push_back(StepTrait::more_copied);
  if (step.is_first) traits.push_back(StepTrait::first_steps);
  if (step.after_other_kind) traits.push_back(StepTrait::after_other_kind);
  return traits;
}

std::optional<StepLevels> levels_of(const Portraits& portraits) {
  std::vector<std::size_t> places;
  std::vector<double> times;
  for (std::size_t i = 0; i < portraits.all().size(); ++i) {
    if (!portraits.all()[i].is_whole) continue;
    places.push_back(i);
    times.push_back(portraits.all()[i].seconds);
  }
  const std::optional<LevelShift> shift = level_shift_of(times);
  if (!shift) return std::nullopt;
  std::vector<double> busy[2], idle[2];
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Portrait& step = portraits.all()[places[i]];
    busy[i >= shift->at].push_back(step.busy());
    idle[i >= shift->at].push_back(step.idle);
  }
  return StepLevels{.step = portraits.indices()[places[shift->at]],
                    .earlier = shift->at,
                    .later = places.size() - shift->at,
                    .before = shift->before,
                    .after = shift->after,
                    .busy = statistics::median(busy[1]) - statistics::median(busy[0]),
                    .idle = statistics::median(idle[1]) - statistics::median(idle[0])};
}

// Which of the steps lie in long stretches. Where calls are recorded for a while, steps take longer for that.
std::vector<bool> in_long_stretches(const std::vector<Portrait>& all) {
  std::vector<bool> in_stretch(all.size());
  std::vector<std::size_t> places;
  std::vector<double> times;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_whole) continue;
    places.push_back(i);
    times.push_back(all[i].seconds);
  }
  if (times.size() < 4 * kFewestOfLevel) return in_stretch;
  const LevelledSeries levels = levels_of_series(times);
  const std::vector<std::size_t>& begins = levels.bounds;
  std::vector<double> others;
  std::size_t count = 0;
  for (std::size_t k = 0; k + 1 < begins.size(); ++k) {
    const auto segment = std::span(times).subspan(begins[k], begins[k + 1] - begins[k]);
    if (segment.size() >= kFewestOfLevel &&
        statistics::median(segment) >= (1.0 + kLeastChange) * levels.middle) {
      for (std::size_t i = begins[k]; i < begins[k + 1]; ++i) in_stretch[places[i]] = true;
      count += segment.size();
    } else {
      others.insert(others.end(), segment.begin(), segment.end());
    }
  }
  // Steps that all lie in one, or the others of which take no time, are longer than nothing.
  const double usual = others.empty() ? 0.0 : statistics::median(others);
  if (count == 0 || !(usual > 0.0)) {
    in_stretch.assign(all.size(), false);
    return in_stretch;
  }
  std::vector<double> longer;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (in_stretch[places[i]]) longer.push_back(times[i]);
  }
  const double level = statistics::median(longer);
  if (level < usual + kFewestDeviations * robust_deviation(others, usual)) {
    in_stretch.assign(all.size(), false);
    return in_stretch;
  }
  // A change point may be a few steps off.
  const auto extend = [&](std::size_t i, std::size_t neighbour) {
    if (in_stretch[places[neighbour]] && times[i] > 0.5 * (usual + level)) in_stretch[places[i]] = true;
  };
  for (std::size_t i = 1; i < times.size(); ++i) extend(i, i - 1);
  for (std::size_t i = times.size() - 1; i > 0; --i) extend(i - 1, i);
  return in_stretch;
}

LongStretches long_stretches(const Portraits& portraits, const Steps& steps,
                             const std::vector<bool>& in_stretch) {
  LongStretches result;
  const std::vector<Portrait>& all = portraits.all();
  std::vector<double> times[2], busy[2], idle[2];
  bool follows = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_whole) continue;
    const bool is_in = in_stretch[i];
    times[is_in].push_back(all[i].seconds);
    busy[is_in].push_back(all[i].busy());
    idle[is_in].push_back(all[i].idle);
    const Step& step = steps.steps[portraits.indices()[i]];
    if (is_in) {
      result.steps.push_back(portraits.indices()[i]);
      if (follows)
        result.spans.back().end = step.end;
      else
        result.spans.push_back({step.begin, step.end});
    }
    follows = is_in;
  }
  if (result.steps.empty()) return result;
  result.longer = statistics::median(times[true]) / statistics::median(times[false]) - 1.0;
  result.busy = statistics::median(busy[true]) - statistics::median(busy[false]);
  result.idle = statistics::median(idle[true]) - statistics::median(idle[false]);
  return result;
}

}  // namespace

std::string_view to_string(StepTrait trait) {
  switch (trait) {
    case StepTrait::longer_work: return "longer work";
    case StepTrait::idle: return "idle";
    case StepTrait::idle_allocation: return "idle by allocation";
    case StepTrait::idle_loading: return "idle by loading";
    case StepTrait::idle_synchronization: return "idle by synchronization";
    case StepTrait::idle_between_kernels: return "idle between kernels";
    case StepTrait::idle_launch: return "idle by launch";
    case StepTrait::idle_other_stream: return "idle by other stream";
    case StepTrait::idle_host_elsewhere: return "idle by host elsewhere";
    case StepTrait::loading: return "loading";
    case StepTrait::more_copied: return "more copied";
    case StepTrait::first_steps: return "first steps";
    case StepTrait::after_other_kind: return "after other kind";
  }
  return "";
}

std::string_view phrase_of(StepTrait trait) {
  switch (trait) {
    case StepTrait::longer_work: return "the GPU works longer";
    case StepTrait::idle: return "";
    case StepTrait::idle_allocation: return "memory is taken or given back";
    case StepTrait::idle_loading: return "modules are loaded";
    case StepTrait::idle_synchronization: return "the program waits for it before it launches";
    case StepTrait::idle_between_kernels: return "what was launched before begins late";
    case StepTrait::idle_launch: return "launches come late";
    case StepTrait::idle_other_stream: return "a stream waits for another";
    case StepTrait::idle_host_elsewhere: return "the program makes no call to CUDA";
    case StepTrait::loading: return "a module or a kernel is loaded";
    case StepTrait::more_copied: return "more is copied or set";
    case StepTrait::first_steps: return "they are among the first seven steps";
    case StepTrait::after_other_kind: return "they follow a step of another kind";
  }
  return "";
}

SlowSteps slow_steps_of(const Process& process, const DeviceWork& work, const Steps& steps) {
  SlowSteps slow;
  Portraits portraits(process, work, steps);
  const std::vector<Portrait>& all = portraits.all();
  slow.of = all.size();
  if (all.size() < 20) return slow;  // of fewer, no step can be told from chance
  slow.levels = levels_of(portraits);
  if (slow.levels) portraits.take_out(*slow.levels);
  // Recording calls makes all steps of its windows longer: each detail has its own median.
  const std::vector<bool> in_stretch = in_long_stretches(all);
  slow.stretches = long_stretches(portraits, steps, in_stretch);
  std::vector<bool> is_slow(all.size());
  std::vector<double> slow_times, other_times;
  std::size_t most = 0;
  for (const bool full : {false, true}) {
    std::vector<double> times;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].is_full == full && !in_stretch[i]) times.push_back(all[i].seconds);
    }
    const double middle = times.empty() ? 0.0 : statistics::median(times);
    if (!(middle > 0.0)) continue;
    const double limit = slow_limit(times, middle);
    std::vector<double> slow_of_detail, others_of_detail;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].is_full != full || in_stretch[i]) continue;
      is_slow[i] = all[i].seconds > limit;
      (is_slow[i] ? slow_times : other_times).push_back(all[i].seconds / middle);
      (is_slow[i] ? slow_of_detail : others_of_detail).push_back(all[i].seconds);
    }
    if (slow_of_detail.empty() || times.size() <= most) continue;
    most = times.size();
    slow.seconds = statistics::median(slow_of_detail);
    slow.other_seconds = statistics::median(others_of_detail);
  }
  std::vector<double> busy, idle, bytes;
  std::array<std::vector<double>, kIdleCauses> by_cause;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (in_stretch[i]) continue;
    if (is_slow[i]) {
      slow.steps.push_back(portraits.indices()[i]);
      continue;
    }
    busy.push_back(all[i].busy());
    idle.push_back(all[i].idle);
    bytes.push_back(all[i].bytes);
    for (std::size_t cause = 0; cause < kIdleCauses && all[i].is_full; ++cause) {
      by_cause[cause].push_back(portraits.idle_by_cause(all[i])[cause]);
    }
  }
  const std::size_t usual_steps = all.size() - slow.stretches.steps.size();
  if (slow.steps.empty()) return slow;
  std::vector<std::int64_t> numbers;
  std::vector<double> are_slow;
  std::array<std::vector<std::size_t>, 2> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (in_stretch[i]) continue;
    numbers.push_back(static_cast<std::int64_t>(portraits.indices()[i]));
    are_slow.push_back(is_slow[i] ? 1.0 : 0.0);
    groups[is_slow[i]].push_back(portraits.indices()[i]);
  }
  constexpr double kEvidence = 6.0;
  slow.recurrence = statistics::find_recurrence(numbers, are_slow, 0.5, kEvidence);
  slow.parts = longer_parts(work, steps, groups);
  slow.longer = statistics::median(slow_times) / statistics::median(other_times) - 1.0;
  Usual usual{statistics::median(busy), statistics::median(idle), quantile(bytes, 0.9), {}};
  for (std::size_t cause = 0; cause < kIdleCauses; ++cause) {
    if (!by_cause[cause].empty()) usual.idle_by_cause[cause] = statistics::median(by_cause[cause]);
  }
  std::array<TraitOfSlowSteps, kTraits> counts;
  std::array<std::vector<double>, kTraits> idle_beyond;
  std::vector<double> beyond;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_slow[i]) beyond.push_back(longer_than(all[i], usual));
  }
  // Other steps that are a little longer do not share what makes the slow ones slow.
  const double least = kLeastChange * (usual.busy + usual.idle);
  const double least_of_others = std::max(least, 0.5 * statistics::median(beyond));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (in_stretch[i]) continue;
    for (const StepTrait trait : traits_of(portraits, all[i], usual, is_slow[i] ? least : least_of_others)) {
      TraitOfSlowSteps& count = counts[static_cast<std::size_t>(trait)];
      ++(is_slow[i] ? count.slow : count.other);
      if (is_slow[i]) idle_beyond[static_cast<std::size_t>(trait)].push_back(all[i].idle - usual.idle);
    }
  }
  std::vector<double> p_values;
  for (std::size_t i = 0; i < kTraits; ++i) {
    counts[i].trait = static_cast<StepTrait>(i);
    counts[i].p_value =
        fisher(counts[i].slow, slow.steps.size(), counts[i].other, usual_steps - slow.steps.size());
    if (!idle_beyond[i].empty()) counts[i].seconds = statistics::median(idle_beyond[i]);
    p_values.push_back(counts[i].p_value);
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values);
  for (std::size_t i = 0; i < kTraits; ++i) {
    if (shown[i] && 2 * counts[i].slow >= slow.steps.size()) slow.traits.push_back(counts[i]);
  }
  std::stable_sort(slow.traits.begin(), slow.traits.end(),
                   [](const TraitOfSlowSteps& a, const TraitOfSlowSteps& b) { return a.slow > b.slow; });
  return slow;
}

}  // namespace jitterscope::timeline
