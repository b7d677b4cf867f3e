#include "statistics/two_level_design.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace jitterscope::statistics {
namespace {

// First rows; the others are their cyclic shifts, and one that is low throughout.
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

}  // namespace jitterscope::statistics
