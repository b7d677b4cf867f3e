#include "timeline/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "timeline/series.hpp"

namespace jitterscope::timeline {
namespace {

// Fewer are no evidence of a repetition.
constexpr std::size_t kFewestSteps = 5;
// A kind of step must occur so often, apart from the most frequent one.
constexpr std::size_t kFewestOfKind = 3;
// So much of the work between the first and the last step must lie in steps that repeat.
constexpr double kInSteps = 0.9;
// So much of all the GPU's time must lie between the first and the last step.
constexpr double kCovered = 0.5;
// A longer repetition is taken for several steps, such as the epochs of a training.
constexpr std::size_t kMostOfStep = std::size_t{1} << 14;
// Distances that differ by so much count as equal: a step may have a copy more.
constexpr double kSameDistance = 0.05;
constexpr double kRegular = 0.8;
// So many distances are tried, the longest first, and of each so many beginnings of a step.
constexpr std::size_t kMostDistances = 8, kMostBeginnings = 3;
// A shorter step is taken where steps of one kind are so much of the work: two steps that differ in a copy
// are two.
constexpr double kAllAlike = 0.99, kMostAlike = 0.8;

// How a piece of work recurs: one item, or several that follow each other.
struct Recurrence {
  std::vector<std::uint32_t> places;  ///< of its first item
  std::size_t distance = 0;           ///< median number of work items from one place to the next
  double regular = 0.0;               ///< share of distances that are about the median
  double gap = 0.0;                   ///< median idle time before it, ns
};

std::uint64_t mixed(std::uint64_t value) {
  value = (value + 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

// Adds places that recur at equal distances; the others are no beginning of a step.
void add_recurrence(std::span<const std::uint32_t> places, const DeviceWork& work,
                    std::vector<Recurrence>& found) {
  if (places.size() < kFewestSteps + 1) return;
  std::vector<std::uint32_t> distances(places.size() - 1);
  for (std::size_t i = 1; i < places.size(); ++i) distances[i - 1] = places[i] - places[i - 1];
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  const std::size_t distance = *middle;
  const double tolerance = kSameDistance * static_cast<double>(distance);
  const auto alike = std::count_if(distances.begin(), distances.end(), [&](std::uint32_t each) {
    return std::abs(static_cast<double>(each) - static_cast<double>(distance)) <= tolerance;
  });
  const double regular = static_cast<double>(alike) / static_cast<double>(distances.size());
  if (distance > kMostOfStep || regular < kRegular) return;
  std::vector<double> gaps(places.size() - 1);
  for (std::size_t i = 1; i < places.size(); ++i) {
    gaps[i - 1] = static_cast<double>(work.begin[places[i]] - work.end[places[i] - 1]);
  }
  found.push_back({{places.begin(), places.end()}, distance, regular, statistics::median(gaps)});
}

// The nodes of one launch of a graph share its number, and come one after the other.
void add_graph_launches(const DeviceWork& work, std::vector<Recurrence>& found) {
  std::vector<std::uint32_t> places;
  std::uint32_t last = 0;
  for (std::size_t i = 0; i + 1 < work.size(); ++i) {
    const std::uint32_t launch = work.correlation[i];
    if (launch == last || launch != work.correlation[i + 1]) continue;
    last = launch;
    if (launch != 0) places.push_back(static_cast<std::uint32_t>(i));
  }
  add_recurrence(places, work, found);
}

// A network of equal layers runs each of its kernels many times a step, but a sequence of them once. Of all
// sequences of so many items, those are followed whose hash ends in zeros: the same ones in each step, and
// few enough to be held.
void add_sequences(const DeviceWork& work, std::size_t length, std::vector<Recurrence>& found) {
  constexpr std::size_t kFollowed = 200'000;
  if (work.size() < 2 * length) return;
  std::uint64_t mask = 0;
  while (work.size() / (mask + 1) > kFollowed) mask = 2 * mask + 1;
  // A polynomial of the items, from which the oldest is taken out as the next comes in.
  constexpr std::uint64_t kBase = 0x9E3779B97F4A7C15ULL;
  std::uint64_t oldest = 1, hash = 0;
  for (std::size_t i = 1; i < length; ++i) oldest *= kBase;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> places;
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (i >= length) hash -= oldest * mixed(work.what[i - length]);
    hash = hash * kBase + mixed(work.what[i]);
    const std::uint64_t sequence = mixed(hash);
    if (i + 1 >= length && (sequence & mask) == 0)
      places[sequence].push_back(static_cast<std::uint32_t>(i + 1 - length));
  }
  for (const auto& [sequence, at] : places) add_recurrence(at, work, found);
}

// A step's kernels as a number that does not depend on their order, and how many they are.
std::pair<std::uint64_t, std::size_t> kernels_of(const Step& step, const DeviceWork& work,
                                                 const std::vector<WorkName>& names) {
  std::pair<std::uint64_t, std::size_t> result{};
  for (std::size_t i = step.first; i < step.last; ++i) {
    const std::uint32_t what = work.what[i];
    if (names[what].kind != WorkKind::kernel && names[what].kind != WorkKind::graph) continue;
    result.first += mixed(what);
    ++result.second;
  }
  return result;
}

// A step's work as a number that does not depend on its order: streams shift against each other.
class Contents {
 public:
  Contents(const DeviceWork& work, const std::vector<WorkName>& names)
      : work_(work), names_(names), sums_(work.size() + 1) {
    std::map<std::tuple<WorkKind, std::string_view, capture::MemoryKind, capture::MemoryKind>, std::uint32_t>
        known;
    for (const WorkName& name : names) {
      without_shape_.push_back(
          known.try_emplace({name.kind, name.name, name.from, name.to}, known.size()).first->second);
    }
    for (std::size_t i = 0; i < work.size(); ++i) sums_[i + 1] = sums_[i] + mixed(work.what[i]);
    all_time_ = std::max(time_of(0, work.size()), 1.0);
  }
  std::uint64_t of(std::size_t first, std::size_t last) const { return sums_[last] - sums_[first]; }
  // Nanoseconds in which this work runs, and all.
  double time_of(std::size_t first, std::size_t last) const {
    double sum = 0.0;
    for (std::size_t i = first; i < last; ++i) sum += static_cast<double>(work_.end[i] - work_.begin[i]);
    return sum;
  }
  double all_time() const { return all_time_; }
  std::pair<std::uint64_t, std::size_t> kernels_of(const Step& step) const {
    return timeline::kernels_of(step, work_, names_);
  }
  bool copies_to_host(const Step& step) const {
    for (std::size_t i = step.first; i < step.last; ++i) {
      const WorkName& name = names_[work_.what[i]];
      if (name.kind == WorkKind::copy &&
          (name.to == capture::MemoryKind::pageable || name.to == capture::MemoryKind::pinned))
        return true;
    }
    return false;
  }
  // Whether two steps do nearly the same: an input may take another kernel, and one that grows other shapes
  // of the same kernels.
  bool are_alike(const Step& a, const Step& b) const {
    constexpr double kNearlyAlike = 0.95, kSameTime = 1.5;
    const double shorter = static_cast<double>(std::min(a.last - a.first, b.last - b.first));
    const double longer = static_cast<double>(std::max(a.last - a.first, b.last - b.first));
    if (shorter < kNearlyAlike * longer) return false;
    if (likeness(a, b, [&](std::size_t item) { return work_.what[item]; }) >= kNearlyAlike) return true;
    const double ratio =
        static_cast<double>(a.end - a.begin) / static_cast<double>(std::max<Time>(b.end - b.begin, 1));
    return ratio < kSameTime && ratio > 1.0 / kSameTime &&
           likeness(a, b, [&](std::size_t item) { return without_shape_[work_.what[item]]; }) >= kNearlyAlike;
  }

 private:
  // The share of both steps' work that is in both (Jaccard's index of multisets).
  template <class Name>
  static double likeness(const Step& a, const Step& b, Name&& name_of) {
    std::unordered_map<std::uint32_t, std::int64_t> counts;
    for (std::size_t i = a.first; i < a.last; ++i) ++counts[name_of(i)];
    std::size_t shared = 0;
    for (std::size_t i = b.first; i < b.last; ++i) {
      if (counts[name_of(i)]-- > 0) ++shared;
    }
    const std::size_t both = (a.last - a.first) + (b.last - b.first) - shared;
    return static_cast<double>(shared) / static_cast<double>(both);
  }

  const DeviceWork& work_;
  const std::vector<WorkName>& names_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::uint32_t> without_shape_;  // by name
  double all_time_ = 0.0;
};

// Cuts the work into steps at each occurrence of what begins one, and groups them by what they hold.
class Division {
 public:
  Division(const DeviceWork& work, const Contents& contents, const std::vector<std::uint32_t>& at)
      : work_(work), contents_(contents) {
    for (std::size_t i = 0; i + 1 < at.size(); ++i) {
      steps_.push_back({at[i], at[i + 1], work.begin[at[i]], work.begin[at[i + 1]]});
    }
    group();
    if (split()) group();
  }

  // Why this is no division into steps, or empty.
  std::string problem() const {
    if (counts_.empty() || counts_.front() < kFewestSteps) return "no work repeats five times";
    std::size_t items = 0, repeated = 0;
    for (const Step& step : steps_) {
      items += step.last - step.first;
      if (counts_[step.kind] >= kFewestOfKind) repeated += step.last - step.first;
    }
    const double share = static_cast<double>(repeated) / static_cast<double>(items);
    if (share < kInSteps) {
      return fmt::format("only {:.0f} % of the work between the first and the last repetition repeats",
                         100 * share);
    }
    const double outside =
        contents_.time_of(0, steps_.front().first) + contents_.time_of(steps_.back().last, work_.size());
    const double covered = 1.0 - outside / contents_.all_time();
    if (covered < kCovered) return fmt::format("what repeats is {:.0f} % of the GPU's time", 100 * covered);
    return "";
  }

  // Share of the work between the first and the last step that lies in steps of the most frequent kind.
  double share_of_usual() const {
    std::size_t items = 0, usual = 0;
    for (const Step& step : steps_) {
      items += step.last - step.first;
      if (step.kind == 0) usual += step.last - step.first;
    }
    return static_cast<double>(usual) / static_cast<double>(items);
  }

  // The same of kernels: steps that differ by copies alone do the same work.
  double share_of_usual_kernels() const {
    const std::uint64_t usual = contents_.kernels_of(usual_step()).first;
    std::size_t all = 0, alike = 0;
    for (const Step& step : steps_) {
      const auto [contents, count] = contents_.kernels_of(step);
      all += count;
      if (step.kind == 0 || contents == usual) alike += count;
    }
    return all > 0 ? static_cast<double>(alike) / static_cast<double>(all) : 0.0;
  }

  // Whether a step of the most frequent kind gives its host something.
  bool copies_to_host() const { return contents_.copies_to_host(usual_step()); }

  // Where a step of the most frequent kind idles longest: how far behind its first item, and how long. From a
  // sample.
  struct LongestGap {
    std::size_t offset = 0;
    double at_first = 0.0, longest = 0.0,
           next = 0.0;  // ns: before the first item, the longest, and the one below it
  };
  LongestGap longest_gap() const {
    constexpr std::size_t kSample = 50;
    std::vector<const Step*> usual;
    for (const Step& step : steps_) {
      if (step.kind == 0 && step.last - step.first == usual_length() && step.first > 0)
        usual.push_back(&step);
    }
    const std::size_t every = std::max<std::size_t>(1, usual.size() / kSample);
    LongestGap result;
    std::vector<double> gaps;
    for (std::size_t offset = 0; offset < usual_length() && !usual.empty(); ++offset) {
      gaps.clear();
      for (std::size_t i = 0; i < usual.size(); i += every) {
        const std::size_t item = usual[i]->first + offset;
        gaps.push_back(static_cast<double>(work_.begin[item] - work_.end[item - 1]));
      }
      const double gap = std::max(0.0, statistics::median(gaps));
      if (offset == 0) result.at_first = gap;
      if (gap > result.longest) {
        result.next = result.longest;
        result.longest = gap;
        result.offset = offset;
      } else {
        result.next = std::max(result.next, gap);
      }
    }
    return result;
  }

  // Where steps begin that begin so far behind these: one more in front of the first and behind the last of a
  // row, if the same work stands there.
  std::vector<std::uint32_t> places_behind(std::size_t offset) const {
    const std::size_t length = usual_length();
    std::vector<std::uint32_t> places, result;
    for (const Step& step : steps_) {
      if (step.kind == 0 && step.first + offset < work_.size())
        places.push_back(static_cast<std::uint32_t>(step.first + offset));
    }
    const std::uint64_t usual = contents_of_usual();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t place = places[i];
      // Only where a whole step has room: a step that holds a copy more is not cut in two.
      const std::size_t before = i == 0 ? 0 : places[i - 1] + length;
      const std::size_t behind = i + 1 == places.size()
                                     ? work_.size()
                                     : places[i + 1] - std::min<std::size_t>(length, places[i + 1]);
      if (place >= before + length && contents_.of(place - length, place) == usual &&
          (result.empty() || result.back() < place - length))
        result.push_back(static_cast<std::uint32_t>(place - length));
      result.push_back(static_cast<std::uint32_t>(place));
      if (place + length <= behind && place + length < work_.size() &&
          contents_.of(place, place + length) == usual)
        result.push_back(static_cast<std::uint32_t>(place + length));
    }
    return result;
  }

  // Work items in a step of the most frequent kind.
  std::size_t usual_length() const { return usual_step().last - usual_step().first; }

  std::vector<Step> take_steps() {
    std::erase_if(steps_, [&](const Step& step) { return counts_[step.kind] < kFewestOfKind; });
    return std::move(steps_);
  }

 private:
  // The first step of the most frequent kind.
  const Step& usual_step() const {
    return *std::find_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.kind == 0; });
  }
  std::uint64_t contents_of_usual() const { return contents_.of(usual_step().first, usual_step().last); }

  // Numbers kinds by how often they occur.
  void group() {
    std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> kinds;  // how often, and a first example
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      ++kinds.try_emplace(contents_.of(steps_[i].first, steps_[i].last), 0, i).first->second.first;
    }
    std::vector<std::pair<std::uint64_t, std::pair<std::size_t, std::size_t>>> ordered(kinds.begin(),
                                                                                       kinds.end());
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    std::unordered_map<std::uint64_t, std::uint32_t> number;
    std::vector<std::size_t> examples;
    counts_.clear();
    constexpr std::size_t kMostCompared =
        8;  // with the most frequent kinds alone: else steps × kinds comparisons
    for (const auto& [contents, kind] : ordered) {
      const Step& step = steps_[kind.second];
      std::size_t same = examples.size();
      for (std::size_t k = 0; k < std::min(examples.size(), kMostCompared) && same == examples.size(); ++k) {
        if (contents_.are_alike(steps_[examples[k]], step)) same = k;
      }
      if (same == examples.size()) {
        examples.push_back(kind.second);
        counts_.push_back(0);
      }
      counts_[same] += kind.first;
      number.emplace(contents, static_cast<std::uint32_t>(same));
    }
    for (Step& step : steps_) step.kind = number.at(contents_.of(step.first, step.last));
  }

  // A step of another kind that stands behind one of the most frequent kind, without what begins a step, is
  // cut off: a prefill between the tokens of a decoding loop. Returns whether there was one.
  bool split() {
    if (counts_.empty()) return false;
    const std::size_t length = usual_length();
    const std::uint64_t contents = contents_of_usual();
    const auto has_rest = [&](const Step& step) {
      return step.kind != 0 && step.last - step.first > length &&
             contents_.of(step.first, step.first + length) == contents;
    };
    if (std::none_of(steps_.begin(), steps_.end(), has_rest)) return false;
    std::vector<Step> result;
    for (Step step : steps_) {
      if (has_rest(step)) {
        Step rest = step;
        rest.first = step.last = step.first + static_cast<std::uint32_t>(length);
        rest.begin = step.end = work_.begin[rest.first];
        result.push_back(step);
        result.push_back(rest);
      } else {
        result.push_back(step);
      }
    }
    steps_ = std::move(result);
    return true;
  }

  const DeviceWork& work_;
  const Contents& contents_;
  std::vector<Step> steps_;
  std::vector<std::size_t> counts_;  ///< by kind
};

// Whether a step lies within one window of this detail. Steps and windows are in the order of time.
class WindowsOfSteps {
 public:
  explicit WindowsOfSteps(const Process& process)
      : windows_(process.windows), has_calls_(!process.calls.start.empty()) {}
  void look_at(Step& step) {
    if (windows_.empty()) {
      step.is_full = has_calls_;
      return;
    }
    while (next_ < windows_.size() && windows_[next_].span.end < step.end) ++next_;
    const bool lies_within = next_ < windows_.size() && windows_[next_].span.begin <= step.begin;
    step.is_whole = lies_within && windows_[next_].detail == capture::Detail::light;
    step.is_full = lies_within && windows_[next_].detail == capture::Detail::full;
  }

 private:
  const std::vector<RecordedWindow>& windows_;
  bool has_calls_;
  std::size_t next_ = 0;
};

// How often the same work comes where it comes two to five times and is most of what there is; else 0.
std::size_t few_repetitions(const Process& process, const DeviceWork& work, const Contents& contents) {
  constexpr std::size_t kMostTried = 8;
  const PlacesByName places(work, process.names.size());
  std::vector<Recurrence> few;
  for (std::size_t what = 0; what < places.names(); ++what) {
    const auto at = places.of(what);
    if (at.size() >= 2 && at.size() <= kFewestSteps)
      few.push_back({.places = {at.begin(), at.end()}, .distance = at[1] - at[0]});
  }
  std::stable_sort(few.begin(), few.end(),
                   [](const Recurrence& a, const Recurrence& b) { return a.distance > b.distance; });
  few.resize(std::min(few.size(), kMostTried));
  std::size_t most = 0;
  for (const Recurrence& each : few) {
    std::vector<Step> alike;
    for (const std::uint32_t place : each.places) {
      // The record may end a little before the last one does.
      const std::size_t end = std::min<std::size_t>(place + each.distance, work.size());
      const Step step{place, static_cast<std::uint32_t>(end), work.begin[place], work.end[end - 1]};
      if (alike.empty() || contents.are_alike(alike[0], step)) alike.push_back(step);
    }
    double covered = 0.0;
    for (const Step& step : alike) covered += contents.time_of(step.first, step.last);
    // Work that begins late in a step has one fewer before the end.
    if (alike.size() >= 2 && each.distance >= 2 && covered >= kCovered * contents.all_time())
      most = std::max(most, alike.size());
  }
  return most;
}

void describe_kinds(Steps& steps, const Process& process, const DeviceWork& work) {
  std::size_t in_steps = 0, kinds = 0;
  WindowsOfSteps windows(process);
  for (Step& step : steps.steps) {
    windows.look_at(step);
    kinds = std::max<std::size_t>(kinds, step.kind + 1);
    in_steps += step.last - step.first;
  }
  // Where calls were recorded all the time there is nothing else to go by.
  if (std::none_of(steps.steps.begin(), steps.steps.end(), [](const Step& step) { return step.is_whole; })) {
    for (Step& step : steps.steps) step.is_whole = step.is_full || process.windows.empty();
  }
  steps.other_work = work.size() - in_steps;
  std::vector<std::vector<double>> times(kinds);
  steps.kinds.resize(kinds);
  std::vector<std::optional<std::uint64_t>> kernels(kinds);  // of an example of each
  for (const Step& step : steps.steps) {
    steps.kinds[step.kind].work = step.last - step.first;
    if (!kernels[step.kind]) kernels[step.kind] = kernels_of(step, work, process.names).first;
    if (step.is_whole) times[step.kind].push_back(static_cast<double>(step.end - step.begin) * 1e-9);
  }
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    StepKind& each = steps.kinds[kind];
    each.has_usual_kernels = kernels[kind] == kernels[0];
    each.count = times[kind].size();
    if (times[kind].empty()) continue;
    const MedianOfSeries series = median_of_series(times[kind]);
    each.seconds = series.median;
    each.interval = series.interval;
    each.mean =
        std::accumulate(times[kind].begin(), times[kind].end(), 0.0) / static_cast<double>(each.count);
    const std::vector<double> high = statistics::quantiles(times[kind], std::vector<double>{0.95, 0.99});
    each.p95 = high[0];
    each.p99 = high[1];
  }
}

// How often the steps of the most frequent kind hold the work of one piece, whatever its order: where a step
// begins within a piece, or something stands in the middle of one, cutting would miss it.
Repetition repetition_in(const Steps& steps, const std::shared_ptr<const Steps>& pieces,
                         const DeviceWork& work) {
  Repetition result{.pieces = pieces, .times = 0.0, .rest = {}};
  std::map<std::uint32_t, WorkOfStep> all;
  std::map<std::uint32_t, double> of_piece;
  double count = 0.0;
  for (const Step& step : steps.steps) {
    if (step.kind != 0) continue;
    count += 1.0;
    for (std::size_t i = step.first; i < step.last; ++i) {
      WorkOfStep& each = all[work.what[i]];
      each.calls += 1.0;
      each.seconds += static_cast<double>(work.end[i] - work.begin[i]) * 1e-9;
    }
  }
  const auto piece = std::ranges::find(pieces->steps, 0u, &Step::kind);
  for (std::size_t i = piece->first; i < piece->last; ++i) of_piece[work.what[i]] += 1.0;
  result.times = std::numeric_limits<double>::infinity();
  for (const auto& [what, calls] : of_piece)
    result.times = std::min(result.times, all[what].calls / (count * calls));
  for (const auto& [what, each] : all) {
    const auto repeated = of_piece.find(what);
    const double calls =
        each.calls / count - (repeated == of_piece.end() ? 0.0 : result.times * repeated->second);
    constexpr double kNone = 1e-6;
    if (calls > kNone) result.rest.push_back({what, calls, calls * each.seconds / each.calls});
  }
  std::ranges::stable_sort(result.rest, std::greater(), &WorkOfStep::seconds);
  return result;
}

}  // namespace

Steps find_steps(const Process& process, const DeviceWork& work) {
  Steps result;
  result.other_work = work.size();
  std::vector<Recurrence> tried;
  add_graph_launches(work, tried);
  // A kernel alone that comes again and again is no step, nor is what repeats within a graph.
  const std::size_t shortest = tried.empty() ? 2 : tried.front().distance;
  {
    const PlacesByName places(work, process.names.size());
    for (std::size_t what = 0; what < places.names(); ++what) add_recurrence(places.of(what), work, tried);
  }
  for (const std::size_t length : {std::size_t{8}, std::size_t{64}}) add_sequences(work, length, tried);
  // The longest distance first. Of the same distance, what comes back most regularly, since a step of another
  // kind may run the same kernels; then what comes most often, since a long sequence is missing around such a
  // step (both by 2 %); then what stands behind the longest gap.
  const auto order = [](const Recurrence& each) {
    return std::tuple(each.distance, std::lround(50.0 * each.regular),
                      std::lround(50.0 * std::log(each.places.size())), each.gap, each.places.front());
  };
  std::sort(tried.begin(), tried.end(),
            [&](const Recurrence& a, const Recurrence& b) { return order(b) < order(a); });
  result.reason = "no kernel comes back at equal distances";
  const std::size_t all = tried.size();
  std::erase_if(tried, [&](const Recurrence& each) {
    return each.distance < shortest && process.names[work.what[each.places.front()]].kind != WorkKind::graph;
  });
  if (tried.empty() && all > 0)
    result.reason = "the same kernel comes again and again, and nothing shows where a step begins";
  const Contents contents(work, process.names);
  const auto say_if_few = [&] {
    if (const std::size_t times = few_repetitions(process, work, contents); times > 0) {
      result.reason = fmt::format(
          "the same work comes {} times, and fewer than five are no evidence; a longer record "
          "tells, or --ranges with ranges of the program's own",
          times);
    }
  };
  if (tried.empty()) {
    say_if_few();
    return result;
  }
  std::optional<Division> found, repetition;
  // A shorter step is one where all steps are alike; or where most are, and each begins behind a gap of its
  // own: the tokens of a decoding loop among prefills. The layers of a network have neither. Where its host
  // is late they have a gap each, but what comes behind so many layers comes behind as many each time, and no
  // layer gives its host a result to wait for.
  constexpr double kLongerGap = 1.5, kOwnGap = 2.0;
  constexpr std::size_t kMostLayers = 40;
  const auto is_better = [&](const Division& shorter) {
    if (shorter.share_of_usual() >= kAllAlike || shorter.share_of_usual_kernels() >= kAllAlike) return true;
    const bool are_layers = found->share_of_usual() >= kAllAlike && !shorter.copies_to_host() &&
                            found->usual_length() <= kMostLayers * shorter.usual_length();
    if (are_layers) return false;
    const Division::LongestGap gap = shorter.longest_gap();
    return shorter.share_of_usual() >= kMostAlike && gap.longest >= kOwnGap * gap.next && gap.longest > 0.0 &&
           found->longest_gap().longest < kLongerGap * gap.longest;
  };
  std::size_t distances = 0, beginnings = 0, distance = 0;
  for (const Recurrence& each : tried) {
    if (each.distance != distance) {
      beginnings = 0;
      distance = each.distance;
      if (++distances > kMostDistances) break;
    }
    if (++beginnings > kMostBeginnings) continue;
    // A shorter step is at most half of the one that was found.
    if (found && (distance >= found->usual_length() || 2 * distance > found->usual_length() + 1)) continue;
    Division division(work, contents, each.places);
    std::string problem = division.problem();
    if (!problem.empty()) {
      if (!found) result.reason = std::move(problem);
    } else if (!found || is_better(division)) {
      found.emplace(std::move(division));
      repetition.reset();
    } else if (!repetition && division.share_of_usual() >= kMostAlike) {
      repetition.emplace(std::move(division));
    }
  }
  if (!found) {
    say_if_few();
    return result;
  }
  // The program begins a step where the GPU idles longest, if one place stands out.
  if (const Division::LongestGap gap = found->longest_gap(); gap.longest > 2.0 * gap.at_first) {
    Division moved(work, contents, found->places_behind(gap.offset));
    if (moved.problem().empty() && moved.usual_length() == found->usual_length())
      found.emplace(std::move(moved));
  }
  result.source = StepSource::repetition;
  result.steps = found->take_steps();
  result.reason.clear();
  describe_kinds(result, process, work);
  if (repetition) {
    const auto within = std::make_shared<Steps>();
    within->source = StepSource::repetition;
    within->steps = repetition->take_steps();
    describe_kinds(*within, process, work);
    result.repetition = repetition_in(result, within, work);
  }
  return result;
}

Steps steps_of_ranges(const Process& process, const DeviceWork& work, const std::string& name) {
  constexpr std::size_t kNamed = 20;
  std::vector<Time> begins;
  for (const NamedRange& range : process.ranges) {
    if (range.name == name) begins.push_back(range.span.begin);
  }
  if (begins.size() < 2) {
    const std::string names = ranges_in_words(process, kNamed);
    throw UsageError(fmt::format("no range named '{}' comes twice; the program's ranges: {}", name,
                                 names.empty() ? "none" : names));
  }
  std::sort(begins.begin(), begins.end());
  Steps result;
  result.source = StepSource::ranges;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const auto first = std::lower_bound(work.begin.begin(), work.begin.end(), begins[i]) - work.begin.begin();
    const auto last =
        std::lower_bound(work.begin.begin(), work.begin.end(), begins[i + 1]) - work.begin.begin();
    result.steps.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), begins[i], begins[i + 1]});
  }
  describe_kinds(result, process, work);
  return result;
}

bool comes_again(const Process& process, const std::string& range) {
  return std::count_if(process.ranges.begin(), process.ranges.end(),
                       [&](const NamedRange& each) { return each.name == range; }) > 1;
}

namespace {

struct RangesOfName {
  std::string name;
  std::size_t count = 0;
  Time length = 0;  ///< of all
};

// Returns the longest first.
std::vector<RangesOfName> ranges_by_name(const Process& process) {
  std::map<std::string, RangesOfName> found;
  for (const NamedRange& range : process.ranges) {
    RangesOfName& ranges = found.try_emplace(range.name, RangesOfName{range.name}).first->second;
    ++ranges.count;
    ranges.length += range.span.length();
  }
  std::vector<RangesOfName> sorted;
  for (auto& [name, ranges] : found) sorted.push_back(std::move(ranges));
  std::ranges::stable_sort(sorted, std::greater(), &RangesOfName::length);
  return sorted;
}

}  // namespace

std::vector<std::string> repeated_ranges(const Process& process) {
  constexpr std::size_t kFewest = 5, kMost = 3;
  std::vector<std::string> names;
  for (const RangesOfName& ranges : ranges_by_name(process)) {
    if (ranges.count >= kFewest && names.size() < kMost) names.push_back(ranges.name);
  }
  return names;
}

std::string ranges_in_words(const Process& process, std::size_t most) {
  std::vector<RangesOfName> sorted = ranges_by_name(process);
  std::ranges::stable_sort(sorted, std::greater(), [](const RangesOfName& each) { return each.count > 1; });
  std::vector<std::string> words;
  for (const RangesOfName& ranges : sorted) {
    if (words.size() < most) words.push_back(fmt::format("{} ×{}", ranges.name, ranges.count));
  }
  if (sorted.size() > most) words.push_back(fmt::format("{} more", sorted.size() - most));
  return joined(words);
}

}  // namespace jitterscope::timeline
