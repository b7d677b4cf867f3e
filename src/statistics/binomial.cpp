#include "statistics/binomial.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <stdexcept>

namespace jitterscope::statistics {
namespace {

using Binomial = boost::math::binomial;

void require_counts(std::int64_t successes, std::int64_t trials) {
  if (successes < 0 || successes > trials) {
    throw std::invalid_argument("successes are between none and all of the trials");
  }
}

}  // namespace

Interval clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence) {
  require_counts(successes, trials);
  if (trials == 0) return {0.0, 1.0};
  const auto count = static_cast<double>(trials), good = static_cast<double>(successes);
  const double tail = (1.0 - confidence) / 2.0;
  return {Binomial::find_lower_bound_on_p(count, good, tail),
          Binomial::find_upper_bound_on_p(count, good, tail)};
}

double probability_of_at_most(std::int64_t successes, std::int64_t trials, double probability) {
  require_counts(successes, trials);
  const Binomial distribution(static_cast<double>(trials), probability);
  return boost::math::cdf(distribution, static_cast<double>(successes));
}

}  // namespace jitterscope::statistics
