// Where the operands lie. Intervention: they are moved to other memory between rounds, their addresses as
// they were. Signature: a level that is constant within a placement. It has no dose and no better level, only
// a spread.
#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>

#include "explain/conditioning.hpp"
#include "explain/experiments.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

double variance(std::span<const double> values) {
  const double deviation = statistics::standard_deviation(values);
  return std::isfinite(deviation) ? deviation * deviation : 0.0;
}

// Of two rounds each before and behind: the difference has the variance of two rounds, and of two placements
// where the operands moved between them.
void fill(RandomFactor& factor, std::span<const double> moved, std::span<const double> stayed) {
  const auto freedom_moved = static_cast<double>(moved.size() - 1),
             freedom_stayed = static_cast<double>(stayed.size() - 1);
  const double variance_moved = variance(moved), variance_stayed = variance(stayed);
  const auto deviation = [&](double ratio) {
    return std::sqrt(std::max(0.0, variance_stayed * (ratio - 1.0) / 2.0));
  };
  factor.levels = std::ssize(moved) + 1;
  if (!(variance_stayed > 0.0)) {
    factor.deviation = factor.low = factor.high = std::sqrt(variance_moved / 2.0);
    return;
  }
  const boost::math::fisher_f distribution(freedom_moved, freedom_stayed);
  const double ratio = variance_moved / variance_stayed;
  factor.deviation = deviation(ratio);
  factor.low = deviation(ratio / boost::math::quantile(distribution, 0.975));
  factor.high = deviation(ratio / boost::math::quantile(distribution, 0.025));
}

}  // namespace

RandomFactor vary_placement(TreatedLoop& bench, std::size_t placements, Random& random,
                            const std::function<bool()>& stop) {
  RandomFactor factor;
  factor.id = "placement";
  factor.cause = "where the operands lie in memory";
  if (!bench.place_anew()) {
    factor.not_available = bench.subject().callable() != nullptr
                               ? "a function's operands are its own"
                               : "the operands cannot be moved on this device";
    return factor;
  }
  constexpr std::size_t kFewest = 4;
  if (placements < kFewest) {
    factor.not_available = "the loops are too long for the time";
    return factor;
  }
  const auto read = [&] {
    condition(bench);
    return std::log(std::max(bench.run(Treatment()).time.value(), 1e-3));
  };
  std::vector<bool> moves(2 * placements);
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i] = i < placements;
  std::vector<std::size_t> order(moves.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  shuffle(order, random);
  std::vector<double> moved, stayed;
  double before = read();
  for (const std::size_t i : order) {
    if (stop()) break;
    if (moves[i]) bench.place_anew();
    const double now = read();
    (moves[i] ? moved : stayed).push_back(now - before);
    before = now;
  }
  if (moved.size() < kFewest || stayed.size() < kFewest) {
    factor.not_available = "the time was over";
  } else {
    fill(factor, moved, stayed);
  }
  return factor;
}

}  // namespace jitterscope::explain
