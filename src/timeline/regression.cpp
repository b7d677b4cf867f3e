#include "timeline/regression.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "statistics/factor_effects.hpp"
#include "statistics/statistics.hpp"
#include "timeline/series.hpp"

namespace jitterscope::timeline {
namespace {

using Column = Regression::Column;

// Known from other calls' times, not from when something was there.
bool is_estimated(const Column& column) {
  return column.what == Follows::clock || column.what == Follows::common_factor ||
         column.what == Follows::place || column.what == Follows::preceding;
}

double ratio(double logarithm) {
  constexpr double kLargest = 30.0;  // beyond it, a number says nothing and may have no place in a double
  return std::expm1(std::clamp(logarithm, -kLargest, kLargest));
}

// From where to where the effect is told: the mean where there is something, else from a twentieth to the
// other.
double reach_of(const Column& column) {
  std::vector<double> values = column.values;
  if (column.is_sparse) {
    std::erase(values, 0.0);
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  std::sort(values.begin(), values.end());
  return values[rank_distance(values.size(), 0.95)] - values[rank_distance(values.size(), 0.05)];
}

// A slope's error from what the calls' residuals add to it: by blocks of steps, whose neighbours are alike,
// and at least what steps give that know nothing of each other. A cause that few blocks have looks better
// by the former than it is.
ErrorOfBlocks error_of(const Eigen::VectorXd& parts, const std::vector<std::size_t>& steps) {
  std::vector<double> by_step;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 0 || steps[i] != steps[i - 1]) by_step.push_back(0.0);
    by_step.back() += parts[static_cast<Eigen::Index>(i)];
  }
  const std::size_t blocks = std::min(kBlocks, by_step.size());
  std::vector<double> by_block(blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t i = begin_of_block(block, blocks, by_step.size());
         i < begin_of_block(block + 1, blocks, by_step.size()); ++i) {
      by_block[block] += static_cast<double>(blocks) * by_step[i];  // their mean is the slope's
    }
  }
  const auto count = static_cast<double>(by_step.size());
  double squares = 0.0;
  for (const double part : by_step) squares += part * part;
  ErrorOfBlocks error = error_of_blocks(by_block);
  // The residuals have lost the slope, beside the mean.
  if (error.freedom > 1.0) {
    error.error *= std::sqrt(error.freedom / (error.freedom - 1.0));
    error.freedom -= 1.0;
  }
  error.error = std::max(error.error, std::sqrt(squares * count / std::max(count - 1.0, 1.0)));
  return error;
}

struct Contrast {
  double value = 0.0, half_width = 0.0;  // of logarithms
};
// The twentieth of the calls in which the cause is highest against that in which it is lowest. The reach of
// a cause that is estimated has noise of its own and would say too much; what the calls themselves took has
// none in common with it.
Contrast contrast_of(const Column& column, const Eigen::VectorXd& own,
                     const std::vector<std::size_t>& steps) {
  std::vector<double> sorted = column.values;
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted[rank_distance(sorted.size(), 0.05)],
               high = sorted[rank_distance(sorted.size(), 0.95)];
  double sums[2] = {}, counts[2] = {};
  const auto is_high = [&](std::size_t i) { return column.values[i] >= high; };
  const auto is_chosen = [&](std::size_t i) { return column.values[i] <= low || is_high(i); };
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (!is_chosen(i)) continue;
    sums[is_high(i)] += own[static_cast<Eigen::Index>(i)];
    counts[is_high(i)] += 1.0;
  }
  if (counts[0] == 0.0 || counts[1] == 0.0) return {};
  Eigen::VectorXd parts = Eigen::VectorXd::Zero(own.size());
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const bool side = is_high(i);
    if (is_chosen(i))
      parts[static_cast<Eigen::Index>(i)] = (side ? 1.0 : -1.0) *
                                            (own[static_cast<Eigen::Index>(i)] - sums[side] / counts[side]) /
                                            counts[side];
  }
  return {sums[1] / counts[1] - sums[0] / counts[0], error_of(parts, steps).half_width()};
}

// The first calls follow each other, and others that do so differ, too: their mean is one of many.
ErrorOfBlocks error_of_first_calls(const Column& column, const Eigen::VectorXd& rest) {
  const auto window =
      static_cast<Eigen::Index>(column.values.size() - static_cast<std::size_t>(std::count(
                                                           column.values.begin(), column.values.end(), 0.0)));
  std::vector<double> means;
  for (Eigen::Index i = window; i + window <= rest.size(); i += window)
    means.push_back(rest.segment(i, window).mean());
  if (means.size() < 3) return {.error = std::numeric_limits<double>::infinity()};
  const auto count = static_cast<double>(means.size());
  return {statistics::standard_deviation(means) * std::sqrt(1.0 + 1.0 / count), count - 1.0};
}

}  // namespace

void Regression::add(Follows what, std::vector<double> values, bool is_sparse) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (*low == *high) return;
  // A column that a few calls alone have says nothing that could be repeated.
  if (is_sparse && std::count_if(values.begin(), values.end(), [](double value) { return value != 0.0; }) < 3)
    return;
  constexpr double kSparse = 0.05;  // fewer zeros are no level of their own
  const auto zeros = std::count(values.begin(), values.end(), 0.0);
  const bool has_level = static_cast<double>(zeros) >= kSparse * static_cast<double>(values.size());
  columns_.push_back({what, std::move(values), is_sparse && has_level});
}

Regression::Answer Regression::answer() const {
  Answer answer;
  const auto n = static_cast<Eigen::Index>(y_.size());
  Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(y_.data(), n);
  y.array() -= y.mean();
  answer.rest = std::sqrt(y.squaredNorm() / static_cast<double>(n));
  if (columns_.empty() || !(y.squaredNorm() > 0.0)) return answer;
  const auto k = static_cast<Eigen::Index>(columns_.size());
  Eigen::MatrixXd x(n, k);
  std::vector<statistics::Explanation> explanations;
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
  Eigen::MatrixXd squares = x.transpose() * x;
  // Columns that say the same share their slope; without this, theirs would be infinite.
  squares.diagonal().array() += 1e-9 * squares.diagonal().maxCoeff();
  const Eigen::MatrixXd inverse = squares.ldlt().solve(Eigen::MatrixXd::Identity(k, k));
  const Eigen::VectorXd slopes = inverse * (x.transpose() * y);
  const Eigen::VectorXd rest = y - x * slopes;
  const Eigen::MatrixXd parts =
      x.cwiseProduct(rest.replicate(1, k)) * inverse;  // of each call, of each slope
  for (Eigen::Index i = 0; i < k; ++i) {
    const Column& column = columns_[static_cast<std::size_t>(i)];
    const double scale = scales[static_cast<std::size_t>(i)];
    ErrorOfBlocks error = error_of(parts.col(i), steps_);
    if (column.what == Follows::first_calls) {
      const ErrorOfBlocks windows = error_of_first_calls(column, rest);
      error = {windows.error * scale, windows.freedom};
    }
    const double reach = reach_of(column);
    Contrast contrast{slopes[i] / scale * reach, error.half_width() / scale * std::abs(reach)};
    if (is_estimated(column)) contrast = contrast_of(column, rest + x.col(i) * slopes[i], steps_);
    const double low = ratio(contrast.value - contrast.half_width),
                 high = ratio(contrast.value + contrast.half_width);
    answer.causes.push_back({column.what,
                             shares[static_cast<std::size_t>(i)],
                             ratio(contrast.value),
                             {low, high},
                             error.p_value(slopes[i])});
  }
  return answer;
}

}  // namespace jitterscope::timeline
