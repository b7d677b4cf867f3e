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
#include "statistics/factor_effects.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::timeline {
namespace {

using statistics::Explanation;

// So many kinds of work are explained, those that take the longest. The rest have their times and no causes.
constexpr std::size_t kMostExplained = 64;
// Of each, so many calls at most, from whole steps spread over the program's time.
constexpr std::size_t kMostCalls = 4000;
constexpr std::size_t kFewestUnits = 8, kFewestCalls = 16;
constexpr std::size_t kBootstraps = 200;
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

// Steps of the most frequent kind, or, without steps, stretches of time: 400 of them, of 50 ms to 1 s.
struct Units {
  std::vector<Step> steps;
  bool are_stretches = false;
};

Units units_of(const Steps& steps, const DeviceWork& work) {
  Units units;
  for (const Step& step : steps.steps) {
    if (step.kind == 0 && step.is_whole) units.steps.push_back(step);
  }
  if (!units.steps.empty() || work.size() == 0) return units;
  units.are_stretches = true;
  const Time stretch = std::clamp<Time>(work.span().length() / 400, 50'000'000, 1'000'000'000);
  std::size_t first = 0;
  for (Time begin = work.begin.front(); first < work.size(); begin += stretch) {
    const auto last =
        static_cast<std::size_t>(std::lower_bound(work.begin.begin() + static_cast<std::ptrdiff_t>(first),
                                                  work.begin.end(), begin + stretch) -
                                 work.begin.begin());
    if (last > first) units.steps.push_back({first, last, begin, begin + stretch});
    first = last;
  }
  return units;
}

double duration(const DeviceWork& work, std::size_t item) {
  return static_cast<double>(std::max<Time>(work.end[item] - work.begin[item], 1));
}

std::size_t rank_distance(std::size_t size, double probability) {
  return static_cast<std::size_t>(std::lround(probability * static_cast<double>(size - 1)));
}

// Spearman's correlation is Pearson's of ranks.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) result[order[k]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return result;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b, std::size_t shift = 0) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i] - mean_a, y = b[(i + shift) % b.size()] - mean_b;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa > 0.0 && bb > 0.0 ? ab / std::sqrt(aa * bb) : 0.0;
}

// The chance of such a rank correlation between two series that know nothing of each other. They are shifted
// against each other, which keeps the likeness of neighbours; shuffling would call any two slow drifts
// related.
double chance_of_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 20) return 1.0;
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double found = std::abs(correlation(x, y));
  if (!(found > 0.0)) return 1.0;
  std::size_t as_large = 1, count = 1;
  const std::size_t stride = std::max<std::size_t>(1, a.size() / 1000);
  for (std::size_t shift = stride; shift < a.size(); shift += stride, ++count) {
    if (std::abs(correlation(x, y, shift)) >= found) ++as_large;
  }
  return static_cast<double>(as_large) / static_cast<double>(count);
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

// NVML's readings of one GPU, asked for stretches of time.
class GpuSensors {
 public:
  // What grows as the clock falls. On some hosts NVML says 1980 MHz and no time held throughout, while the
  // power is at its cap.
  enum class Sign { held, clock, power };
  static constexpr std::array kSigns = {Sign::held, Sign::clock, Sign::power};

  GpuSensors(const Timeline& timeline, const Process& process, std::uint32_t device) {
    std::optional<std::size_t> gpu;
    for (const ProcessDevice& each : process.device_names) {
      const auto found = std::find(timeline.gpus.begin(), timeline.gpus.end(), each.uuid);
      if (each.device == device && found != timeline.gpus.end()) {
        gpu = static_cast<std::size_t>(found - timeline.gpus.begin());
      }
    }
    const capture::Sensors& all = timeline.sensors;
    for (std::size_t i = 0; gpu && i < all.time.size(); ++i) {
      if (all.gpu[i] != *gpu) continue;
      times_.push_back(all.time[i]);
      throttled_.push_back(static_cast<double>(all.throttled_power[i]) +
                           static_cast<double>(all.throttled_thermal[i]) +
                           static_cast<double>(all.throttled_brake[i]));
      clocks_.push_back(all.clock_mhz[i]);
      powers_.push_back(all.power_mw[i]);
      others_.push_back(all.other_processes[i]);
    }
  }
  bool is_empty() const { return times_.size() < 2; }
  double sign(Sign what, Time from, Time to) const {
    switch (what) {
      case Sign::held:
        return (at(throttled_, to) - at(throttled_, from)) /
               static_cast<double>(std::max<Time>(to - from, 1));
      case Sign::clock: return -0.5 * (at(clocks_, from) + at(clocks_, to));
      case Sign::power: return 0.5 * (at(powers_, from) + at(powers_, to));
    }
    return 0.0;
  }
  bool has_others(Time time) const {
    const auto next = std::upper_bound(times_.begin(), times_.end(), time) - times_.begin();
    return next > 0 && others_[static_cast<std::size_t>(next - 1)] > 0;
  }

 private:
  double at(const std::vector<double>& values, Time time) const {
    const auto next =
        static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), time) - times_.begin());
    if (next == 0) return values.front();
    if (next == times_.size()) return values.back();
    const double part =
        static_cast<double>(time - times_[next - 1]) / static_cast<double>(times_[next] - times_[next - 1]);
    return values[next - 1] + part * (values[next] - values[next - 1]);
  }

  std::vector<Time> times_;
  std::vector<double> throttled_, clocks_, powers_;
  std::vector<std::uint32_t> others_;
};

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

// Medians of log durations by kernel and unit, less the kernel's own; NaN where it was not called.
class StepMedians {
 public:
  StepMedians(const DeviceWork& work, const PlacesByName& places, const std::vector<std::uint32_t>& whats,
              const Units& units)
      : units_(units.steps.size()) {
    for (const std::uint32_t what : whats) {
      std::vector<double> row(units_, std::numeric_limits<double>::quiet_NaN()), known, values;
      double seconds = 0.0;
      const std::vector<Call> calls = calls_in(units, places.of(what));
      for (std::size_t i = 0; i < calls.size();) {
        const std::uint32_t step = calls[i].step;
        values.clear();
        for (; i < calls.size() && calls[i].step == step; ++i) {
          values.push_back(duration(work, calls[i].item));
          seconds += values.back();
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
  const auto varies = [](const std::vector<double>& sign) {
    const auto [least, most] = std::minmax_element(sign.begin(), sign.end());
    return *least < *most;
  };
  const double chance = 0.01 / static_cast<double>(std::count_if(signs.begin(), signs.end(), varies));
  for (std::size_t k = 0; k < signs.size(); ++k) {
    if (varies(signs[k]) && correlation(ranks(values), ranks(signs[k])) > 0.0 &&
        chance_of_correlation(values, signs[k]) <= chance)
      return GpuSensors::kSigns[k];
  }
  return std::nullopt;
}

// Whether the factor is mostly that of the seconds in which another process is on the GPU.
bool moves_with_others(const GpuSensors& sensors, const Units& units, const std::vector<double>& factor) {
  if (sensors.is_empty()) return false;
  std::vector<double> others;
  for (const Step& step : units.steps) others.push_back(sensors.has_others(step.begin) ? 1.0 : 0.0);
  const double r = correlation(factor, others);
  return r > 0.0 && r * r >= 0.5 && chance_of_correlation(factor, others) <= 0.01;
}

CommonFactor find_common_factor(const StepMedians& medians, const Units& units, const DeviceWork& work,
                                const GpuSensors& sensors) {
  CommonFactor common;
  if (medians.rows().size() < kFewestInCommon || units.steps.size() < 20) return common;
  // Two halves of the kernels that know nothing of each other must tell the same.
  const std::vector<double> even = medians.factor([](std::size_t row) { return row % 2 == 0; });
  const std::vector<double> odd = medians.factor([](std::size_t row) { return row % 2 == 1; });
  if (!(correlation(ranks(even), ranks(odd)) > 0.0) || chance_of_correlation(even, odd) > 0.01) return common;
  std::vector<double> factor = medians.factor([](std::size_t) { return true; });
  std::vector<double> sorted = factor;
  std::sort(sorted.begin(), sorted.end());
  common.effect =
      std::exp(sorted[rank_distance(sorted.size(), 0.95)] - sorted[rank_distance(sorted.size(), 0.05)]) - 1.0;
  if (common.effect < kMaterial) return common;
  common.moves_with_sensors = sign_of(sensors, units, factor).has_value();
  common.is_of_other_process = !common.moves_with_sensors && moves_with_others(sensors, units, factor);
  const double r = correlation(factor, log_busy_times(units, work));
  common.step_share = r > 0.0 ? r * r : 0.0;
  common.by_step = std::move(factor);
  return common;
}

// One kernel's calls against all that they may follow.
class Regression {
 public:
  struct Column {
    Follows what;
    std::vector<double> values;
    bool is_sparse;  // zero but for some calls: the effect is the mean where it is not
  };

  Regression(std::vector<double> values, std::vector<std::size_t> steps)
      : y_(std::move(values)), steps_(std::move(steps)) {}

  void add(Follows what, std::vector<double> values, bool is_sparse = false) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (*low == *high) return;
    // A column that a few calls alone have says nothing that could be repeated.
    if (is_sparse &&
        std::count_if(values.begin(), values.end(), [](double value) { return value != 0.0; }) < 3)
      return;
    constexpr double kSparse = 0.05;  // fewer zeros are no level of their own
    const auto zeros = std::count(values.begin(), values.end(), 0.0);
    const bool has_level = static_cast<double>(zeros) >= kSparse * static_cast<double>(values.size());
    columns_.push_back({what, std::move(values), is_sparse && has_level});
  }

  struct Answer {
    std::vector<FollowedCause> causes;
    double rest = 0.0;
  };
  Answer answer(Random& random) const {
    Answer answer;
    const auto n = static_cast<Eigen::Index>(y_.size());
    Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(y_.data(), n);
    y.array() -= y.mean();
    answer.rest = std::sqrt(y.squaredNorm() / static_cast<double>(n));
    if (columns_.empty() || !(y.squaredNorm() > 0.0)) return answer;
    const auto k = static_cast<Eigen::Index>(columns_.size());
    Eigen::MatrixXd x(n, k);
    std::vector<Explanation> explanations;
    std::vector<double> scales;
    for (Eigen::Index i = 0; i < k; ++i) {
      const std::vector<double>& values = columns_[static_cast<std::size_t>(i)].values;
      x.col(i) = Eigen::Map<const Eigen::VectorXd>(values.data(), n);
      x.col(i).array() -= x.col(i).mean();
      scales.push_back(x.col(i).norm());  // steps are counted in thousands, overlaps in shares
      x.col(i) /= scales.back();
      explanations.push_back({{values}});
    }
    const std::vector<double> shares = statistics::shapley_shares(explanations, y_);
    answer.rest *= std::sqrt(std::max(0.0, shares.back()));
    const std::vector<double> p_values = p_of(x, y, random);
    const Eigen::VectorXd slopes = solve(x.transpose() * x, x.transpose() * y);
    for (Eigen::Index i = 0; i < k; ++i) {
      const Column& column = columns_[static_cast<std::size_t>(i)];
      answer.causes.push_back({column.what, shares[static_cast<std::size_t>(i)],
                               effect_of(column, slopes[i] / scales[static_cast<std::size_t>(i)]),
                               p_values[static_cast<std::size_t>(i)]});
    }
    return answer;
  }

 private:
  static Eigen::VectorXd solve(Eigen::MatrixXd squares, const Eigen::VectorXd& products) {
    // Columns that say the same share their slope; without this, theirs would be infinite.
    squares.diagonal().array() += 1e-9 * squares.diagonal().maxCoeff();
    return squares.ldlt().solve(products);
  }

  static double effect_of(const Column& column, double slope) {
    std::vector<double> parts;
    for (const double value : column.values) {
      if (!column.is_sparse || value != 0.0) parts.push_back(slope * value);
    }
    if (column.is_sparse) {
      return std::exp(std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size())) -
             1.0;
    }
    std::sort(parts.begin(), parts.end());
    return std::exp(parts[rank_distance(parts.size(), 0.95)] - parts[rank_distance(parts.size(), 0.05)]) -
           1.0;
  }

  // Each slope against its scatter over samples of whole steps.
  std::vector<double> p_of(const Eigen::MatrixXd& x, const Eigen::VectorXd& y, Random& random) const {
    struct Sums {
      Eigen::MatrixXd squares;
      Eigen::VectorXd products;
    };
    const Eigen::Index k = x.cols();
    std::vector<Sums> sums;
    std::size_t last = std::numeric_limits<std::size_t>::max();
    for (Eigen::Index i = 0; i < x.rows(); ++i) {
      if (steps_[static_cast<std::size_t>(i)] != last) {
        sums.push_back({Eigen::MatrixXd::Zero(k, k), Eigen::VectorXd::Zero(k)});
        last = steps_[static_cast<std::size_t>(i)];
      }
      sums.back().squares.noalias() += x.row(i).transpose() * x.row(i);
      sums.back().products.noalias() += x.row(i).transpose() * y[i];
    }
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(k), squared = Eigen::VectorXd::Zero(k);
    for (std::size_t sample = 0; sample < kBootstraps; ++sample) {
      Sums drawn{Eigen::MatrixXd::Zero(k, k), Eigen::VectorXd::Zero(k)};
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const Sums& each = sums[random.below(sums.size())];
        drawn.squares += each.squares;
        drawn.products += each.products;
      }
      const Eigen::VectorXd slopes = solve(drawn.squares, drawn.products);
      sum += slopes;
      squared += slopes.cwiseAbs2();
    }
    const double count = static_cast<double>(kBootstraps);
    const Eigen::VectorXd slopes = solve(x.transpose() * x, x.transpose() * y);
    std::vector<double> p_values;
    for (Eigen::Index i = 0; i < k; ++i) {
      const double variance = std::max(0.0, squared[i] / count - (sum[i] / count) * (sum[i] / count));
      const double z = variance > 0.0 ? std::abs(slopes[i]) / std::sqrt(variance) : 0.0;
      // Student's distribution with few steps: a normal one would find too much.
      const double freedom = static_cast<double>(std::max<std::size_t>(sums.size(), 3) - 2);
      p_values.push_back(std::erfc(z * std::sqrt(freedom / (freedom + 3.0)) / std::sqrt(2.0)));
    }
    return p_values;
  }

  std::vector<double> y_;
  std::vector<std::size_t> steps_;
  std::vector<Column> columns_;
};

// Which half of the steps one belongs to, at random: what alternates from step to step lies in both halves.
std::size_t half_of(std::size_t step) { return Random(step).next() >> 63; }

// Means by a label, each from the steps of the other half: a mean of its own value would always fit.
template <class Label>
std::vector<double> cross_fitted_means(const std::vector<double>& values, const std::vector<Label>& labels,
                                       const std::vector<std::size_t>& steps) {
  struct Sum {
    double sum[2] = {}, count[2] = {};
  };
  std::unordered_map<Label, Sum> sums;
  double all = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Sum& each = sums[labels[i]];
    each.sum[half_of(steps[i])] += values[i];
    each.count[half_of(steps[i])] += 1.0;
    all += values[i];
  }
  const double mean = all / static_cast<double>(values.size());
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Sum& each = sums[labels[i]];
    const std::size_t other = 1 - half_of(steps[i]);
    result.push_back(each.count[other] > 0.0 ? each.sum[other] / each.count[other] : mean);
  }
  return result;
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

// What ran before on the same stream, unless that was long ago.
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
    std::vector<double> by_place(y.size(), 0.0);
    if (!units_.are_stretches) {
      by_place = cross_fitted_means(y, places, steps);
      regression.add(Follows::place, by_place);
    }
    regression.add(Follows::other_kernels, std::move(kernels), true);
    regression.add(Follows::copies, std::move(copies), true);
    std::vector<double> beyond_place;
    for (std::size_t i = 0; i < y.size(); ++i) beyond_place.push_back(y[i] - by_place[i]);
    regression.add(Follows::preceding, cross_fitted_means(beyond_place, preceding, steps));
    regression.add(Follows::other_process, std::move(others), true);
    if (common.empty()) regression.add(Follows::trend, std::move(trend));
    return regression.answer(random_);
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
  Random random_{1};
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
  if (units.steps.size() < kFewestUnits) return variation;

  const GpuSensors sensors(timeline, process, work.device);
  const StepMedians medians(work, places, explained, units);
  variation.common = find_common_factor(medians, units, work, sensors);
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
