#include "timeline/variation.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "base/random.hpp"
#include "statistics/effect.hpp"
#include "statistics/statistics.hpp"
#include "timeline/gpu_sensors.hpp"
#include "timeline/regression.hpp"

namespace jitterscope::timeline {
namespace {

// So many kinds of work are explained, those that take the longest. The rest have their times and no causes.
constexpr std::size_t kMostExplained = 64;
// At most so many calls of each kernel, from whole steps spread over the program's time.
constexpr std::size_t kMostCalls = 4000;
constexpr std::size_t kFewestUnits = 8, kFewestCalls = 16;
// Smaller effects are of no use to a reader, and a kernel's times have a grain of 32 ns.
constexpr double kMaterial = 0.005, kMaterialShare = 0.05;
constexpr double kSignificant = 0.05;
// A common factor needs so many kernels to be told from one of them.
constexpr std::size_t kFewestInCommon = 4;

// One call of a kernel.
struct Call {
  std::uint32_t item = 0;  // of the device's work
  std::uint32_t step = 0;  // index of the units
  std::uint32_t place = 0;
  std::uint32_t number = 0;  // of all calls of its kind
};

// Steps with the kernels of the most frequent kind, or, without steps, stretches of time: 400 of them, of 50
// ms to 1 s.
struct Units {
  std::vector<Step> steps;
  bool are_stretches = false;
};

Units units_of(const Steps& steps, const DeviceWork& work) {
  Units units;
  for (const Step& step : steps.steps) {
    if (steps.kinds[step.kind].has_usual_kernels && step.is_whole) units.steps.push_back(step);
  }
  if (!units.steps.empty() || work.size() == 0) return units;
  units.are_stretches = true;
  const Time stretch = std::clamp<Time>(work.span().length() / 400, 50'000'000, 1'000'000'000);
  std::uint32_t first = 0;
  while (first < work.size()) {
    const Time begin = work.begin[first] - (work.begin[first] - work.begin.front()) % stretch;
    const auto last =
        static_cast<std::uint32_t>(std::lower_bound(work.begin.begin() + static_cast<std::ptrdiff_t>(first),
                                                    work.begin.end(), begin + stretch) -
                                   work.begin.begin());
    units.steps.push_back({first, last, begin, begin + stretch});
    first = last;
  }
  return units;
}

double duration(const DeviceWork& work, std::size_t item) {
  return static_cast<double>(std::max<Time>(work.end[item] - work.begin[item], 1));
}

double weighted_median(std::vector<std::pair<double, double>>& values) {
  std::sort(values.begin(), values.end());
  double all = 0.0, sum = 0.0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2.0 * sum >= all) return value;
  }
  return 0.0;
}

// Those calls of one kind of work that lie in the units.
std::vector<Call> calls_in(const Units& units, std::span<const std::uint32_t> places) {
  std::vector<Call> calls;
  calls.reserve(places.size());
  std::uint32_t unit = 0, place = 0;
  for (std::uint32_t number = 0; number < places.size(); ++number) {
    const std::uint32_t item = places[number];
    for (; unit < units.steps.size() && units.steps[unit].last <= item; ++unit) place = 0;
    if (unit == units.steps.size()) break;
    if (units.steps[unit].first > item) continue;
    // Without steps there are no places: stretches begin anywhere.
    calls.push_back({item, unit, units.are_stretches ? 0 : place++, number});
  }
  return calls;
}

// Calls from whole steps, spread over all of them; the first calls are among them.
std::vector<Call> sample(const std::vector<Call>& calls) {
  if (calls.size() <= kMostCalls) return calls;
  const std::size_t every = (calls.size() + kMostCalls - 1) / kMostCalls;
  std::vector<Call> chosen;
  for (const Call& call : calls) {
    // Two neighbours each time: what alternates from step to step is seen.
    if (call.step / 2 % every == 0) chosen.push_back(call);
  }
  return chosen;
}

// A kernel's times without the work of other streams, by least squares: copies beside half of
// the kernels would be taken for a factor that all have in common.
class WithoutOverlap {
 public:
  WithoutOverlap(const DeviceWork& work, const std::vector<Call>& calls, const Overlap& overlap)
      : overlap_(overlap) {
    if (overlap.kernels.empty() || calls.size() < kFewestCalls) return;
    Eigen::Matrix3d squares = Eigen::Matrix3d::Zero();
    Eigen::Vector3d products = Eigen::Vector3d::Zero();
    for (const Call& call : sample(calls)) {
      const Eigen::Vector3d x(1.0, static_cast<double>(overlap.kernels[call.item]),
                              static_cast<double>(overlap.copies[call.item]));
      squares += x * x.transpose();
      products += x * std::log(duration(work, call.item));
    }
    squares.diagonal().array() += 1e-9 * squares.diagonal().maxCoeff();  // of what never overlaps
    slopes_ = squares.ldlt().solve(products);
  }
  double factor(std::size_t item) const {
    if (slopes_[1] == 0.0 && slopes_[2] == 0.0) return 1.0;
    return std::exp(-slopes_[1] * static_cast<double>(overlap_.kernels[item]) -
                    slopes_[2] * static_cast<double>(overlap_.copies[item]));
  }

 private:
  const Overlap& overlap_;
  Eigen::Vector3d slopes_ = Eigen::Vector3d::Zero();
};

// Medians of log durations by kernel and unit, less the kernel's own; NaN where it was not called.
class StepMedians {
 public:
  StepMedians(const DeviceWork& work, const PlacesByName& places, const std::vector<std::uint32_t>& whats,
              const Units& units, const Overlap& overlap)
      : units_(units.steps.size()) {
    for (const std::uint32_t what : whats) {
      std::vector<double> row(units_, std::numeric_limits<double>::quiet_NaN()), known, values;
      double seconds = 0.0;
      const std::vector<Call> calls = calls_in(units, places.of(what));
      const WithoutOverlap without(work, calls, overlap);
      for (std::size_t i = 0; i < calls.size();) {
        const std::uint32_t step = calls[i].step;
        values.clear();
        for (; i < calls.size() && calls[i].step == step; ++i) {
          const double length = duration(work, calls[i].item);
          seconds += length;
          values.push_back(length * without.factor(calls[i].item));
        }
        row[step] = std::log(statistics::median(values));
        known.push_back(row[step]);
      }
      if (static_cast<double>(known.size()) < 0.8 * static_cast<double>(units_)) continue;
      const double middle = statistics::median(known);
      for (double& value : row) value -= middle;
      rows_.push_back({what, seconds, std::move(row)});
    }
  }

  struct Row {
    std::uint32_t what;
    double weight;
    std::vector<double> values;
  };
  const std::vector<Row>& rows() const { return rows_; }

  // The factor of the rows that are chosen: their weighted median, step by step.
  template <class Chosen>
  std::vector<double> factor(Chosen&& is_chosen) const {
    std::vector<double> factor(units_);
    std::vector<std::pair<double, double>> values;
    for (std::size_t unit = 0; unit < units_; ++unit) {
      values.clear();
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        const double value = rows_[row].values[unit];
        if (is_chosen(row) && !std::isnan(value)) values.emplace_back(value, std::sqrt(rows_[row].weight));
      }
      factor[unit] = values.empty() ? 0.0 : weighted_median(values);
    }
    return factor;
  }

 private:
  std::size_t units_;
  std::vector<Row> rows_;
};

std::vector<double> log_busy_times(const Units& units, const DeviceWork& work) {
  std::vector<double> result;
  for (const Step& step : units.steps) {
    double sum = 0.0;
    for (std::size_t i = step.first; i < step.last; ++i)
      sum += static_cast<double>(work.end[i] - work.begin[i]);
    result.push_back(std::log(std::max(sum, 1.0)));
  }
  return result;
}

// The sign that a series moves with, or none: means over stretches of 20 to 200 ms, since NVML is read each
// 20 ms.
std::optional<GpuSensors::Sign> sign_of(const GpuSensors& sensors, const Units& units,
                                        const std::vector<double>& factor) {
  if (sensors.is_empty()) return std::nullopt;
  const Time stretch =
      std::clamp<Time>((units.steps.back().end - units.steps.front().begin) / 400, 20'000'000, 200'000'000);
  std::vector<double> values;
  std::array<std::vector<double>, GpuSensors::kSigns.size()> signs;
  for (std::size_t i = 0; i < units.steps.size();) {
    const Time begin = units.steps[i].begin;
    double sum = 0.0;
    std::size_t count = 0;
    Time end = begin;
    for (; i < units.steps.size() && (count == 0 || units.steps[i].end <= begin + stretch); ++i, ++count) {
      sum += factor[i];
      end = units.steps[i].end;
    }
    values.push_back(sum / static_cast<double>(count));
    for (std::size_t k = 0; k < signs.size(); ++k)
      signs[k].push_back(sensors.sign(GpuSensors::kSigns[k], begin, end));
  }
  // Each sign is asked for one thing, so their chances are not added up: of five seconds, the shifted series
  // are too few to show a chance below 0.004.
  constexpr double kChance = 0.01, kLeast = 0.4;
  // NVML's clock and power were behind the kernels by 0.1 to 0.2 s (H200).
  constexpr Time kLateness = 200'000'000;
  const auto delay = static_cast<std::size_t>(kLateness / stretch);
  for (std::size_t k = 0; k < signs.size(); ++k) {
    if (!GpuSensors::varies(GpuSensors::kSigns[k], signs[k])) continue;
    const ShiftedCorrelation found = correlation_by_shifts(values, signs[k], delay);
    if (found.coefficient >= kLeast && found.chance <= kChance) return GpuSensors::kSigns[k];
  }
  return std::nullopt;
}

// Whether the factor is mostly that of the seconds in which another process is on the GPU.
bool moves_with_others(const GpuSensors& sensors, const Units& units, const std::vector<double>& factor) {
  if (sensors.is_empty()) return false;
  std::vector<double> others;
  for (const Step& step : units.steps) others.push_back(sensors.has_others(step.begin) ? 1.0 : 0.0);
  const double r = correlation(factor, others);
  return r > 0.0 && r * r >= 0.5 && correlation_by_shifts(factor, others).chance <= 0.01;
}

// Which half of the steps one belongs to, at random: what alternates from step to step lies in both halves.
std::size_t half_of(std::size_t step) { return Random(step).next() >> 63; }

// Means by a label, each from the steps of the other half: a mean of its own value would always fit. They are
// told from the half's own mean, over the labels as they come in both, so that halves differ in nothing else.
template <class Label>
std::vector<double> cross_fitted_means(const std::vector<double>& values, const std::vector<Label>& labels,
                                       const std::vector<std::size_t>& steps) {
  struct Sum {
    double sum[2] = {}, count[2] = {};
    bool is_in_both() const { return count[0] > 0.0 && count[1] > 0.0; }
    double mean(std::size_t half) const { return sum[half] / count[half]; }
  };
  std::unordered_map<Label, Sum> sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Sum& each = sums[labels[i]];
    each.sum[half_of(steps[i])] += values[i];
    each.count[half_of(steps[i])] += 1.0;
  }
  double mean[2] = {}, count = 0.0;
  for (const auto& [label, each] : sums) {
    if (!each.is_in_both()) continue;
    const double calls = each.count[0] + each.count[1];
    for (std::size_t half = 0; half < 2; ++half) mean[half] += calls * each.mean(half);
    count += calls;
  }
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Sum& each = sums[labels[i]];
    const std::size_t other = 1 - half_of(steps[i]);
    // One label alone has no other that it could differ from.
    result.push_back(sums.size() > 1 && each.is_in_both() ? each.mean(other) - mean[other] / count : 0.0);
  }
  return result;
}

// Whether the factor is that of the steps since memory was last taken or given back, as far as calls tell: on
// an H200 kernels that are bound by memory took 5 to 8 % longer in the first seven.
bool moves_with_memory(const Process& process, const Units& units, const std::vector<double>& factor) {
  constexpr std::size_t kFewestChanges = 4, kFarthest = 64;
  constexpr double kLeast = 0.5;
  std::vector<Time> changes;
  for (std::size_t i = 0; i < process.calls.start.size(); ++i) {
    if (process.calls.kind[i] == static_cast<std::uint8_t>(capture::CallKind::allocation))
      changes.push_back(process.calls.start[i]);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::size_t> since, steps;
  std::size_t count = 0;
  std::ptrdiff_t before = 0;
  for (const Step& step : units.steps) {
    const std::ptrdiff_t number =
        std::upper_bound(changes.begin(), changes.end(), step.begin) - changes.begin();
    const bool is_first = steps.empty() || number != before;
    if (is_first && !steps.empty()) ++count;
    since.push_back(is_first ? 0 : std::min(since.back() + 1, kFarthest));
    steps.push_back(steps.size());
    before = number;
  }
  if (count < kFewestChanges) return false;
  const double r = correlation(factor, cross_fitted_means(factor, since, steps));
  return r > 0.0 && r * r >= kLeast;
}

CommonFactor find_common_factor(const StepMedians& medians, const Units& units, const Process& process,
                                const DeviceWork& work, const GpuSensors& sensors) {
  CommonFactor common;
  if (medians.rows().size() < kFewestInCommon || units.steps.size() < 20) return common;
  // Two halves of the kernels that know nothing of each other must tell the same.
  const std::vector<double> even = medians.factor([](std::size_t row) { return row % 2 == 0; });
  const std::vector<double> odd = medians.factor([](std::size_t row) { return row % 2 == 1; });
  if (const ShiftedCorrelation halves = correlation_by_shifts(even, odd);
      !(halves.coefficient > 0.0) || halves.chance > 0.01)
    return common;
  std::vector<double> factor = medians.factor([](std::size_t) { return true; });
  std::vector<double> sorted = factor;
  std::sort(sorted.begin(), sorted.end());
  common.effect =
      std::exp(sorted[rank_distance(sorted.size(), 0.95)] - sorted[rank_distance(sorted.size(), 0.05)]) - 1.0;
  if (common.effect < kMaterial) return common;
  common.moves_with_sensors = sign_of(sensors, units, factor).has_value();
  common.is_of_other_process = !common.moves_with_sensors && moves_with_others(sensors, units, factor);
  common.moves_with_memory =
      !common.moves_with_sensors && !common.is_of_other_process && moves_with_memory(process, units, factor);
  common.step_share = share_of_series(factor, log_busy_times(units, work));
  common.by_step = std::move(factor);
  return common;
}

// The work that ran before on the same stream, unless that was long ago.
std::uint32_t before_on_stream(const DeviceWork& work, std::size_t item) {
  constexpr std::size_t kReach = 100;
  for (std::size_t i = item; i > 0 && item - i < kReach; --i) {
    if (work.stream[i - 1] == work.stream[item]) return work.what[i - 1];
  }
  return std::numeric_limits<std::uint32_t>::max();
}

class Explainer {
 public:
  Explainer(const DeviceWork& work, const Units& units, const GpuSensors& sensors, const Overlap& overlap,
            const StepMedians& medians, const CommonFactor& common)
      : work_(work),
        units_(units),
        sensors_(sensors),
        overlap_(overlap),
        medians_(medians),
        common_(common) {}

  Regression::Answer explain(std::uint32_t what, const std::vector<Call>& all) {
    const std::vector<Call> calls = sample(all);
    std::vector<double> y, first, place, kernels, copies, others, trend, common;
    std::vector<std::size_t> steps, places;
    std::vector<std::uint32_t> preceding;
    const std::vector<double> factor = factor_without(what);
    for (const Call& call : calls) {
      y.push_back(std::log(duration(work_, call.item)));
      steps.push_back(call.step);
      places.push_back(call.place);
      first.push_back(call.number < 7 ? 1.0 : 0.0);
      preceding.push_back(before_on_stream(work_, call.item));
      kernels.push_back(overlap_.kernels.empty() ? 0.0 : static_cast<double>(overlap_.kernels[call.item]));
      copies.push_back(overlap_.copies.empty() ? 0.0 : static_cast<double>(overlap_.copies[call.item]));
      others.push_back(!sensors_.is_empty() && sensors_.has_others(work_.begin[call.item]) ? 1.0 : 0.0);
      trend.push_back(static_cast<double>(call.step));
      if (!factor.empty()) common.push_back(factor[call.step]);
    }
    // Outliers are a few calls of thousands; they would decide every slope.
    const double middle = statistics::median(y);
    std::vector<double> distances;
    for (const double value : y) distances.push_back(std::abs(value - middle));
    const double reach = std::max(20.0 * statistics::median(distances), std::log(2.0));
    for (double& value : y) value = std::clamp(value, middle - reach, middle + reach);

    Regression regression(y, steps);
    if (!common.empty() && !common_.is_of_other_process) {
      regression.add(
          common_.moves_with_sensors || common_.by_step.empty() ? Follows::clock : Follows::common_factor,
          common);
    }
    regression.add(Follows::first_calls, std::move(first), true);
    // A copy that comes at the same places of each step is what these places have: they keep what is left.
    std::vector<double> by_place(y.size(), 0.0);
    if (!units_.are_stretches) {
      const WithoutOverlap without(work_, calls, overlap_);
      std::vector<double> alone = y;
      for (std::size_t i = 0; i < calls.size(); ++i) alone[i] += std::log(without.factor(calls[i].item));
      by_place = cross_fitted_means(alone, places, steps);
      regression.add(Follows::place, by_place);
    }
    regression.add(Follows::other_kernels, std::move(kernels), true);
    regression.add(Follows::copies, std::move(copies), true);
    std::vector<double> beyond_place;
    for (std::size_t i = 0; i < y.size(); ++i) beyond_place.push_back(y[i] - by_place[i]);
    regression.add(Follows::preceding, cross_fitted_means(beyond_place, preceding, steps));
    regression.add(Follows::other_process, std::move(others), true);
    if (common.empty()) regression.add(Follows::trend, std::move(trend));
    return regression.answer();
  }

 private:
  // The common factor as the other kernels tell it, or, of too few kernels, as NVML does.
  std::vector<double> factor_without(std::uint32_t what) const {
    if (!common_.by_step.empty()) {
      return medians_.factor([&](std::size_t row) { return medians_.rows()[row].what != what; });
    }
    if (medians_.rows().size() >= kFewestInCommon || sensors_.is_empty()) return {};
    const auto own = std::find_if(medians_.rows().begin(), medians_.rows().end(),
                                  [&](const StepMedians::Row& row) { return row.what == what; });
    if (own == medians_.rows().end()) return {};
    std::vector<double> series = own->values;
    for (double& value : series) value = std::isnan(value) ? 0.0 : value;
    const std::optional<GpuSensors::Sign> sign = sign_of(sensors_, units_, series);
    if (!sign) return {};
    std::vector<double> signs;
    for (const Step& step : units_.steps) {
      const Time margin =
          std::max<Time>(0, 20'000'000 - (step.end - step.begin)) / 2;  // NVML is read each 20 ms
      signs.push_back(sensors_.sign(*sign, step.begin - margin, step.end + margin));
    }
    return signs;
  }

  const DeviceWork& work_;
  const Units& units_;
  const GpuSensors& sensors_;
  const Overlap& overlap_;
  const StepMedians& medians_;
  const CommonFactor& common_;
};

void describe_times(KernelVariation& kernel, const DeviceWork& work, std::span<const std::uint32_t> items) {
  std::vector<Time> times;
  times.reserve(items.size());
  for (const std::uint32_t item : items) times.push_back(work.end[item] - work.begin[item]);
  const auto in_seconds = [](auto time) { return static_cast<double>(time) * 1e-9; };
  kernel.calls = times.size();
  kernel.seconds = in_seconds(std::accumulate(times.begin(), times.end(), 0.0));
  const auto place = [&](double probability) {
    return times.begin() + static_cast<std::ptrdiff_t>(rank_distance(times.size(), probability));
  };
  const auto low = place(0.05), middle = place(0.5), high = place(0.95);
  // Each quantile is read before the next search, which moves its element.
  std::nth_element(times.begin(), middle, times.end());
  kernel.median = in_seconds(*middle);
  std::nth_element(times.begin(), low, middle);
  kernel.p5 = in_seconds(*low);
  std::nth_element(middle, high, times.end());
  kernel.p95 = in_seconds(*high);
}

}  // namespace

std::string_view to_string(Follows what) {
  switch (what) {
    case Follows::clock: return "clock";
    case Follows::common_factor: return "common factor";
    case Follows::first_calls: return "first calls";
    case Follows::place: return "place in the step";
    case Follows::other_kernels: return "overlap with kernels";
    case Follows::copies: return "overlap with copies";
    case Follows::preceding: return "the kernel before";
    case Follows::other_process: return "another process";
    case Follows::trend: return "trend";
  }
  return "";
}

Overlap overlap_of(const Process& process, const DeviceWork& work) {
  Overlap overlap;
  bool several = false;
  for (std::size_t i = 1; i < work.size() && !several; ++i) several = work.stream[i] != work.stream.front();
  if (!several) return overlap;
  overlap.kernels.resize(work.size());
  overlap.copies.resize(work.size());
  std::vector<std::size_t> active;
  // Shares of pairs add up; three at once count twice, up to the whole time.
  const auto note = [&](std::size_t of, std::size_t by, Time common) {
    const Time length = std::max<Time>(work.end[of] - work.begin[of], 1);
    const WorkKind kind = process.names[work.what[by]].kind;
    std::vector<float>& shares =
        kind == WorkKind::copy || kind == WorkKind::set ? overlap.copies : overlap.kernels;
    shares[of] = std::min(
        1.0F, shares[of] + static_cast<float>(static_cast<double>(common) / static_cast<double>(length)));
  };
  for (std::size_t i = 0; i < work.size(); ++i) {
    std::erase_if(active, [&](std::size_t other) { return work.end[other] <= work.begin[i]; });
    // No GPU runs more at once (CUDA's resident grids, compute capability 9.0): a file may say so.
    constexpr std::size_t kMostAtOnce = 128;
    if (active.size() > kMostAtOnce) active.erase(active.begin());
    for (const std::size_t other : active) {
      if (work.stream[other] == work.stream[i]) continue;
      const Time common = std::min(work.end[i], work.end[other]) - work.begin[i];
      note(i, other, common);
      note(other, i, common);
    }
    active.push_back(i);
  }
  return overlap;
}

Variation variation_of(const Timeline& timeline, const Process& process, const DeviceWork& work,
                       const Steps& steps, const Overlap& overlap) {
  Variation variation;
  const Units units = units_of(steps, work);
  variation.by_stretches = units.are_stretches;
  // Times of all calls, whether in a step or not.
  const PlacesByName places(work, process.names.size());
  double all = 0.0;
  for (std::uint32_t what = 0; what < places.names(); ++what) {
    if (places.of(what).empty()) continue;
    KernelVariation kernel;
    kernel.what = what;
    describe_times(kernel, work, places.of(what));
    all += kernel.seconds;
    variation.kernels.push_back(std::move(kernel));
  }
  std::sort(variation.kernels.begin(), variation.kernels.end(),
            [](const KernelVariation& a, const KernelVariation& b) {
              return std::tuple(b.seconds, a.what) < std::tuple(a.seconds, b.what);
            });
  std::vector<std::size_t> calls(process.names.size());  // in the units
  for (const Step& unit : units.steps) {
    for (std::size_t i = unit.first; i < unit.last; ++i) ++calls[work.what[i]];
  }
  std::vector<std::uint32_t> explained;
  for (KernelVariation& kernel : variation.kernels) {
    kernel.share = all > 0.0 ? kernel.seconds / all : 0.0;
    kernel.calls_per_step =
        units.steps.empty() || units.are_stretches
            ? 0.0
            : static_cast<double>(calls[kernel.what]) / static_cast<double>(units.steps.size());
    if (explained.size() < kMostExplained) explained.push_back(kernel.what);
  }
  const GpuSensors sensors(timeline, process, work.device);
  variation.with_others = sensors.share_with_others();
  if (units.steps.size() < kFewestUnits) return variation;

  const StepMedians medians(work, places, explained, units, overlap);
  variation.common = find_common_factor(medians, units, process, work, sensors);
  Explainer explainer(work, units, sensors, overlap, medians, variation.common);
  std::vector<std::pair<std::size_t, FollowedCause>> candidates;
  std::vector<double> p_values;
  for (std::size_t i = 0; i < explained.size(); ++i) {
    if (calls[explained[i]] < kFewestCalls) continue;
    const Regression::Answer answer =
        explainer.explain(explained[i], calls_in(units, places.of(explained[i])));
    variation.kernels[i].rest = answer.rest;
    for (const FollowedCause& cause : answer.causes) {
      candidates.emplace_back(i, cause);
      p_values.push_back(cause.p_value);
    }
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values, kSignificant);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [kernel, cause] = candidates[i];
    if (!shown[i] || std::abs(cause.effect) < kMaterial || cause.share < kMaterialShare) continue;
    variation.kernels[kernel].follows.push_back(cause);
    if (cause.what == Follows::clock || cause.what == Follows::common_factor) ++variation.common.kernels;
  }
  for (KernelVariation& kernel : variation.kernels) {
    std::stable_sort(kernel.follows.begin(), kernel.follows.end(),
                     [](const FollowedCause& a, const FollowedCause& b) { return a.share > b.share; });
  }
  return variation;
}

}  // namespace jitterscope::timeline
