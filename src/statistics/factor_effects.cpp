#include "statistics/factor_effects.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <Eigen/Dense>

namespace jitterscope::statistics {
namespace {

// First rows of the designs. The others are their cyclic shifts, and one row that is low throughout.
constexpr std::array<std::string_view, 4> kFirstRows = {"+++-+--", "++-+++---+-", "++--++++-+-+----++-",
                                                        "+++++-+-++--++--+-+----"};

double critical_value(double degrees_of_freedom) { return student_critical(0.95, degrees_of_freedom); }

}  // namespace

TwoLevelDesign folded_plackett_burman(std::size_t factors) {
  const auto* const found =
      std::ranges::find_if(kFirstRows, [&](std::string_view row) { return row.size() >= factors; });
  if (found == kFirstRows.end()) throw std::invalid_argument("a design for at most 23 factors");
  const std::string_view first = *found;
  TwoLevelDesign rows;
  for (std::size_t shift = 0; shift <= first.size(); ++shift) {
    std::vector<bool>& row = rows.emplace_back();
    for (std::size_t factor = 0; factor < factors; ++factor) {
      const bool is_last = shift == first.size();
      row.push_back(!is_last && first[(factor + first.size() - shift) % first.size()] == '+');
    }
  }
  const std::size_t half = rows.size();
  for (std::size_t i = 0; i < half; ++i) {
    std::vector<bool> mirrored = rows[i];
    mirrored.flip();
    rows.push_back(std::move(mirrored));
  }
  return rows;
}

std::vector<MainEffect> main_effects(const TwoLevelDesign& rows, std::span<const std::size_t> blocks,
                                     std::span<const double> values) {
  if (rows.size() != values.size() || rows.size() != blocks.size()) {
    throw std::invalid_argument("as many rows as values and blocks");
  }
  if (rows.empty()) return {};
  const std::size_t factors = rows.front().size();
  const std::size_t block_count = *std::ranges::max_element(blocks) + 1;
  const auto count = static_cast<Eigen::Index>(rows.size());
  const auto parameters = static_cast<Eigen::Index>(factors + block_count);
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (count <= parameters) return std::vector<MainEffect>(factors, {0.0, {-kUnknown, kUnknown}});
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(count, parameters);
  Eigen::VectorXd y(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto row = static_cast<std::size_t>(i);
    y(i) = values[row];
    for (std::size_t factor = 0; factor < factors; ++factor) {
      x(i, static_cast<Eigen::Index>(factor)) = rows[row][factor] ? 0.5 : -0.5;
    }
    x(i, static_cast<Eigen::Index>(factors + blocks[row])) = 1.0;
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(x);
  const Eigen::VectorXd fit = solver.solve(y);
  const double freedom = static_cast<double>(count - parameters);
  const double variance = (y - x * fit).squaredNorm() / freedom;
  const Eigen::MatrixXd covariance = (x.transpose() * x).completeOrthogonalDecomposition().pseudoInverse();
  std::vector<MainEffect> effects;
  for (std::size_t factor = 0; factor < factors; ++factor) {
    const auto place = static_cast<Eigen::Index>(factor);
    const double half =
        critical_value(freedom) * std::sqrt(std::max(0.0, variance * covariance(place, place)));
    effects.push_back({fit(place), {fit(place) - half, fit(place) + half}});
  }
  return effects;
}

namespace {

// Puts all columns beside each other, centred and of length 1, because their units differ.
Eigen::MatrixXd standardised(std::span<const Explanation> explanations, Eigen::Index rows) {
  std::size_t count = 0;
  for (const Explanation& explanation : explanations) count += explanation.columns.size();
  Eigen::MatrixXd all(rows, static_cast<Eigen::Index>(count));
  Eigen::Index next = 0;
  for (const Explanation& explanation : explanations) {
    for (const std::vector<double>& values : explanation.columns) {
      const Eigen::Map<const Eigen::VectorXd> column(values.data(), rows);
      Eigen::VectorXd centred = column.array() - column.mean();
      const double norm = centred.norm();
      // The rounding residue of a constant column is dropped: it would explain by chance.
      constexpr double kRounding = 1e-12;
      if (norm > kRounding * column.norm()) {
        centred /= norm;
      } else {
        centred.setZero();
      }
      all.col(next++) = centred;
    }
  }
  return all;
}

// The remainder of all columns and of y after some columns were taken. Only their products with each other
// and with y are needed, which are made once. A decomposition for each set of explanations took 30 times as
// long.
struct Unexplained {
  Eigen::MatrixXd products;
  Eigen::VectorXd with_y;
  double explained = 0.0;  ///< share of the square sum of y

  // Takes the column with the largest remainder first. Since columns depend on each other, a small remainder
  // is rounding and would explain by chance.
  void take(Eigen::Index first, Eigen::Index count) {
    constexpr double kDependent = 1e-10;
    for (Eigen::Index taken = 0; taken < count; ++taken) {
      Eigen::Index one = 0;
      const double left = products.diagonal().segment(first, count).maxCoeff(&one);
      if (left <= kDependent) return;
      one += first;
      const Eigen::VectorXd column = products.col(one) / std::sqrt(left);
      const double of_y = with_y(one) / std::sqrt(left);
      explained += of_y * of_y;
      with_y -= of_y * column;
      products.noalias() -= column * column.transpose();
      products.row(one).setZero();
      products.col(one).setZero();
      with_y(one) = 0.0;
    }
  }
};

// Fills `explained` for each set of explanations: bit i of the index is explanation i. The last one, which
// may have the most columns, is taken or left out first, so that it is taken once.
void explain_sets(std::span<const Explanation> explanations, Unexplained left, std::size_t chosen,
                  std::vector<double>& explained) {
  if (explanations.empty()) {
    explained[chosen] = left.explained;
    return;
  }
  const std::span<const Explanation> before = explanations.first(explanations.size() - 1);
  Eigen::Index first = 0;
  for (const Explanation& explanation : before) first += std::ssize(explanation.columns);
  explain_sets(before, left, chosen, explained);
  left.take(first, std::ssize(explanations.back().columns));
  explain_sets(before, std::move(left), chosen | std::size_t{1} << before.size(), explained);
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
  const Eigen::MatrixXd columns = standardised(explanations, y.size());
  std::vector<double> together(std::size_t{1} << count);
  explain_sets(explanations, {columns.transpose() * columns, columns.transpose() * y}, 0, together);
  for (double& share : together) share = std::min(share / total, 1.0);
  // Share of all orders in which a given set of `size` comes first and then this one:
  // size!·(count-size-1)!/count!
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
      // One more explanation explains no less, except for rounding.
      const double more = together[chosen | std::size_t{1} << one] - together[chosen];
      shares[one] += weights[size] * std::max(more, 0.0);
    }
  }
  shares.back() = 1.0 - together.back();
  return shares;
}

}  // namespace jitterscope::statistics
