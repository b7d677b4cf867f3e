#include "statistics/shapley.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <stdexcept>

namespace jitterscope::statistics {
namespace {

// Share of the variance of y (centred, of this square sum) that the chosen explanations have together.
double explained(std::span<const Explanation> explanations, std::size_t chosen, const Eigen::VectorXd& y,
                 double total) {
  std::vector<const std::vector<double>*> columns;
  for (std::size_t i = 0; i < explanations.size(); ++i) {
    if ((chosen >> i & 1U) == 0) continue;
    for (const std::vector<double>& column : explanations[i].columns) columns.push_back(&column);
  }
  if (columns.empty()) return 0.0;
  Eigen::MatrixXd x(y.size(), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Eigen::Map<const Eigen::VectorXd> column(columns[i]->data(), y.size());
    Eigen::VectorXd centred = column.array() - column.mean();
    const double norm = centred.norm();
    // Columns have unlike units. What rounding leaves of a constant one is none: it would explain by chance.
    constexpr double kRounding = 1e-12;
    if (norm > kRounding * column.norm()) {
      centred /= norm;
    } else {
      centred.setZero();
    }
    x.col(static_cast<Eigen::Index>(i)) = centred;
  }
  // y within the space of the columns. They depend on each other, and a solution of them would be large and
  // inexact: with one column more it explained less.
  constexpr double kDependent = 1e-9;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> decomposition(x);
  decomposition.setThreshold(kDependent);
  const Eigen::VectorXd turned = decomposition.householderQ().adjoint() * y;
  return std::clamp(turned.head(decomposition.rank()).squaredNorm() / total, 0.0, 1.0);
}

}  // namespace

std::vector<double> shapley_shares(std::span<const Explanation> explanations,
                                   std::span<const double> values) {
  constexpr std::size_t kMost = 8;
  const std::size_t count = explanations.size();
  if (count > kMost) throw std::invalid_argument("at most 8 explanations");
  for (const Explanation& explanation : explanations) {
    for (const std::vector<double>& column : explanation.columns) {
      if (column.size() != values.size()) throw std::invalid_argument("columns as long as the values");
    }
  }
  std::vector<double> shares(count + 1, 0.0);
  shares.back() = 1.0;
  if (values.empty()) return shares;
  Eigen::VectorXd y =
      Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  y.array() -= y.mean();
  const double total = y.squaredNorm();
  if (!(total > 0.0)) return shares;
  std::vector<double> together(std::size_t{1} << count);
  for (std::size_t chosen = 0; chosen < together.size(); ++chosen) {
    together[chosen] = explained(explanations, chosen, y, total);
  }
  // Of all orders, those in which a set of `size` comes first and then this one: size!·(count-size-1)!/count!
  std::vector<double> weights(count);
  for (std::size_t size = 0; size < count; ++size) {
    double ways = static_cast<double>(count);  // count · (count-1 over size)
    for (std::size_t i = 0; i < size; ++i) {
      ways *= static_cast<double>(count - 1 - i) / static_cast<double>(i + 1);
    }
    weights[size] = 1.0 / ways;
  }
  for (std::size_t one = 0; one < count; ++one) {
    for (std::size_t chosen = 0; chosen < together.size(); ++chosen) {
      if ((chosen >> one & 1U) != 0) continue;
      const auto size = static_cast<std::size_t>(std::popcount(chosen));
      shares[one] += weights[size] * (together[chosen | std::size_t{1} << one] - together[chosen]);
    }
  }
  shares.back() = 1.0 - together.back();
  return shares;
}

}  // namespace jitterscope::statistics
